"""Requests of sliders."""

from typing import Any

from td3core.protocol.events import Tuned


class Requests:
    """Takes requests as a run does."""

    def __init__(self) -> None:
        self.made: list[Any] = []
        self.before: Any = None
        """What the latest request is to differ from."""

    def __call__(self, tunables: Any, before: Any) -> int:
        self.made.append(tunables)
        self.before = before
        return len(self.made)

    def acknowledged(self, tunables: Any = None, step: int = 10) -> Tuned:
        """Return the acknowledgement of the latest request, or of other values."""
        return Tuned(
            env_steps=step,
            updates=5,
            revision=len(self.made),
            tunables=tunables or self.made[-1],
            changes=(),
        )
