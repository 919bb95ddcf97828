"""The clock that paces an episode."""

import math
import time
from collections.abc import Callable

from td3core.envs.rendering import DEFAULT_FPS

HOLD_S = 1.0
"""Seconds for which the last step of an episode stays on screen."""
_EARLY = 0.1
"""Share of the interval between pictures by which a picture may be early, so that jitter does not
halve 60 Hz."""
_MAX_GAP_S = 0.1
_UNPACED_GAP_S = 1 / 30
_MAX_DEBT_S = 0.5


class Clock:
    """Decides when the next step is due and whether to draw it.

    Steps are taken in real time. If drawing is too slow, pictures are skipped.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._due = self._picture_due = self._drawing_ended = now()
        self.fps = float(DEFAULT_FPS)
        self.pictures_per_s = 60.0
        """Maximum number of pictures per second."""
        self.speed = 1.0
        """Infinity takes steps without waiting."""

    def restart(self, wait_s: float = 0.0) -> None:
        """Make the next step due now, or in ``wait_s`` seconds."""
        self._due = self._now() + wait_s

    def tick(self, steps: int = 1) -> None:
        """Note one step or several; the next is due this many intervals after the last due time."""
        self._due += steps / (self.fps * self.speed)
        if self._now() - self._due > _MAX_DEBT_S:
            # The environment is too slow for this speed; do not try to catch up.
            self._due = self._now()

    def wait_s(self) -> float:
        """Return the time left before the next step."""
        return max(0.0, self._due - self._now())

    def may_draw(self) -> bool:
        """Return whether there is time for a picture before the next step."""
        now = self._now()
        if now < self._picture_due - _EARLY / self.pictures_per_s:
            return False
        gap = _UNPACED_GAP_S if math.isinf(self.speed) else _MAX_GAP_S
        return now < self._due or now - self._drawing_ended > gap

    def note_drawn(self, began: float) -> None:
        """Note that a picture was drawn, started at ``began``."""
        between = 1.0 / self.pictures_per_s
        # Counted from its due time, so that 30 of 50 steps per second are drawn, not 25.
        self._picture_due = max(self._picture_due, began - between) + between
        self._drawing_ended = self._now()

    def now(self) -> float:
        """Return the clock's time in seconds."""
        return self._now()
