"""The line above the plots of a comparison: metric, view options, and the way back."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QToolButton,
    QVBoxLayout,
)

from studio.plots.compare.run_set import RETURN
from studio.plots.compare.session import CompareSession
from studio.plots.view_controls import SmoothingSlider, make_axis_combo
from studio.theme.sizes import scaled
from studio.theme.theme import Theme
from studio.widgets.controls import describe
from studio.widgets.figure_export import choose_file, fill_export_menu
from studio.widgets.labels import ElidedLabel, plain_tip
from td3core.analysis.results import recorded_info
from td3core.text import Text, tr

KINDS = ("png", "svg", "pdf", "csv")
_METRICS = (
    (Text("Evaluations"), "eval"),
    (Text("Episodes"), "return"),
    (Text("Critics' bias"), "bias"),
)
_NARROW, _TIGHT = 520, 560
"""Below these widths, the captions are hidden, and the smoothing gets its own line.

In pixels, with the usual font.
"""
_GAP = 2
_GROUPS = ((Text("Groups"), True), (Text("Single runs"), False))


class CompareBar(QFrame):
    """Changes the view of a :class:`CompareSession` and shows its runs."""

    refused = Signal(object)
    report_wanted = Signal()

    def __init__(self, session: CompareSession, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("card")
        self._session = session
        self._heading, self._notes = ElidedLabel(), ElidedLabel()
        self._heading.setObjectName("compare_heading")
        self._heading.setProperty("role", "title")
        self._notes.setObjectName("compare_notes")
        self._notes.setProperty("role", "warn")
        self._grouped = self._combo("compare_group_combo", tr("Lines"), _GROUPS)
        self._grouped.setToolTip(tr("One line for each group of seeds, or one for each run"))
        self._axis = make_axis_combo("compare_x_combo")
        self._metric = self._combo("compare_metric_combo", tr("Compared by"), _METRICS)
        self._metric.setToolTip(
            tr(
                "What the first plot and the table compare: returns of evaluations or of training"
                " episodes, how far the critics overestimate in evaluations, or values from the"
                " environment's info, recorded per episode"
            )
        )
        self._smoothing = SmoothingSlider("compare_smoothing")
        self._export, self._close = QToolButton(), QToolButton()
        self._captions: list[QLabel] = []
        self._make_buttons()
        self._lay_out()
        self._connect()
        self.set_theme(theme)

    def _combo(self, name: str, label: str, items: tuple[tuple[Text, object], ...]) -> QComboBox:
        combo = QComboBox()
        describe(combo, name, label, "")
        for text, value in items:
            combo.addItem(str(text), value)
        return combo

    def _make_buttons(self) -> None:
        tip = tr("Write the return plot for a paper, or everything as a report")
        describe(self._export, "compare_export_button", tr("Export comparison"), tip)
        self._export.setText(tr("Export"))
        menu = QMenu(self._export)
        fill_export_menu(menu, self._ask_export, KINDS)
        report = menu.addAction(tr("Report…"), self.report_wanted.emit)
        report.setObjectName("compare_report_action")
        self._export.setMenu(menu)
        self._export.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        close = tr("Close comparison")
        self._close.setText(close)
        describe(self._close, "compare_close_button", close, tr("Back to the single run"))
        for button in (self._export, self._close):
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            button.setProperty("icon_px", 14)

    def _lay_out(self) -> None:
        first, left, right = QHBoxLayout(), QHBoxLayout(), QHBoxLayout()
        first.addWidget(self._heading, 1)
        first.addWidget(self._export)
        first.addWidget(self._close)
        left.addWidget(self._grouped)
        for row, text, control in ((left, "x", self._axis), (right, "y", self._metric)):
            label = QLabel(text)
            label.setProperty("role", "muted")
            label.setBuddy(control)
            self._captions.append(label)
            label.setContentsMargins(6, 0, 0, 0)
            row.addWidget(label)
            row.addWidget(control)
        right.addStretch(1)
        # One below the other if they would be cut off.
        self._choices = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        for part in (self._choices, left, right):
            part.setSpacing(_GAP)
        self._choices.addLayout(left)
        self._choices.addLayout(right, 1)
        # Next to the others if there is space, else below them.
        self._rows = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._rows.setSpacing(6)
        self._rows.addLayout(self._choices)
        self._rows.addWidget(self._smoothing, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 4, 4, 6)
        layout.setSpacing(4)
        layout.addLayout(first)
        layout.addLayout(self._rows)
        layout.addWidget(self._notes)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Hide the captions if space is short: the choices must be readable."""
        super().resizeEvent(event)
        width = event.size().width()
        narrow = width < scaled(_NARROW)
        style = Qt.ToolButtonStyle
        shown = style.ToolButtonIconOnly if narrow else style.ToolButtonTextBesideIcon
        for button in (self._export, self._close):
            button.setToolButtonStyle(shown)
        for caption in self._captions:
            caption.setHidden(narrow)
        ways = QBoxLayout.Direction
        tight = width < scaled(_TIGHT)
        self._rows.setDirection(ways.TopToBottom if tight else ways.LeftToRight)
        combos = (self._grouped, self._axis, self._metric)
        needed = sum(each.minimumSizeHint().width() + _GAP for each in combos)
        cut = narrow and needed > self._rows.geometry().width()
        self._choices.setDirection(ways.TopToBottom if cut else ways.LeftToRight)

    def _connect(self) -> None:
        session = self._session
        session.shown_changed.connect(self._show)
        session.opened.connect(self._show)
        session.busy_changed.connect(self._show)
        self._close.clicked.connect(session.close)
        self._grouped.activated.connect(
            lambda _: session.change(grouped=self._grouped.currentData())
        )
        self._axis.activated.connect(lambda _: session.change(x=self._axis.currentData()))
        self._metric.activated.connect(lambda _: session.choose_metric(self._metric.currentData()))
        self._smoothing.changed.connect(lambda count: session.change(smoothing=count))

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self._export.setIcon(theme.icon("download-outline", theme.muted))
        self._close.setIcon(theme.icon("close", theme.muted))

    @Slot()
    def _show(self) -> None:
        session, shown = self._session, self._session.shown
        if shown is None:
            return
        groups = shown.comparison.groups
        count = sum(len(each.group.runs) for each in groups)
        runs = Text.counted("{n} run", "{n} runs", n=count)
        if session.group:
            named: object = session.group
            if not session.series:
                named = Text("Group {group}", group=session.group)
            parts: list[object] = [named, runs]
        elif shown.view.grouped:
            in_groups = Text.counted("{n} group", "{n} groups", n=len(groups))
            parts = [Text("Comparing {runs} in {groups}", runs=runs, groups=in_groups)]
        else:
            parts = [Text("Comparing {runs}", runs=runs)]
        if session.busy:
            parts.append(Text("reading…"))
        self._heading.setText("  ·  ".join(map(str, parts)))
        self._notes.setText("  ".join(map(str, shown.notes)))
        self._notes.setToolTip(plain_tip("\n".join(map(str, shown.notes))))
        self._notes.setVisible(bool(shown.notes))
        view = session.view
        self._grouped.setCurrentIndex(self._grouped.findData(view.grouped))
        self._axis.setCurrentIndex(self._axis.findData(view.x))
        self._offer_metrics(recorded_info([run for each in groups for run in each.group.runs]))
        self._metric.setCurrentIndex(self._metric.findData(shown.comparison.metric))
        self._smoothing.show_value(view.smoothing)

    def _offer_metrics(self, info: Sequence[str]) -> None:
        """Offer the runs' recorded info columns, too."""
        offered = [self._metric.itemData(at) for at in range(self._metric.count())]
        wanted = [*(value for _, value in _METRICS), *info]
        if offered == wanted:
            return
        while self._metric.count() > len(_METRICS):
            self._metric.removeItem(len(_METRICS))
        for column in info:
            self._metric.addItem(column, column)

    def _ask_export(self, kind: str) -> None:
        asked = tr("Export comparison"), "comparison", kind
        chosen = choose_file(self, *asked, self.refused.emit)
        if chosen is not None:
            self._session.export(RETURN, chosen)
