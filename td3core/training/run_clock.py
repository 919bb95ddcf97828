"""Wall time and speed of a run."""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class RunClock:
    """Wall time of a run, and its speed in steps per second of the time spent stepping."""

    _WINDOW_S = 3.0

    def __init__(self, env_steps: int) -> None:
        self._began = time.perf_counter()
        self._idle_s = 0.0
        self._stopped_at: float | None = None
        self._recent: deque[tuple[float, int]] = deque([(0.0, env_steps)])
        self._first = env_steps
        self._learning: tuple[float, int] | None = None
        self._has_updated = False

    @property
    def wall_s(self) -> float:
        """Seconds since this process started or resumed the run, pauses included."""
        return time.perf_counter() - self._began

    @property
    def _active_s(self) -> float:
        now = time.perf_counter() if self._stopped_at is None else self._stopped_at
        return now - self._began - self._idle_s

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Exclude the time in this context from the speed: a pause, an evaluation, a save."""
        if self._stopped_at is not None:
            yield
            return
        self._stopped_at = began = time.perf_counter()
        try:
            yield
        finally:
            self._idle_s += time.perf_counter() - began
            self._stopped_at = None

    def begin_at(self, env_steps: int) -> None:
        """Count from here: another process took the earlier steps."""
        self._first = env_steps
        self._recent = deque([(self._active_s, env_steps)])

    def mark_learning(self, env_steps: int) -> None:
        """Start the average speed here: the warm-up is over."""
        if self._learning is None:
            self._learning = (self._active_s, env_steps)
            self._recent = deque([self._learning])

    def mark_update(self, env_steps: int) -> None:
        """Exclude the first update from the recent speed: it includes one-time preparations."""
        if not self._has_updated:
            self._has_updated = True
            self._recent = deque([(self._active_s, env_steps)])

    def recent(self, env_steps: int) -> float:
        """Steps per second over the last few seconds of stepping."""
        now = self._active_s
        self._recent.append((now, env_steps))
        while len(self._recent) > 2 and now - self._recent[1][0] > self._WINDOW_S:
            self._recent.popleft()
        then, steps = self._recent[0]
        if env_steps == steps:
            return self.average(env_steps)
        return (env_steps - steps) / (now - then) if now > then else 0.0

    def average(self, env_steps: int) -> float:
        """Steps per second since the warm-up ended (before that, since the start)."""
        then, steps = self._learning or (0.0, self._first)
        return (env_steps - steps) / max(self._active_s - then, 1e-9)
