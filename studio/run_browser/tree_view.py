"""The tree that lists the runs, and its replacement when it is empty."""

from pathlib import Path

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QMenu,
    QSizePolicy,
    QStackedWidget,
    QTreeView,
    QWidget,
)

from studio.run_browser.columns import RunColumn
from studio.run_browser.delegate import ICON_ONLY, RunDelegate
from studio.run_browser.filter_proxy import RunFilterProxy
from studio.run_browser.rows import RunRow
from studio.run_browser.tree_model import ROW
from studio.theme.sizes import scaled
from studio.theme.theme import Theme
from studio.widgets.controls import full_width, show_columns
from studio.widgets.labels import breakable, plain_label
from td3core.text import tr

_WIDTHS = {  # Valid for the usual font.
    RunColumn.RUN: 240,
    RunColumn.STATE: 104,
    RunColumn.CURVE: 64,
    RunColumn.LAST: 76,
    RunColumn.BEST: 76,
    RunColumn.STEPS: 98,
    RunColumn.STARTED: 102,
    RunColumn.DURATION: 70,
    RunColumn.SEED: 44,
    RunColumn.PRESET: 130,
    RunColumn.PARENT: 230,
}
_BEFORE_STATE = (RunColumn.CURVE, RunColumn.STARTED, RunColumn.STEPS)
"""Columns for which the name of a state makes room: its icon says as much."""
_DISPENSABLE = (
    *_BEFORE_STATE,
    RunColumn.DURATION,
    RunColumn.LAST,
    RunColumn.SEED,
    RunColumn.PRESET,
    RunColumn.PARENT,
)
"""Hidden, the last first, if space is short: the first column or its tooltip shows them too."""

_MOVES = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Home, Qt.Key.Key_End)


