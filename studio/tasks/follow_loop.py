"""Follows the files of another process in the background, and makes requests to it."""

import queue
from collections.abc import Callable
from functools import partial
from typing import Generic, Protocol, TypeVar

from PySide6.QtCore import QObject, Signal, Slot

from studio.tasks.background_task import BackgroundTask, Report, Stopped, drained
from studio.tasks.outcome import outcome_of
from td3core.text import Text

AGAIN_S = 1.0
"""Seconds after which to look again if that failed."""

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Follower(Protocol[T_contra]):
    """The work of the thread."""

    def look(self) -> float | None:
        """Report what is new; return the seconds until the next look, None if nothing follows."""

    def ask(self, request: T_contra, /) -> None:
        """Make a request."""


class FollowLoop(QObject, Generic[T]):
    """Looks until nothing follows. A look that fails is repeated: a disk may fail for a moment."""

    reported = Signal(object)
    failed = Signal(object)
    """Why a look or a request failed, a ``Text``; told once while looks keep failing."""
    over = Signal()
    """Nothing is left to follow, or following could not begin."""

    def __init__(
        self, name: str, begin: Callable[[Report], Follower[T]], parent: QObject | None
    ) -> None:
        """Follow in a thread of this name; ``begin`` is called there."""
        super().__init__(parent)
        self._asks: queue.SimpleQueue[T | None] = queue.SimpleQueue()
        self._task = BackgroundTask(name, self)
        self._task.reported.connect(self._on_report)
        self._task.failed.connect(self.failed)
        self._task.finished.connect(self.over)
        self._task.finished.connect(self.deleteLater)
        self._task.start(partial(_follow, begin, self._asks))

    def ask(self, request: T) -> None:
        """Let the thread make a request."""
        self._asks.put(request)

    def close(self) -> None:
        """Stop following; the other process continues. Pending requests are still made."""
        # Nothing is reported from here on; no need to wait for the thread's next look.
        self._task.cancel()
        self._asks.put(None)
        self.deleteLater()

    @Slot(object)
    def _on_report(self, found: object) -> None:
        (self.failed if isinstance(found, Text) else self.reported).emit(found)


def _follow(
    begin: Callable[[Report], Follower[T]],
    asks: "queue.SimpleQueue[T | None]",
    report: Report,
    stopped: Stopped,
) -> None:
    follower, told = begin(report), None
    while not stopped():
        look = outcome_of(follower.look)
        if look.problem not in (None, told):
            report(look.problem)
        told = look.problem
        wait_s = look.value if told is None else AGAIN_S
        if wait_s is None:
            return
        # Requests are made at once; their answers are found by the next look.
        for ask in drained(asks, wait_s):
            asked = outcome_of(partial(follower.ask, ask))
            if asked.problem is not None:
                report(asked.problem)
