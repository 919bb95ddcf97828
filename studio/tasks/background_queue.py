"""Writes to disk in the background: tasks in sequence, none dropped."""

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Signal, Slot

from studio.tasks.background_task import Relay
from studio.tasks.outcome import Outcome, outcome_of

log = logging.getLogger(__name__)

_PATIENCE_S = 5.0

T = TypeVar("T")
_Job = tuple[Callable[[], Any], Callable[[Any], None]]


class BackgroundQueue(QObject):
    """Does its tasks in order, in one thread that ends when no tasks are left."""

    failed = Signal(object)
    """A ``Text``: the error raised by a task."""

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._jobs: deque[_Job] = deque()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._relay = Relay()
        self._relay.over.connect(self._on_over)

    def add(self, work: Callable[[], T], then: Callable[[T], None] = lambda _: None) -> None:
        """Queue a task; its result is passed to ``then`` in the window's thread.

        ``then`` is not called if the task raises; ``failed`` is emitted instead.
        """
        with self._lock:
            self._jobs.append((work, then))
            if self._thread is None:
                # Not a daemon: a write is finished even if the program ends.
                self._thread = threading.Thread(target=self._drain, name=self._name)
                self._thread.start()

    def finish(self) -> None:
        """Wait until everything is done: the window is about to close.

        The wait is limited: a disk may not respond. Remaining tasks are done before the program
        ends.
        """
        thread = self._thread
        if thread is not None:
            thread.join(_PATIENCE_S)
            if thread.is_alive():
                log.warning("%s is held up", self._name)

    def _drain(self) -> None:
        relay = self._relay
        while True:
            with self._lock:
                if not self._jobs:
                    self._thread = None
                    return
                work, then = self._jobs.popleft()
            relay.over.emit(then, outcome_of(work))

    @Slot(object, object)
    def _on_over(self, then: Callable[[Any], None], outcome: Outcome[Any]) -> None:
        if outcome.problem is None:
            then(outcome.value)
        else:
            self.failed.emit(outcome.problem)
