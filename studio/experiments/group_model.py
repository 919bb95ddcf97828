"""The table of a group: one row for each run."""

from collections.abc import Iterable
from enum import IntEnum
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QObject, Qt

from studio.formatting import format_count, format_return, format_share
from studio.widgets.model_index import ROOT, Index
from td3core.experiments.groups.seed_status import SEED_STATES, SeedState, SeedStatus, spread
from td3core.text import Text, tr

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
    SeedColumn.SEED: (Text("Seed"), None),
    SeedColumn.STATE: (Text("State"), None),
    SeedColumn.PROGRESS: (Text("Done"), Text("Completed share of the run's steps")),
    SeedColumn.STEP: (Text("Step"), None),
    SeedColumn.LAST: (Text("Last"), Text("Mean return of the last evaluation")),
    SeedColumn.BEST: (Text("Best"), Text("Mean return of the best evaluation")),
    SeedColumn.SPEED: (Text("Steps/s"), None),
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
        """Update the status of one run."""
        for row, known in enumerate(self._rows):
            if known.seed == status.seed:
                self._rows[row] = status
                self.dataChanged.emit(self.index(row, 0), self.index(row, len(SeedColumn) - 1))

    def summary(self) -> str:
        """Return the status of the group, in one line."""
        over = sum(status.state is SeedState.FINISHED for status in self._rows)
        parts = [tr("{over} of {count} finished", over=over, count=len(self._rows))]
        failed = (SeedState.FAILED, SeedState.INTERRUPTED)
        bad = sum(status.state in failed for status in self._rows)
        if bad:
            parts.append(tr("{count} failed", count=bad))
        last = spread([status.last for status in self._rows])
        if last is not None and last.count > 1:
            parts.append(tr("last {mean}", mean=format_return(last.mean, last.std)))
        best = spread([status.best for status in self._rows])
        if best is not None and best.count > 1:
            parts.append(tr("best {mean}", mean=format_return(best.mean, best.std)))
        return "  ·  ".join(parts)

    # Qt -----------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = ROOT) -> int:  # noqa: N802
        """Return the number of runs."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = ROOT) -> int:  # noqa: N802
        """Return the number of columns."""
        return 0 if parent.isValid() else len(SeedColumn)

    def headerData(  # noqa: N802
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return the heading of a column."""
        if orientation is Qt.Orientation.Horizontal:
            heading, tip = _HEADINGS[SeedColumn(section)]
            if role == Qt.ItemDataRole.DisplayRole:
                return str(heading)
            if role == Qt.ItemDataRole.ToolTipRole and tip is not None:
                return str(tip)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the data of a cell."""
        status, column = self._rows[index.row()], SeedColumn(index.column())
        if role == STATUS:
            return status
        if role == PROGRESS and column is SeedColumn.PROGRESS:
            return min(status.env_steps / max(status.steps, 1), 1.0)
        if role == Qt.ItemDataRole.DisplayRole:
            return _text(status, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return str(status.message or status.run or "") or None
        if role == Qt.ItemDataRole.TextAlignmentRole and column >= SeedColumn.STEP:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None


def _text(status: SeedStatus, column: SeedColumn) -> str:
    match column:
        case SeedColumn.SEED:
            return str(status.seed)
        case SeedColumn.STATE:
            return str(SEED_STATES[status.state])
        case SeedColumn.PROGRESS:
            return format_share(min(status.env_steps / max(status.steps, 1), 1.0))
        case SeedColumn.STEP:
            return format_count(status.env_steps)
        case SeedColumn.LAST:
            return format_return(status.last)
        case SeedColumn.BEST:
            return format_return(status.best)
    return format_count(status.steps_per_s) if status.state.is_running else ""
