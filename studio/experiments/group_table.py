"""The view of a group's runs, with a bar for their progress."""

from PySide6.QtCore import QModelIndex, QRect, Qt, Signal, Slot
from PySide6.QtGui import QColor, QPainter, QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
)

from studio.experiments.group_model import PROGRESS, STATUS, GroupModel, SeedColumn
from studio.theme.sizes import scaled
from studio.widgets.controls import show_columns
from studio.widgets.model_index import Index
from td3core.experiments.groups.seed_status import SeedStatus
from td3core.text import tr

_WIDTHS = {  # With the usual font, most important first.
    SeedColumn.SEED: 42,
    SeedColumn.STATE: 76,
    SeedColumn.LAST: 74,
    SeedColumn.BEST: 74,
    SeedColumn.PROGRESS: 52,
    SeedColumn.SPEED: 62,
    SeedColumn.STEP: 66,
}
_BAR = 4
"""Pixels between the bar and the edges of its cell."""


class GroupTable(QTreeView):
    """One row per run; a double click requests to open it."""

    run_wanted = Signal(object)
    """Carries the :class:`SeedStatus` of the run."""
    choice_changed = Signal()

    def __init__(self, model: GroupModel) -> None:
        super().__init__()
        self.setObjectName("group_view")
        self.setAccessibleName(tr("Runs of the group"))
        self.setModel(model)
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setAllColumnsShowFocus(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setMinimumHeight(scaled(60))
        self.setItemDelegateForColumn(SeedColumn.PROGRESS, _Bar(self))
        header = self.header()
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(scaled(40))
        header.setSectionResizeMode(SeedColumn.PROGRESS, QHeaderView.ResizeMode.Stretch)
        self.activated.connect(self._on_activated)
        self.selectionModel().selectionChanged.connect(lambda *_: self.choice_changed.emit())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Hide the columns that do not fit."""
        super().resizeEvent(event)
        widths: dict[int, int] = {}
        for column, width in _WIDTHS.items():
            # A heading may be wider than any number below it; that of a hidden column has no width.
            self.setColumnHidden(column, False)
            widths[column] = max(scaled(width), self.header().sectionSizeHint(column))
            self.setColumnWidth(column, widths[column])
        # The first one always stays: a table without columns has no rows.
        room = self.viewport().width() - widths.pop(SeedColumn.SEED)
        show_columns(self, widths, room)
        # The bar takes the remaining width; if it is hidden, the last column does.
        self.header().setStretchLastSection(self.isColumnHidden(SeedColumn.PROGRESS))

    def chosen(self) -> list[SeedStatus]:
        """Return the selected runs."""
        return [index.data(STATUS) for index in self.selectionModel().selectedRows()]

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        self.run_wanted.emit(index.data(STATUS))


class _Bar(QStyledItemDelegate):
    """Draws a share as a bar with its text."""

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: Index,
    ) -> None:
        share = index.data(PROGRESS) or 0.0
        text = index.data(Qt.ItemDataRole.DisplayRole)
        colour = QColor(option.palette.color(QPalette.ColorRole.Highlight))
        colour.setAlpha(90)
        area: QRect = option.rect.adjusted(_BAR, _BAR, -_BAR, -_BAR)
        painter.save()
        painter.fillRect(area.adjusted(0, 0, round((share - 1) * area.width()), 0), colour)
        painter.setPen(option.palette.color(QPalette.ColorRole.Text))
        painter.setFont(option.font)
        painter.drawText(area, Qt.AlignmentFlag.AlignCenter, text)
        painter.restore()
