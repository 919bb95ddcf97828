"""The numbers of a comparison, and the choice of drawn lines."""

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from studio.formatting import typographic
from studio.plots.compare.layer import colour_of, style_of
from studio.plots.compare.run_set import ShownComparison
from studio.plots.compare.session import CompareSession
from studio.theme.sizes import scaled
from studio.theme.theme import Theme
from studio.widgets.controls import make_narrow_combo
from studio.widgets.labels import plain_tip
from studio.widgets.model_index import Index
from studio.widgets.setting_names import in_labels
from td3core.analysis.aggregate import Estimate
from td3core.analysis.comparison import GroupResult, improvement
from td3core.analysis.groups import HISTORY
from td3core.analysis.results import RunResults
from td3core.analysis.wording import (
    BEST_ABOUT,
    DEVIATION_ABOUT,
    FINAL_ABOUT,
    IMPROVEMENT_ABOUT,
    INTERVAL_ABOUT,
    decimals_of,
    estimate_text,
)
from td3core.config import label_of, sign_of
from td3core.errors import RequestError
from td3core.text import Text, tr

_HEADS = (Text("Group"), Text("Runs"), Text("Final"), Text("Best"))
_FIGURES = {
    1: Text("Runs that have results"),
    2: Text("{figure} {interval}", figure=FINAL_ABOUT, interval=INTERVAL_ABOUT),
    3: Text("{figure} {interval}", figure=BEST_ABOUT, interval=INTERVAL_ABOUT),
}
_DEVIATION = Text("{figure} {interval}", figure=DEVIATION_ABOUT, interval=INTERVAL_ABOUT)
_HISTORY = Text("The branch and the live changes of its runs")
_RENAME = Text("Double-click or press F2 to rename. The name goes into the figure.")
_KEY = Qt.ItemDataRole.UserRole
_SWATCH_PX, _LINE_PX = 10, 16
"""In pixels, with the usual font."""
_ROWS = 4
"""Number of rows for which space is reserved, if there are as many."""
_NAMES_PX = 120
"""Width that the column of names may always have, with the usual font."""
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class CompareTable(QWidget):
    """A row per group, with its runs below; checked rows are drawn."""

    def __init__(self, session: CompareSession, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("card")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._session, self._theme = session, theme
        self.tree = _Tree()
        self.tree.resized.connect(self._fit_columns)
        self.tree.setObjectName("compare_table")
        self.tree.setAccessibleName(tr("Comparison"))
        self.tree.setUniformRowHeights(True)
        self.tree.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.tree.setSelectionMode(QTreeWidget.SelectionMode.NoSelection)
        triggers = QTreeWidget.EditTrigger
        self.tree.setEditTriggers(triggers.DoubleClicked | triggers.EditKeyPressed)
        self._editor = _NameEditor(self.tree)
        self.tree.setItemDelegateForColumn(0, self._editor)
        self._editor.closeEditor.connect(self._show, Qt.ConnectionType.QueuedConnection)
        self.tree.itemChanged.connect(self._on_changed)
        self._better = self._combo("compare_better_combo", tr("First group"))
        self._worse = self._combo("compare_worse_combo", tr("Second group"))
        self._chance = QLabel()
        self._chance.setObjectName("compare_improvement")
        self._chance.setTextFormat(Qt.TextFormat.PlainText)
        # The reason for a missing value is a sentence.
        self._chance.setWordWrap(True)
        self._chance.setToolTip(plain_tip(f"{IMPROVEMENT_ABOUT} {INTERVAL_ABOUT}"))
        self._row = QWidget()
        self._unfolded = ""
        """The group whose runs were expanded automatically; the user may have collapsed them since.
        """
        self._lay_out()
        session.shown_changed.connect(self._show)

    def _combo(self, name: str, label: str) -> QComboBox:
        combo = make_narrow_combo(name, label, str(IMPROVEMENT_ABOUT))
        combo.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        combo.activated.connect(self._show_chance)
        return combo

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(6)
        for part in (QLabel("P("), self._better, QLabel(">"), self._worse, QLabel(")")):
            row.addWidget(part, int(isinstance(part, QComboBox)))
        below = QVBoxLayout(self._row)
        below.setContentsMargins(0, 0, 0, 0)
        below.setSpacing(2)
        below.addLayout(row)
        # A sentence in the worst case: it needs the width.
        below.addWidget(self._chance)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(6)
        layout.addWidget(self.tree, 1)
        layout.addWidget(self._row)

    def _keep_rows(self) -> None:
        """Reserve space for some rows below the heading and above the scroll bar."""
        tree, rows = self.tree, min(self.tree.topLevelItemCount(), _ROWS)
        bar = tree.horizontalScrollBar().sizeHint().height()
        around = tree.header().sizeHint().height() + bar + 2 * tree.frameWidth()
        tree.setMinimumHeight(around + rows * max(tree.sizeHintForRow(0), 0))

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self._theme = theme
        self._show()

    # Filling -------------------------------------------------------------------------------------

    @Slot()
    def _show(self) -> None:
        shown = self._session.shown
        # Refilling while a name is edited would remove the editor.
        if shown is None or self._editor.editing:
            return
        with QSignalBlocker(self.tree):
            self._fill(shown)
        self.offer_groups([each.name for each in shown.comparison.groups])
        self._show_chance()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Reserve space for the sentence below the rows."""
        super().resizeEvent(event)
        self._keep_lines()

    @Slot()
    def _fit_columns(self) -> None:
        """Give the names up to half of the table; tooltips show longer ones in full.

        Figures that do not fit beside them are scrolled to: names cut shorter would look the same.
        """
        tree, header = self.tree, self.tree.header()
        if not tree.topLevelItemCount():
            return
        most = max(self.width() // 2, scaled(_NAMES_PX))
        last = tree.columnCount() - 1
        wanted, *figures, needed = (
            max(tree.sizeHintForColumn(column), header.sectionSizeHint(column))
            for column in (0, *_FIGURES, last)
        )
        # Limits columns of settings, not figures: a truncated number reads as another one.
        header.setMaximumSectionSize(max(most, *figures))
        header.resizeSection(0, min(wanted, most))
        # Without space for its contents, the last column would be cut off: scroll instead.
        fits = header.sectionPosition(last) + needed <= tree.viewport().width()
        header.setStretchLastSection(fits)
        if not fits:
            header.resizeSection(last, needed)

    def _keep_lines(self) -> None:
        self._chance.setMinimumHeight(max(self._chance.heightForWidth(self.tree.width()), 0))

    def _fill(self, shown: ShownComparison) -> None:
        # Identified by their runs: a group may have been renamed.
        unfolded = {
            row.data(0, _KEY) for item in self._items() if item.isExpanded() for row in _runs(item)
        }
        scrolled = self.tree.verticalScrollBar().value()
        current = self._current()
        self.tree.clear()
        differing = shown.comparison.differing
        of_bias = shown.comparison.metric == "bias"
        heads = [*_HEADS[:3], Text("Deviation")] if of_bias else _HEADS
        labels = [*map(str, heads), *map(_head, differing)]
        # ``setHeaderLabels`` alone would add columns, but never remove any.
        self.tree.setColumnCount(len(labels))
        self.tree.setHeaderLabels(labels)
        for column, about in (_FIGURES | ({3: _DEVIATION} if of_bias else {})).items():
            self.tree.headerItem().setToolTip(column, plain_tip(str(about)))
            self.tree.headerItem().setTextAlignment(column, _RIGHT)
        for column, name in enumerate(differing, len(heads)):
            self.tree.headerItem().setToolTip(column, plain_tip(_about(name)))
        for place, each in enumerate(shown.comparison.groups):
            item = self._group_row(each, place, shown)
            self.tree.addTopLevelItem(item)
            if len(each.group.runs) > 1:
                for run in each.group.runs:
                    item.addChild(self._run_row(each, run, shown))
            # Expanded at first: the seeds of a group are its main content.
            first = self.tree.topLevelItemCount() == 1 and self._unfolded != self._session.group
            runs = {row.data(0, _KEY) for row in _runs(item)}
            item.setExpanded(bool(runs & unfolded) or (first and bool(runs)))
        if any(item.isExpanded() for item in self._items()):
            self._unfolded = self._session.group
        self.tree.setRootIsDecorated(any(item.childCount() for item in self._items()))
        header = self.tree.header()
        for column in range(1, self.tree.columnCount()):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Fixed)
        self._fit_columns()
        self._keep_rows()
        self._return_to(*current)
        self.tree.verticalScrollBar().setValue(scrolled)

    def _items(self) -> list[QTreeWidgetItem]:
        found = (self.tree.topLevelItem(at) for at in range(self.tree.topLevelItemCount()))
        return [item for item in found if item is not None]

    def _current(self) -> tuple[object, int]:
        """Return the key of the row with the keyboard focus, and the index of its group."""
        item = self.tree.currentItem()
        if item is None:
            return None, -1
        return item.data(0, _KEY), self.tree.indexOfTopLevelItem(item.parent() or item)

    def _return_to(self, key: object, place: int) -> None:
        """Return to the row with this key, else to the group at this index, which was renamed."""
        groups = self._items()
        for item in groups:
            # Going to a hidden run would expand its group.
            for row in (item, *(_runs(item) if item.isExpanded() else ())):
                if row.data(0, _KEY) == key:
                    self.tree.setCurrentItem(row)
                    return
        if 0 <= place < len(groups):
            self.tree.setCurrentItem(groups[place])

    def _group_row(self, each: GroupResult, place: int, shown: ShownComparison) -> QTreeWidgetItem:
        decimals = decimals_of(shown.comparison.metric)
        figures = [_figure(found, decimals) for found in (each.final, each.deviation or each.best)]
        values = [
            typographic(each.group.values(name, sign_of)) for name in shown.comparison.differing
        ]
        item = QTreeWidgetItem([each.name, str(len(each.finals)), *figures, *values])
        item.setData(0, _KEY, each.name)
        item.setIcon(0, self._swatch(place))
        _tick(item, each.name not in shown.view.hidden)
        problems = [shown.problems.get(run.path) for run in each.group.runs]
        if all(problems):
            _strike_out(item)
        titles = "\n".join(run.title for run in each.group.runs)
        titles = "\n\n".join([titles, *(in_labels(problem) for problem in problems if problem)])
        if shown.view.grouped:
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
            titles = f"{titles}\n\n{_RENAME}"
        item.setToolTip(0, plain_tip(titles))
        _align(item)
        return item

    def _swatch(self, place: int) -> QPixmap:
        """Return a square in the colour of a group, or a line in its style if it has one."""
        colour, style = QColor(colour_of(self._theme, place)), style_of(self._theme, place)
        side = scaled(_SWATCH_PX)
        if style == Qt.PenStyle.SolidLine:
            swatch = QPixmap(side, side)
            swatch.fill(colour)
            return swatch
        swatch = QPixmap(scaled(_LINE_PX), side)
        swatch.fill(Qt.GlobalColor.transparent)
        painter = QPainter(swatch)
        painter.setPen(QPen(colour, 2, style, Qt.PenCapStyle.FlatCap))
        painter.drawLine(0, side // 2, scaled(_LINE_PX), side // 2)
        painter.end()
        return swatch

    def _run_row(
        self, each: GroupResult, run: RunResults, shown: ShownComparison
    ) -> QTreeWidgetItem:
        metric = shown.comparison.metric
        second = run.deviation() if metric == "bias" else run.best(metric)
        counted = [Estimate(value=value, interval=None) for value in (run.final(metric), second)]
        decimals = decimals_of(metric)
        figures = [_figure(one, decimals) if one.value == one.value else "-" for one in counted]
        item = QTreeWidgetItem([each.group.member_name(run), "", *figures])
        item.setData(0, _KEY, run.path)
        about = tr("{run}\nFolder: {folder}", run=run.title, folder=run.path.name)
        problem = shown.problems.get(run.path)
        if problem:
            _strike_out(item)
            about = f"{about}\n\n{problem}"
        item.setToolTip(0, plain_tip(about))
        _tick(item, run.path in shown.view.single)
        _align(item)
        return item

    # Choosing ------------------------------------------------------------------------------------

    @Slot(QTreeWidgetItem, int)
    def _on_changed(self, item: QTreeWidgetItem, column: int) -> None:
        """Handle a check mark, or a new name."""
        if column:
            return
        key, ticked = item.data(0, _KEY), item.checkState(0) == Qt.CheckState.Checked
        if isinstance(key, str) and item.text(0) != key:
            self._session.rename_group(key, item.text(0))
        elif isinstance(key, str):
            self._session.set_group_visible(key, ticked)
        else:
            self._session.set_run_visible(key, ticked)

    def offer_groups(self, names: list[str]) -> None:
        """Offer these groups for the comparison of two of them; keep the current choice."""
        if names == [self._better.itemText(at) for at in range(self._better.count())]:
            # One of the lists may be open.
            return
        for combo, at in ((self._better, 0), (self._worse, 1)):
            before = combo.currentText()
            combo.clear()
            combo.addItems(names)
            combo.setCurrentIndex(
                names.index(before) if before in names else min(at, len(names) - 1)
            )
        if len(names) > 1 and self._better.currentIndex() == self._worse.currentIndex():
            # There was only one group before.
            self._better.setCurrentIndex(0)
            self._worse.setCurrentIndex(1)
        self._row.setVisible(len(names) > 1)

    @Slot()
    def _show_chance(self) -> None:
        shown = self._session.shown
        if shown is None:
            return
        for combo in (self._better, self._worse):
            # A narrow list cuts its name off.
            combo.setToolTip(plain_tip(f"{combo.currentText()}\n{IMPROVEMENT_ABOUT}"))
        self._say_chance(shown)
        self._keep_lines()

    def _say_chance(self, shown: ShownComparison) -> None:
        groups = shown.comparison.groups
        first, second = self._better.currentIndex(), self._worse.currentIndex()
        if first < 0 or second < 0:
            return
        if first == second:
            self._chance.setText(tr("Choose two groups."))
            return
        try:
            found = improvement(groups[first], groups[second])
        except RequestError as problem:
            self._chance.setText(in_labels(problem.message))
        else:
            self._chance.setText(f"= {typographic(estimate_text(found, 2))}")


class _Tree(QTreeWidget):
    """Announces size changes, including those by a scroll bar that appears or disappears."""

    resized = Signal()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Announce the new size."""
        super().resizeEvent(event)
        self.resized.emit()


class _NameEditor(QStyledItemDelegate):
    """Edits the name of a group."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.editing = False
        self.closeEditor.connect(self._on_closed)

    @Slot()
    def _on_closed(self) -> None:
        self.editing = False

    def createEditor(  # noqa: N802
        self,
        parent: QWidget,
        option: QStyleOptionViewItem,
        index: Index,
    ) -> QWidget:
        """Return the editor, and note that it is open."""
        self.editing = True
        editor = super().createEditor(parent, option, index)
        editor.setObjectName("group_name_edit")
        editor.setAccessibleName(tr("Name of the group"))
        return editor


def _runs(group: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    """Return the rows of a group's runs."""
    found = (group.child(at) for at in range(group.childCount()))
    return [row for row in found if row is not None]


def _head(setting: str) -> str:
    return tr("History") if setting == HISTORY else sign_of(setting)


def _about(setting: str) -> str:
    return str(_HISTORY) if setting == HISTORY else label_of(setting)


def _figure(found: Estimate | None, decimals: int) -> str:
    return typographic(estimate_text(found, decimals))


def _tick(item: QTreeWidgetItem, ticked: bool) -> None:
    item.setCheckState(0, Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked)


def _strike_out(item: QTreeWidgetItem) -> None:
    """Mark a row whose runs can no longer be read."""
    font = item.font(0)
    font.setStrikeOut(True)
    item.setFont(0, font)


def _align(item: QTreeWidgetItem) -> None:
    for column in _FIGURES:
        item.setTextAlignment(column, _RIGHT)
