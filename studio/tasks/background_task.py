"""Work that takes too long for the window, done in a thread beside it."""

import logging
import threading
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, Slot

log = logging.getLogger(__name__)

Work = Callable[[Callable[[object], None], Callable[[], bool]], None]
"""Called with ``say``, which hands something to the window, and ``stopped``, to be asked often."""


class BackgroundTask(QObject):
    """Does one piece of work at a time; a new one takes the place of one that is still going on.

    All its signals arrive in the thread the task lives in, and none from work that was stopped.
    """

    said = Signal(object)
    ended = Signal()
    failed = Signal(str)

    _told = Signal(object, object)
    _over = Signal(object, str)

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._told.connect(self._pass_on)
        self._over.connect(self._finish)

    @property
    def busy(self) -> bool:
        """True until the work, and all it had to say, is done."""
        return self._thread is not None

    def start(self, work: Work) -> None:
        """Begin, and stop what was going on."""
        self.stop()
        stop = self._stop = threading.Event()

        def run() -> None:
            outcome = ""
            try:
                work(lambda value: self._told.emit(stop, value), stop.is_set)
            except Exception as problem:
                log.exception("%s failed", self._name)
                outcome = f"{type(problem).__name__}: {problem}"
            self._over.emit(stop, outcome)

        self._thread = threading.Thread(target=run, name=self._name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the work and wait for its thread; nothing more is said of it."""
        self._stop.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()

    @Slot(object, object)
    def _pass_on(self, stop: threading.Event, value: object) -> None:
        if stop is self._stop and not stop.is_set():
            self.said.emit(value)

    @Slot(object, str)
    def _finish(self, stop: threading.Event, problem: str) -> None:
        if stop is not self._stop or stop.is_set():
            return
        self.stop()
        if problem:
            self.failed.emit(problem)
        self.ended.emit()
