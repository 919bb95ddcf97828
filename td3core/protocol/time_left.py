"""Remaining time of a run."""

from td3core.config import RunConfig
from td3core.protocol.events import Progress

_TIMED_S = 1.0
"""Seconds of learning before an estimate: the first updates are not representative."""


class TimeLeft:
    """The time to the last step, from the speed of learning steps.

    The warm-up is far faster than learning, and says nothing about the rest.
    """

    def __init__(self, config: RunConfig) -> None:
        self._steps = config.steps
        self._learns = config.learning_starts < config.steps
        self._last: Progress | None = None
        self._learning_since_s: float | None = None

    def take(self, progress: Progress) -> None:
        """Take the next report of the run."""
        before, self._last = self._last, progress
        if self._learning_since_s is None and before and progress.updates > before.updates:
            self._learning_since_s = before.wall_s

    @property
    def seconds(self) -> float | None:
        """The estimate; None until enough learning steps have been timed."""
        now = self._last
        if now is None:
            return None
        if now.env_steps >= self._steps:
            return 0.0
        since = self._learning_since_s
        timed = since is not None and now.wall_s - since >= _TIMED_S
        if now.steps_per_s <= 0 or (self._learns and not timed):
            return None
        return (self._steps - now.env_steps) / now.steps_per_s
