"""The queue of runs, and when the next one starts."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from studio.experiments.queue_file import QueueChange, QueuedRun, Runs, SharedQueue
from studio.tasks.background_queue import BackgroundQueue
from studio.tasks.outcome import Outcome, outcome_of
from td3core.text import Text


class RunQueue(QObject):
    """Runs in starting order. A run starts when the one before it has ended.

    After a restart the queue waits until it is started, or until a group that still trained has
    ended: nothing trains unasked. Other windows of the same folder have the same queue; the window
    that takes out a run first starts it.
    """

    changed = Signal()
    refused = Signal(object)
    wanted = Signal(object)
    """Carries the :class:`QueuedRun` to start now."""
    started_by_hand = Signal()
    """The user starts the next run, which no end of a training does."""

    def __init__(
        self, runs_dir: Path, is_busy: Callable[[], bool], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._shared, self._is_busy = SharedQueue(runs_dir.absolute()), is_busy
        self._closed = self._claiming = self._claim_again = False
        self._claimed: QueuedRun | None = None
        """Taken out of the queue, but not started yet."""
        self._looking = False
        self._told: Text | None = None
        """The present problem, which is not told again until the user asks for something."""
        self._disk = BackgroundQueue("queue", self)
        self._sync()

    @property
    def runs(self) -> Runs:
        """Waiting runs, next first."""
        return self._shared.runs

    def add(self, run: QueuedRun) -> None:
        """Add a run at the end."""
        self._change(lambda runs: (*runs, run))

    def remove(self, run_id: str) -> None:
        """Drop a run, if it still waits."""
        self._change(lambda runs: tuple(run for run in runs if run.id != run_id))

    def move(self, run_id: str, by: int) -> None:
        """Move a run towards the end, or towards the front; does nothing beyond the ends."""
        self._change(partial(_moved, run_id, by))

    def put_back(self, run: QueuedRun) -> None:
        """Return a run to the front of the queue; a ``problem`` says why it could not start."""
        self._change(lambda runs: (run, *runs))

    @Slot()
    def start_again(self) -> None:
        """Start the next run; runs that could not start before are tried again."""
        self.started_by_hand.emit()
        self._told = None
        if any(run.problem for run in self.runs):
            self._change(lambda runs: tuple(replace(run, problem="") for run in runs))
        self.start_next()

    @Slot()
    def start_next(self) -> None:
        """Start the next waiting run, whichever window added it, unless one is training."""
        # A claim under way may have found nothing just before something could start.
        self._claim_again = self._claiming
        if not (self._closed or self._claiming or self._is_busy()):
            self._claiming = True
            self._disk.add(partial(outcome_of, self._claim), self._on_claimed)

    @Slot()
    def on_ended(self) -> None:
        """Start the next run once the event that ended the previous one has been handled."""
        QTimer.singleShot(0, self, self.start_next)

    @Slot()
    def look(self) -> None:
        """Read what other windows have changed."""
        # A disk that does not answer must not gather looks.
        if not (self._closed or self._looking):
            self._looking = True
            self._disk.add(partial(outcome_of, self._shared.sync), self._on_looked)

    def close(self) -> None:
        """Start nothing more; waiting runs are kept."""
        self._closed = True

    def shutdown(self) -> None:
        """Start nothing more, and wait until the queue is on disk."""
        self._closed = True
        self._disk.finish()
        if self._claimed is not None:
            self._return_claimed()
            self._disk.finish()

    def _change(self, change: QueueChange) -> None:
        self._told = None
        self._shared.change(change)
        self._sync()
        self.changed.emit()

    def _sync(self) -> None:
        self._disk.add(partial(outcome_of, self._shared.sync), self._on_synced)

    def _on_looked(self, outcome: Outcome[None]) -> None:
        self._looking = False
        self._on_synced(outcome)

    def _on_synced(self, outcome: Outcome[None]) -> None:
        told, self._told = self._told, outcome.problem
        if self._told not in (None, told):
            self.refused.emit(self._told)
        self.changed.emit()

    def _claim(self) -> None:
        # Before it starts: a run that crashes the program must not return.
        self._claimed = self._shared.claim()

    def _on_claimed(self, outcome: Outcome[None]) -> None:
        self._claiming = False
        self._on_synced(outcome)
        run = self._claimed
        if run is None:
            if self._claim_again:
                self.start_next()
            return
        if self._closed or self._is_busy():
            # Something else was started meanwhile.
            self._return_claimed()
            return
        self._claimed = None
        self.wanted.emit(run)

    def _return_claimed(self) -> None:
        run, self._claimed = self._claimed, None
        if run is not None:
            self.put_back(run)


def _moved(run_id: str, by: int, runs: Runs) -> Runs:
    """Return the queue with a run moved, if it still waits."""
    row = next((row for row, run in enumerate(runs) if run.id == run_id), None)
    if row is None or not 0 <= row + by < len(runs):
        return runs
    others = [run for run in runs if run.id != run_id]
    others.insert(row + by, runs[row])
    return tuple(others)
