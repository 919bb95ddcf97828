"""Notices when the renderer stops answering, and when it answers again."""

import time

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from studio.replay.renderer.heartbeat import LifeSigns
from td3core.text import NO_TEXT, Text

CHECK_MS = 200
STEP_S = 1.5
"""Seconds after which a step or a picture counts as unanswered."""
IDLE_S = 1.5
"""Seconds without progress in loading an agent; it may be importing a simulator."""
BEAT_S = 1.5
"""Seconds after which a process without a beat counts as stopped."""
_STOPPED = Text("The renderer is not answering: its process does not run.")
_SLOW = Text("The environment is not answering.")
_LOADING = Text("The environment is not answering: the agent does not finish loading.")
_FINE = NO_TEXT


class Watchdog(QObject):
    """Checks the signs of life of a renderer from time to time; never waits for it."""

    silent = Signal(object)
    """The renderer does not answer, perhaps temporarily; carries a sentence."""
    answering = Signal()
    """The renderer answers again."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._signs: LifeSigns | None = None
        self._problem = _FINE
        self._last_check = 0.0
        self._timer = QTimer(self)
        self._timer.setInterval(CHECK_MS)
        self._timer.timeout.connect(self._check)

    @property
    def problem(self) -> Text:
        """Why the renderer counts as silent; empty while it answers."""
        return self._problem

    def watch(self, signs: LifeSigns | None) -> None:
        """Watch another renderer, or none."""
        self._signs, self._problem = signs, _FINE
        self._last_check = time.monotonic()
        if signs is None:
            self._timer.stop()
        else:
            self._timer.start()

    @Slot()
    def _check(self) -> None:
        if self._signs is None:
            return
        now = time.monotonic()
        late, self._last_check = now - self._last_check > BEAT_S, now
        if late:
            # The window itself was suspended, as by a sleeping computer, and so was the renderer.
            return
        problem = problem_of(self._signs, now)
        if problem == self._problem:
            return
        self._problem = problem
        if problem:
            self.silent.emit(problem)
        else:
            self.answering.emit()


def problem_of(signs: LifeSigns, now: float) -> Text:
    """Return the problem shown by a renderer's signs of life; empty if there is none."""
    beat, since = signs.beat.value, signs.waiting_since.value
    if now - beat > BEAT_S:
        return _STOPPED
    if not since:
        return _FINE
    if signs.loading.value:
        return _LOADING if signs.idle_s.value > IDLE_S else _FINE
    return _SLOW if now - since > STEP_S else _FINE
