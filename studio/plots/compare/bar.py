"""The line above the plots of a comparison: what is compared, how it is seen, and the way back."""

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
from studio.widgets.labels import ElidedLabel

KINDS = ("png", "svg", "pdf", "csv")
_METRICS = (("Evaluations", "eval"), ("Episodes", "return"))
_NARROW, _TIGHT = 520, 560
"""Below these widths the captions are left out, and the smoothing has its own line.

In pixels, with the usual font.
"""
_GROUPS = (("Groups", True), ("Single runs", False))


class CompareBar(QFrame):
    """Changes the view of a :class:`CompareSession` and shows which runs it has."""

    refused = Signal(str)

    def __init__(self, session: CompareSession, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("card")
        self._session = session
        self._heading, self._notes = ElidedLabel(), ElidedLabel()
        self._heading.setObjectName("compare_heading")
        self._heading.setProperty("role", "title")
        self._notes.setObjectName("compare_notes")
        self._notes.setProperty("role", "warn")
        self._grouped = self._combo("compare_group_combo", "Lines", _GROUPS)
        self._grouped.setToolTip("One line for each group of seeds, or one for each run")
        self._axis = make_axis_combo("compare_x_combo")
        self._metric = self._combo("compare_metric_combo", "Return of", _METRICS)
        self._metric.setToolTip("Which returns the first plot and the table compare")
        self._smoothing = SmoothingSlider("compare_smoothing")
        self._export, self._close = QToolButton(), QToolButton()
        self._captions: list[QLabel] = []
        self._make_buttons()
        self._lay_out()
        self._connect()
        self.set_theme(theme)

    def _combo(self, name: str, label: str, items: tuple[tuple[str, object], ...]) -> QComboBox:
        combo = QComboBox()
        describe(combo, name, label, "")
        for text, value in items:
            combo.addItem(text, value)
        return combo

    def _make_buttons(self) -> None:
        tip = "Write the return plot with title, axes and legend, for a paper"
        describe(self._export, "compare_export_button", "Export comparison", tip)
        self._export.setText("Export")
        menu = QMenu(self._export)
        fill_export_menu(menu, self._ask_export, KINDS)
        self._export.setMenu(menu)
        self._export.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._close.setText("Close comparison")
        describe(self._close, "compare_close_button", "Close comparison", "Back to the single run")
        for button in (self._export, self._close):
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            button.setProperty("icon_px", 14)

    def _lay_out(self) -> None:
        first, left, right = QHBoxLayout(), QHBoxLayout(), QHBoxLayout()
        first.addWidget(self._heading, 1)
        first.addWidget(self._export)
        first.addWidget(self._close)
        left.addWidget(self._grouped)
        for row, text, control in ((left, "x", self._axis), (right, "Return", self._metric)):
            label = QLabel(text)
            label.setProperty("role", "muted")
            label.setBuddy(control)
            self._captions.append(label)
            label.setContentsMargins(6, 0, 0, 0)
            row.addWidget(label)
            row.addWidget(control)
        right.addStretch(1)
        # One below the other where they would be cut off.
        self._choices = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        for row in (self._choices, left, right):
            row.setSpacing(2)
        self._choices.addLayout(left)
        self._choices.addLayout(right, 1)
        # Beside the others where there is room, else below them.
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
        """Leave the captions out where there is little room: what is chosen must be readable."""
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
        around = self._choices.spacing() * (len(combos) - 1) + 2 * self._choices.spacing()
        margins = self.layout().contentsMargins()
        room = width - margins.left() - margins.right() - around
        wide = narrow and sum(each.minimumSizeHint().width() for each in combos) > room
        self._choices.setDirection(ways.TopToBottom if wide else ways.LeftToRight)

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
        runs, parts = f"{count} run{'' if count == 1 else 's'}", ""
        if shown.view.grouped:
            parts = f" in {len(groups)} group{'' if len(groups) == 1 else 's'}"
        reading = "  ·  reading…" if session.busy else ""
        what = f"Group {session.group}  ·  {runs}" if session.group else f"Comparing {runs}{parts}"
        self._heading.setText(f"{what}{reading}")
        self._notes.setText("  ".join(shown.notes))
        self._notes.setToolTip("<br>".join(shown.notes))
        self._notes.setVisible(bool(shown.notes))
        view = session.view
        self._grouped.setCurrentIndex(self._grouped.findData(view.grouped))
        self._axis.setCurrentIndex(self._axis.findData(view.x))
        self._metric.setCurrentIndex(self._metric.findData(shown.comparison.metric))
        self._smoothing.show_value(view.smoothing)

    def _ask_export(self, kind: str) -> None:
        asked = "Export comparison", "comparison", kind
        chosen = choose_file(self, *asked, self.refused.emit)
        if chosen is not None:
            self._session.export(RETURN, chosen)
