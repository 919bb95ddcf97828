"""The user's changes of live settings, so that they can be undone."""

import time
from dataclasses import dataclass

from studio.live.controls import LiveValue
from studio.session.journal import SAME_GESTURE_S
from td3core.config import Tunables, changes


@dataclass(slots=True)
class Edit:
    """One change of one setting."""

    name: str
    before: LiveValue
    after: LiveValue
    at: float
    """When it was last extended, in seconds of the monotonic clock."""


class EditHistory:
    """Changes that can be undone, the latest last. A drag of a slider is one change."""

    def __init__(self) -> None:
        self._edits: list[Edit] = []

    @property
    def last(self) -> Edit | None:
        """The latest change."""
        return self._edits[-1] if self._edits else None

    def add(self, before: Tunables, after: Tunables) -> None:
        """Add the differences between two sets of values."""
        now = time.monotonic()
        for name, old, new in changes(before, after):
            last = self.last
            if last is None or last.name != name or now - last.at >= SAME_GESTURE_S:
                self._edits.append(Edit(name, old, new, now))
            elif new == last.before:
                # Dragged there and back: nothing is left to undo.
                self._edits.pop()
            else:
                last.after, last.at = new, now

    def pop(self) -> Edit:
        """Remove the latest change and return it.

        Raises:
            IndexError: there is none.
        """
        return self._edits.pop()

    def clear(self) -> None:
        """Forget all changes."""
        self._edits.clear()
