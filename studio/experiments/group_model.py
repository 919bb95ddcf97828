"""The table of a group: one row for each run."""

from collections.abc import Iterable
from enum import IntEnum
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from studio.formatting import format_count, format_return, format_share
from td3core.experiments.groups.seed_status import SeedState, SeedStatus, spread

Index = QModelIndex | QPersistentModelIndex
STATUS = Qt.ItemDataRole.UserRole
PROGRESS = Qt.ItemDataRole.UserRole + 1
"""Share of the steps done, 0 to 1."""


class SeedColumn(IntEnum):
    """The columns of the table."""

    SEED = 0
    STATE = 1
    PROGRESS = 2
    STEP = 3
    LAST = 4
    BEST = 5
    SPEED = 6


_HEADINGS = {
    SeedColumn.SEED: ("Seed", ""),
    SeedColumn.STATE: ("State", ""),
    SeedColumn.PROGRESS: ("Done", "Steps done, of those the run is set to"),
    SeedColumn.STEP: ("Step", ""),
    SeedColumn.LAST: ("Last", "Mean return of the last evaluation"),
    SeedColumn.BEST: ("Best", "Mean return of the best evaluation"),
    SeedColumn.SPEED: ("Steps/s", ""),
}


class GroupModel(QAbstractTableModel):
    """Holds the status of every run of the current group."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[SeedStatus] = []

    @property
    def statuses(self) -> tuple[SeedStatus, ...]:
        """The status of every run, in the order of the group."""
        return tuple(self._rows)

    def show(self, statuses: Iterable[SeedStatus]) -> None:
        """Show the runs of another group."""
        self.beginResetModel()
        self._rows = list(statuses)
        self.endResetModel()

    def take(self, status: SeedStatus) -> None:
        """Show the new status of one run."""
        for row, known in enumerate(self._rows):
            if known.seed == status.seed:
                self._rows[row] = status
                self.dataChanged.emit(self.index(row, 0), self.index(row, len(SeedColumn) - 1))

    def summary(self) -> str:
        """Return how the group stands, in one line."""
        over = sum(status.state is SeedState.FINISHED for status in self._rows)
        parts = [f"{over} of {len(self._rows)} finished"]
        failed = (SeedState.FAILED, SeedState.INTERRUPTED)
        bad = sum(status.state in failed for status in self._rows)
        if bad:
            parts.append(f"{bad} failed")
        for name, values in (
            ("last", [status.last for status in self._rows]),
            ("best", [status.best for status in self._rows]),
        ):
            found = spread(values)
            if found is not None and found.count > 1:
                parts.append(f"{name} {format_return(found.mean, found.std)}")
        return "  ·  ".join(parts)

    # Qt -----------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: N802, B008
        """Return the number of runs."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: N802, B008
        """Return the number of columns."""
        return 0 if parent.isValid() else len(SeedColumn)

    def headerData(  # noqa: N802
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return the heading of a column."""
        if orientation is Qt.Orientation.Horizontal:
            heading, tip = _HEADINGS[SeedColumn(section)]
            if role == Qt.ItemDataRole.DisplayRole:
                return heading
            if role == Qt.ItemDataRole.ToolTipRole:
                return tip or None
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows."""
        status, column = self._rows[index.row()], SeedColumn(index.column())
        if role == STATUS:
            return status
        if role == PROGRESS and column is SeedColumn.PROGRESS:
            return min(status.env_steps / max(status.steps, 1), 1.0)
        if role == Qt.ItemDataRole.DisplayRole:
            return _text(status, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return status.message or (str(status.run) if status.run else None)
        if role == Qt.ItemDataRole.TextAlignmentRole and column >= SeedColumn.STEP:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None


def _text(status: SeedStatus, column: SeedColumn) -> str:
    match column:
        case SeedColumn.SEED:
            return str(status.seed)
        case SeedColumn.STATE:
            return str(status.state)
        case SeedColumn.PROGRESS:
            return format_share(min(status.env_steps / max(status.steps, 1), 1.0))
        case SeedColumn.STEP:
            return format_count(status.env_steps)
        case SeedColumn.LAST:
            return _number(status.last)
        case SeedColumn.BEST:
            return _number(status.best)
    return format_count(status.steps_per_s) if status.state.is_running else ""


def _number(value: float | None) -> str:
    return format_return(value)
