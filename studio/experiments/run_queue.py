"""The runs that wait, and when the next one starts."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from studio.experiments.queue_file import QueuedRun, read_queue, write_queue
from studio.tasks.background_queue import BackgroundQueue
from td3core.errors import RequestError


class RunQueue(QObject):
    """Runs in the order in which they start. A run starts when the one before it has ended.

    After a restart the queue waits until it is started: nothing trains unasked.
    """

    changed = Signal()
    refused = Signal(str)
    wanted = Signal(object)
    """Carries the :class:`QueuedRun` to start now."""

    def __init__(
        self, runs_dir: Path, is_busy: Callable[[], bool], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._runs_dir, self._is_busy = runs_dir.absolute(), is_busy
        self._runs: list[QueuedRun] = []
        self._closed = False
        self._disk = BackgroundQueue("queue", self)
        self._disk.failed.connect(self.refused)
        self._disk.add(self._read, self._on_read)

    @property
    def runs(self) -> tuple[QueuedRun, ...]:
        """What waits, next first."""
        return tuple(self._runs)

    def add(self, run: QueuedRun) -> None:
        """Let a run wait behind the others."""
        self._change([*self._runs, run])

    def remove(self, row: int) -> None:
        """Drop a run."""
        self._change(self._runs[:row] + self._runs[row + 1 :])

    def move(self, row: int, to: int) -> None:
        """Move a run to another place; nothing happens beyond the ends."""
        if 0 <= row < len(self._runs) and 0 <= to < len(self._runs):
            runs = list(self._runs)
            runs.insert(to, runs.pop(row))
            self._change(runs)

    @Slot()
    def start_next(self) -> None:
        """Start the next run, unless one trains."""
        if self._runs and not self._closed and not self._is_busy():
            first, rest = self._runs[0], self._runs[1:]
            # Removed first: one whose start ends the program must not do so again and again.
            self._change(rest)
            self.wanted.emit(first)

    @Slot()
    def on_ended(self) -> None:
        """Start the next run once the event that ended the last one has been handled."""
        QTimer.singleShot(0, self, self.start_next)

    def close(self) -> None:
        """Start nothing more; what waits is kept."""
        self._closed = True

    def shutdown(self) -> None:
        """Start nothing more, and wait until the queue is on disk."""
        self._closed = True
        self._disk.finish()

    def _change(self, runs: list[QueuedRun]) -> None:
        self._runs = runs
        self._disk.add(partial(write_queue, self._runs_dir, tuple(runs)))
        self.changed.emit()

    def _read(self) -> tuple[QueuedRun, ...] | RequestError:
        try:
            return read_queue(self._runs_dir)
        except RequestError as problem:
            return problem

    def _on_read(self, found: tuple[QueuedRun, ...] | RequestError) -> None:
        if isinstance(found, RequestError):
            self.refused.emit(str(found))
        elif found:
            # What was added meanwhile comes last.
            self._change([*found, *self._runs])
