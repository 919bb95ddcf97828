"""Work that would block the window, done in a separate thread."""

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Signal, Slot

from studio.tasks.outcome import Outcome, outcome_of

log = logging.getLogger(__name__)

Report = Callable[[object], None]
"""Passes a value to the window."""
Stopped = Callable[[], bool]
"""To be called often; True means that the result is no longer wanted."""
Work = Callable[[Report, Stopped], None]

_PATIENCE_S = 5.0

T = TypeVar("T")


class Relay(QObject):
    """Carries values from a thread to the window's; outlives a task or queue deleted meanwhile."""

    reported = Signal(object, object)
    over = Signal(object, object)
    """An :class:`Outcome`, after whatever identifies its work."""


class _WorkThread(threading.Thread):
    """A daemon thread: it ends with the program, whatever it is doing."""

    def __init__(self, name: str, work: Callable[[], None], cancelled: threading.Event) -> None:
        super().__init__(name=name, target=work, daemon=True)
        self.cancelled = cancelled


class BackgroundTask(QObject):
    """Does one piece of work at a time; a new one replaces one that is still running.

    All its signals arrive in the thread the task lives in, and none from work that was cancelled.
    """

    reported = Signal(object)
    finished = Signal()
    failed = Signal(object)
    """Why there is no answer, a ``Text``."""
    busy_changed = Signal(bool)

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._current: threading.Event | None = None
        """Set once the current work is cancelled; None without any."""
        self._take: Callable[[Any], None] = self.reported.emit
        self._relay = Relay()
        self._relay.reported.connect(self._on_report)
        self._relay.over.connect(self._on_over)

    @property
    def busy(self) -> bool:
        """True until the work, and the handling of all its reports, is done."""
        return self._current is not None

    def start(self, work: Work) -> None:
        """Start work, cancelling any previous work; its reports arrive as ``reported``."""
        self._start(work, self.reported.emit)

    def read(self, function: Callable[[Stopped], T], then: Callable[[T], None]) -> None:
        """Call a function in the background, then pass its result to ``then`` in this thread.

        ``then`` is not called if the function raises; ``failed`` is emitted instead.
        """
        self._start(lambda report, stopped: report(function(stopped)), then)

    def _start(self, work: Work, take: Callable[[Any], None]) -> None:
        self._drop()
        self._take = take
        cancelled = self._current = threading.Event()
        relay = self._relay

        def run() -> None:
            report = partial(relay.reported.emit, cancelled)
            relay.over.emit(cancelled, outcome_of(lambda: work(report, cancelled.is_set)))

        _WorkThread(self._name, run, cancelled).start()
        self.busy_changed.emit(True)

    def cancel(self) -> None:
        """Drop the work without waiting for its thread; it reports nothing more."""
        if self.busy:
            self._drop()
            self.busy_changed.emit(False)

    def _drop(self) -> None:
        if self._current is not None:
            self._current.set()
            self._current = None

    @Slot(object, object)
    def _on_report(self, cancelled: threading.Event, value: object) -> None:
        if cancelled is self._current:
            self._take(value)

    @Slot(object, object)
    def _on_over(self, cancelled: threading.Event, outcome: Outcome[None]) -> None:
        if cancelled is not self._current:
            return
        self._current = None
        if outcome.problem is not None:
            self.failed.emit(outcome.problem)
        self.finished.emit()
        if not self.busy:
            self.busy_changed.emit(False)


def drained(waiting: "queue.SimpleQueue[T | None]", timeout_s: float) -> Iterator[T]:
    """Wait up to ``timeout_s`` for an item of a queue; yield all items there are, up to a None."""
    with contextlib.suppress(queue.Empty):
        found = waiting.get(timeout=timeout_s)
        while found is not None:
            yield found
            found = waiting.get_nowait()


def wait_for_cancelled(patience_s: float = _PATIENCE_S) -> None:
    """Wait for the threads of all dropped work: the window is about to close.

    Work that is blocked, for instance by an unresponsive disk, ends with the program.
    """
    end = time.monotonic() + patience_s
    for thread in threading.enumerate():
        if isinstance(thread, _WorkThread) and thread.cancelled.is_set():
            thread.join(max(end - time.monotonic(), 0.0))
            if thread.is_alive():
                log.warning("%s is held up and was left", thread.name)
