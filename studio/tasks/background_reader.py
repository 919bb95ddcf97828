"""Reads one thing in the background and returns it by a callback."""

from collections.abc import Callable
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Signal, Slot

from studio.tasks.background_task import BackgroundTask, Report, Stopped
from td3core.errors import RequestError

T = TypeVar("T")


class BackgroundReader(QObject):
    """Answers the newest question only: a new one replaces one that is still being read."""

    refused = Signal(object)
    """Why there is no answer, a ``Text``."""
    busy_changed = Signal(bool)

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._then: Callable[[Any], None] = lambda _: None
        self._task = BackgroundTask(name, self)
        self._task.reported.connect(self._on_read)
        self._task.failed.connect(self.refused)
        self._task.finished.connect(self._on_finished)

    @property
    def busy(self) -> bool:
        """True until the answer is there and was handed on."""
        return self._task.busy

    def read(self, function: Callable[[Stopped], T], then: Callable[[T], None]) -> None:
        """Call a function in the background, then hand its result to ``then`` in this thread.

        A ``RequestError`` of the function is announced by ``refused``, and ``then`` not called.
        """

        def work(report: Report, stopped: Stopped) -> None:
            try:
                report(function(stopped))
            except RequestError as problem:
                report(problem)

        self._then = then
        self._task.start(work)
        self.busy_changed.emit(True)

    def cancel(self) -> None:
        """Drop the question without waiting for the thread that reads."""
        self._task.cancel()
        self.busy_changed.emit(False)

    def stop(self) -> None:
        """Drop the question: the window is about to close."""
        self._task.cancel()

    @Slot(object)
    def _on_read(self, found: object) -> None:
        if isinstance(found, RequestError):
            self.refused.emit(found.message)
        else:
            self._then(found)

    @Slot()
    def _on_finished(self) -> None:
        self.busy_changed.emit(False)
