"""Shows the curves of a group of seeds during training, and again after its end."""

from pathlib import Path

from PySide6.QtCore import QObject, Slot

from studio.experiments.group_session import GroupSession
from studio.plots.compare.session import CompareSession
from studio.session.group_record import GroupRecord
from td3core.experiments.groups.seed_status import SeedStatus
from td3core.text import translated


class GroupComparison(QObject):
    """Opens the comparison with the first run of a group, and adds the others as they start."""

    def __init__(self, groups: GroupSession, comparing: CompareSession, parent: QObject) -> None:
        super().__init__(parent)
        self._groups, self._comparing = groups, comparing
        self._awaited = False
        """True until the group that was started has shown its first run."""
        groups.group_started.connect(self._on_started)
        groups.status_changed.connect(self._on_status)
        groups.run_reported.connect(comparing.live.take)
        groups.busy_changed.connect(self._on_busy)

    @Slot(object)
    def show(self, record: GroupRecord) -> None:
        """Compare the started runs of a group, or of its whole series."""
        paths = self.runs_of(record)
        if paths:
            names = self._names(record)
            self._comparing.compare(paths, name_of(record), series=bool(record.series), names=names)

    @Slot(object, str)
    def show_runs(self, paths: list[Path], group: str) -> None:
        """Compare the runs of a group that ended earlier."""
        self._comparing.compare(paths, group)

    @Slot()
    def _on_started(self) -> None:
        self._awaited = True

    @Slot(bool)
    def _on_busy(self, busy: bool) -> None:
        if not busy:
            self._comparing.live.clear()

    @Slot(object)
    def _on_status(self, status: SeedStatus) -> None:
        record = self._groups.current
        if status.run is None or record is None:
            return
        first, self._awaited = self._awaited, False
        if self._comparing.group == name_of(record):
            self._comparing.extend(self.runs_of(record), self._names(record))
        elif first:
            # A comparison closed or replaced by the user stays so until the next group starts.
            self.show(record)

    def runs_of(self, record: GroupRecord) -> list[Path]:
        """Return the started runs of a group and of its series, by group and seed."""
        return [run for each in self._series_of(record) for run in _runs(each)]

    def _names(self, record: GroupRecord) -> dict[Path, str]:
        """Return the names of the groups of a series, by each of their runs."""
        named = (each for each in self._series_of(record) if each.variant)
        return {run: translated(each.variant) for each in named for run in _runs(each)}

    def _series_of(self, record: GroupRecord) -> list[GroupRecord]:
        if not record.series:
            return [record]
        return [each for each in self._groups.records if each.series == record.series]


def _runs(record: GroupRecord) -> list[Path]:
    return [status.run for status in record.statuses.values() if status.run is not None]


def name_of(record: GroupRecord) -> str:
    """Return the name of the comparison of a group, or of its series."""
    title, separator, when = record.series.rpartition(" · ")
    return f"{translated(title)}{separator}{when}" or record.group.name
