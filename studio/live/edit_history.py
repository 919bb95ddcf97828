"""The user's changes of live settings, for undo."""

import time
from dataclasses import dataclass

from studio.live.controls import LiveValue
from td3core.config import Tunables, changes
from td3core.config.piecewise import is_text
from td3core.runs.journal import SAME_GESTURE_S


@dataclass(slots=True)
class Edit:
    """One change of one setting."""

    name: str
    before: LiveValue
    after: LiveValue
    at: float
    """Monotonic time of its last update, in seconds."""


class EditHistory:
    """Changes that can be undone, latest last. Dragging a slider is one change."""

    def __init__(self) -> None:
        self._edits: list[Edit] = []
        self._undone: list[Edit] = []

    @property
    def last(self) -> Edit | None:
        """The latest change."""
        return self._edits[-1] if self._edits else None

    @property
    def next(self) -> Edit | None:
        """The most recently undone change."""
        return self._undone[-1] if self._undone else None

    def add(self, before: Tunables, after: Tunables) -> None:
        """Add the differences between two sets of values."""
        now = time.monotonic()
        self._undone.clear()
        for name, old, new in changes(before, after):
            last = self.last
            # A new schedule is not part of a drag.
            drag = last is not None and last.name == name and not is_text(last.after)
            if last is None or not drag or now - last.at >= SAME_GESTURE_S:
                self._edits.append(Edit(name, old, new, now))
            elif new == last.before:
                # Dragged there and back: nothing remains to undo.
                self._edits.pop()
            else:
                last.after, last.at = new, now

    def pop(self) -> Edit:
        """Move the latest change to the undone ones, and return it.

        Raises:
            IndexError: there is no change to undo.
        """
        self._undone.append(self._edits.pop())
        return self._undone[-1]

    def redo(self) -> Edit:
        """Move the most recently undone change back, and return it.

        Raises:
            IndexError: there is no undone change.
        """
        self._edits.append(self._undone.pop())
        return self._edits[-1]

    def clear(self) -> None:
        """Forget all changes."""
        self._edits.clear()
        self._undone.clear()
