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
        self._idle_s, self._is_stopped = 0.0, False
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
        return self.wall_s - self._idle_s

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Exclude the time in this context from the speed: a pause, an evaluation, a save."""
        began, outermost = time.perf_counter(), not self._is_stopped
        self._is_stopped = True
        try:
            yield
        finally:
            if outermost:
                self._idle_s += time.perf_counter() - began
                self._is_stopped = False

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
