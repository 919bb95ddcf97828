"""One step of an episode, and the result of the episode so far."""

from typing import NamedTuple

from td3core.text import NO_TEXT, Text


class RolloutStep(NamedTuple):
    """One step of an episode; the last one holds the episode's result."""

    number: int
    """From 1; 0 before the first step."""
    reward: float
    total: float
    """Return of the episode so far."""
    terminated: bool
    truncated: bool

    @property
    def over(self) -> bool:
        """True at the last step of the episode."""
        return self.terminated or self.truncated

    @property
    def ending(self) -> Text:
        """How the episode ended; empty before."""
        if not self.over:
            return NO_TEXT
        return Text("ended") if self.terminated else Text("time limit")


BEGINNING = RolloutStep(0, 0.0, 0.0, terminated=False, truncated=False)
"""Before the first step."""
