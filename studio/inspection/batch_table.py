"""The transitions of a batch with the critics' values, in a sortable table."""

import numpy as np
from PySide6.QtCore import QAbstractTableModel, Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from studio.formatting import format_count, format_number
from studio.theme.sizes import scaled
from studio.widgets.controls import make_table
from studio.widgets.labels import plain_tip
from studio.widgets.model_index import ROOT, Index
from td3core.analysis.inspection import Inspection
from td3core.arrays import Doubles
from td3core.text import Text

_HEADS = (
    (Text("Step"), Text("When it was stored, counted from the first step of the run")),
    (Text("Reward"), Text("What the critics learn from: scaled, bounded, and n steps long")),
    (Text("y"), Text("The target that both critics learn")),
    (Text("Q₁"), Text("What the first critic expects of the action that was taken")),
    (Text("Q₂"), Text("What the second critic expects of it")),
    (Text("Q₁ − y"), Text("TD error of the first critic: above 0 it expects too much")),
    (Text("Q₂ − y"), Text("TD error of the second critic")),
    (Text("End"), Text("1 where no value follows, as after a fall; less where steps are joined")),
)
_ROW_PX = 24
_TWIN = (4, 6)
"""Columns hidden for a single critic."""


class BatchModel(QAbstractTableModel):
    """A row per transition, in the user's sort order."""

    def __init__(self) -> None:
        super().__init__()
        self._cells: Doubles = np.empty((0, 0))
        self._columns: tuple[int, ...] = ()
        self.order = np.arange(0)
        """Rows of the batch in table order."""

    def show_batch(self, found: Inspection) -> None:
        """Show another batch, largest |Q₁ − y| first."""
        self.beginResetModel()
        errors, twin = found.errors, len(found.values) > 1
        columns = [
            found.numbers,
            found.batch.reward[:, 0],
            found.target,
            found.values[0],
            found.values[-1],
            errors[0],
            errors[-1],
            found.batch.terminated[:, 0] + 0.0,
        ]
        self._columns = tuple(at for at in range(len(columns)) if twin or at not in _TWIN)
        self._cells = np.column_stack([columns[at] for at in self._columns]).astype(np.float64)
        self.order = np.argsort(-np.abs(errors[0]), kind="stable")
        self.endResetModel()

    def rowCount(self, parent: Index = ROOT) -> int:  # noqa: N802
        """Return the number of transitions."""
        return 0 if parent.isValid() else len(self.order)

    def columnCount(self, parent: Index = ROOT) -> int:  # noqa: N802
        """Return the number of columns."""
        return 0 if parent.isValid() else len(self._columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Return the text of a cell."""
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        value = float(self._cells[self.order[index.row()], index.column()])
        return format_count(int(value) + 1) if index.column() == 0 else format_number(value)

    def headerData(  # noqa: N802
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        """Return the name of a column, or its meaning."""
        if orientation != Qt.Orientation.Horizontal or section >= len(self._columns):
            return None
        name, meaning = _HEADS[self._columns[section]]
        if role == Qt.ItemDataRole.DisplayRole:
            return str(name)
        return plain_tip(str(meaning)) if role == Qt.ItemDataRole.ToolTipRole else None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort the rows by a column, if it exists; equal ones keep their order."""
        if not 0 <= column < len(self._columns):
            return
        self.layoutAboutToBeChanged.emit()
        values = self._cells[self.order, column]
        descending = order == Qt.SortOrder.DescendingOrder
        moved = np.argsort(-values if descending else values, kind="stable")
        self.order = self.order[moved]
        # Keep the selection, wherever its rows are now.
        places = np.argsort(moved)
        before = self.persistentIndexList()
        after = [self.index(int(places[each.row()]), each.column()) for each in before]
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()


def make_batch_view(model: BatchModel, name: str) -> QTableView:
    """Return the table; ``name`` is for screen readers."""
    view = make_table("inspection_table", name, model)
    view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    view.setSortingEnabled(True)
    header = view.horizontalHeader()
    header.setSortIndicator(-1, Qt.SortOrder.DescendingOrder)
    # Truncated numbers are useless; a narrow table scrolls horizontally.
    header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    header.setStretchLastSection(True)
    view.verticalHeader().setDefaultSectionSize(scaled(_ROW_PX))
    return view


def width_needed(view: QTableView) -> int:
    """Return the width at which a table shows all its columns in full."""
    # Otherwise columns and scroll bar are still those of the rows before.
    view.doItemsLayout()
    header, last = view.horizontalHeader(), view.model().columnCount() - 1
    columns = sum(header.sectionSize(column) for column in range(last))
    columns += max(view.sizeHintForColumn(last), header.sectionSizeHint(last))
    return columns + view.width() - view.viewport().width()
