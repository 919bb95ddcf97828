"""Live measurements of the runs trained by this window."""

import logging
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from studio.tasks.background_queue import BackgroundQueue
from td3core.analysis.measured import Measured, MeasuredRun, measured_in
from td3core.protocol.events import Ended, Event, Failed, Interrupted, Started

log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True, eq=False)
class _LiveRun:
    path: Path
    measured: MeasuredRun | None = None
    """None while the part before the resumption is being read."""
    waiting: list[Event] = field(default_factory=list)
    """Events reported meanwhile."""
    dropped: bool = False
    """The result of reading it is no longer needed."""

    def take(self, event: Event) -> None:
        if self.measured is None:
            self.waiting.append(event)
        else:
            self.measured.take(event)

    def continues(self, before: MeasuredRun) -> None:
        """Continue measurements read from the files with the events reported meanwhile."""
        self.measured = before
        for event in self.waiting:
            before.take(event)
        self.waiting.clear()

    def read_past(self) -> MeasuredRun | None:
        """Read its earlier part; None if its files cannot be read. Runs in the background."""
        try:
            return measured_in(self.path, lambda: self.dropped)
        except Exception as problem:
            # Any error: opening the run reads the files again, and reports it to the user.
            log.warning("%s cannot be read: %s", self.path, problem)
            return None


class LiveRuns(QObject):
    """Accumulates the events of runs. Ended runs are dropped: their files hold the same data."""

    changed = Signal(object)
    """Folder of a run that has reported something, or was dropped."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runs: dict[Hashable, _LiveRun] = {}
        """Runs by source."""
        self._reader = BackgroundQueue("read-live-runs", self)

    def take(self, source: Hashable, event: Event) -> None:
        """Process the next event of the run of a ``source``."""
        if isinstance(event, Started):
            self._begin(source, event)
        run = self._runs.get(source)
        if run is None:
            return
        if isinstance(event, Ended | Failed | Interrupted):
            self._drop(source)
        else:
            run.take(event)
        self.changed.emit(run.path)

    @Slot()
    def clear(self) -> None:
        """Drop all runs: none of them reports any more."""
        for source in list(self._runs):
            self.changed.emit(self._drop(source).path)

    def shutdown(self) -> None:
        """Drop all runs, and wait until none of them is being read."""
        self.clear()
        self._reader.finish()

    def measured(self, path: Path) -> Measured | None:
        """Return a run's measurements; None if it does not report here, or is still being read."""
        for run in self._runs.values():
            if run.path == path and run.measured is not None:
                return run.measured.measured
        return None

    def _drop(self, source: Hashable) -> _LiveRun:
        run = self._runs.pop(source)
        run.dropped = True
        return run

    def _begin(self, source: Hashable, event: Started) -> None:
        if source in self._runs:
            self._drop(source)
        run = self._runs[source] = _LiveRun(path=event.run.absolute())
        if not event.env_steps:
            run.measured = MeasuredRun()
            return
        # Resumed, or a branch, whose own files are still empty.
        self._reader.add(run.read_past, partial(self._continue, source, run))

    def _continue(self, source: Hashable, run: _LiveRun, before: MeasuredRun | None) -> None:
        if self._runs.get(source) is not run:
            return
        if before is None:
            self._drop(source)
            return
        run.continues(before)
        self.changed.emit(run.path)