class RunTreeView(QTreeView):
    """The list itself. Keeps selection, folding and scroll position when the list changes."""

    choice_changed = Signal()

    def __init__(self, proxy: RunFilterProxy, theme: Theme) -> None:
        super().__init__()
        self._proxy = proxy
        self._kept: tuple[list[Path], Path | None, int] = ([], None, 0)
        self._folded: set[Path] = set()
        self.setObjectName("runs_view")
        self.setAccessibleName(tr("Runs"))
        self.setModel(proxy)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setAllColumnsShowFocus(True)
        # Otherwise every row would be measured, a thousand of them.
        self.setUniformRowHeights(True)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setMinimumSize(200, 60)
        self._delegate = RunDelegate(theme, self)
        self._delegate.sparklines.changed.connect(self.viewport().update)
        self.setItemDelegate(self._delegate)
        self._make_header()
        proxy.modelAboutToBeReset.connect(self._keep)
        proxy.modelReset.connect(self._restore)
        self.collapsed.connect(self._note_folded)
        self.expanded.connect(self._note_unfolded)

    def _make_header(self) -> None:
        header = self.header()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(False)
        header.setTextElideMode(Qt.TextElideMode.ElideRight)
        for column, width in _WIDTHS.items():
            self.setColumnWidth(column, scaled(width))
        header.setSortIndicator(RunColumn.STARTED, Qt.SortOrder.DescendingOrder)
        self.setSortingEnabled(True)
        # The names get the remaining width; other columns are hidden before it becomes too small.
        header.setSectionResizeMode(RunColumn.RUN, QHeaderView.ResizeMode.Stretch)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Hide columns that do not fit."""
        super().resizeEvent(event)
        fixed = (RunColumn.RUN, RunColumn.STATE)
        widths = {
            column: scaled(width) if column in fixed else full_width(self, column)
            for column, width in _WIDTHS.items()
        }
        sorted_by = self.header().sortIndicatorSection()
        dispensable: dict[int, int] = {
            column: widths.pop(column)
            for column in _DISPENSABLE
            if column != sorted_by or column is RunColumn.STARTED
        }
        room = self.viewport().width() - sum(widths.values())
        needed = sum(dispensable.get(column, 0) for column in _BEFORE_STATE)
        state, icon = widths[RunColumn.STATE], scaled(ICON_ONLY)
        as_icon = room < needed
        if as_icon:
            room = min(room + state - icon, needed)
        show_columns(self, dispensable, room)
        self._proxy.show_state_as_icon(as_icon)
        self.setColumnWidth(RunColumn.STATE, icon if as_icon else state)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:  # noqa: N802
        """Offer the actions; their tooltips say why some are not available."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        menu.addActions(self.actions())
        menu.popup(event.globalPos())

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._delegate.set_theme(theme)
        self.viewport().update()

    def shutdown(self) -> None:
        """Stop reading sparklines."""
        self._delegate.sparklines.stop()

    @property
    def editing(self) -> bool:
        """True while a name is being typed."""
        return self.state() == QAbstractItemView.State.EditingState

    def chosen(self) -> list[RunRow]:
        """Return the runs that are selected."""
        return [index.data(ROW) for index in self.selectionModel().selectedRows()]

    def choose(self, paths: list[Path], current: Path | None) -> None:
        """Select these runs, if they are shown."""
        model, flag = self.selectionModel(), QItemSelectionModel.SelectionFlag
        chosen = QItemSelection()
        for index in map(self._proxy.find, paths):
            if index.isValid():
                chosen.select(index, index)
        at = self._proxy.find(current)
        if at.isValid():
            model.setCurrentIndex(at, flag.NoUpdate)
        if paths:
            model.select(chosen, flag.ClearAndSelect | flag.Rows)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Select the row that the keyboard moves to, even if it is current already."""
        super().keyPressEvent(event)
        current = self.currentIndex()
        moved = event.key() in _MOVES and not event.modifiers() and current.isValid()
        if moved and not self.selectionModel().hasSelection():
            flag = QItemSelectionModel.SelectionFlag
            self.selectionModel().select(current, flag.ClearAndSelect | flag.Rows)

    def selectionChanged(  # noqa: N802
        self, selected: QItemSelection, deselected: QItemSelection
    ) -> None:
        """Announce the new selection."""
        super().selectionChanged(selected, deselected)
        self.choice_changed.emit()

    @Slot()
    def _keep(self) -> None:
        current = self.currentIndex().data(ROW)
        paths = [row.path for row in self.chosen()]
        self._kept = (paths, current.path if current else None, self.verticalScrollBar().value())

    @Slot()
    def _restore(self) -> None:
        self.unfold()
        paths, current, scrolled = self._kept
        self.choose(paths, current)
        self.verticalScrollBar().setValue(scrolled)
        self.choice_changed.emit()

    def unfold(self) -> None:
        """Show branches below their parents, except where the user has folded them."""
        folded, branched = set(self._folded), self._proxy.branched()
        for path in branched:
            self.setExpanded(self._proxy.find(path), path not in folded)
        # Without branches, space for their arrows would only push the names away.
        self.setRootIsDecorated(bool(branched))

    @Slot(QModelIndex)
    def _note_folded(self, index: QModelIndex) -> None:
        self._folded.add(index.data(ROW).path)

    @Slot(QModelIndex)
    def _note_unfolded(self, index: QModelIndex) -> None:
        self._folded.discard(index.data(ROW).path)


class ViewOrHint(QStackedWidget):
    """The list, or a sentence in its place."""

    def __init__(self, view: QWidget) -> None:
        super().__init__()
        self.hint = plain_label()
        self.hint.setObjectName("runs_hint")
        self.hint.setProperty("role", "muted")
        self.hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.hint.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self.addWidget(view)
        self.addWidget(self.hint)

    def show_hint(self, text: str) -> None:
        """Show a sentence in place of the list; an empty one shows the list."""
        self.hint.setText(breakable(text))
        self.setCurrentIndex(1 if text else 0)
