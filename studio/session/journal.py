"""Actions on a run: live changes, which are drawn as markers, and everything else."""

import math
from dataclasses import dataclass
from typing import Any

from studio.formatting import format_count
from studio.session.markers import Marker
from td3core.errors import brief
from td3core.protocol.wording import JOURNAL
from td3core.runs.journal import SAME_GESTURE_S
from td3core.text import Text, tr

_LONGEST_MESSAGE = 100
"""In characters: the message is shown on one line of a plot."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """An action on a run other than a change of settings; ``time`` is UTC, ISO 8601."""

    env_steps: int
    event: str
    time: str
    message: Text | None = None
    """Further details."""

    @property
    def text(self) -> str:
        """The action in words."""
        done, step = JOURNAL.get(self.event, self.event), format_count(self.env_steps)
        if self.message is None:
            return tr("{done} at step {step}", done=done, step=step)
        message = brief(self.message, _LONGEST_MESSAGE)
        return tr("{done} at step {step}: {message}", done=done, step=step, message=message)


class RunJournal:
    """Markers and entries in order of arrival."""

    def __init__(self) -> None:
        self.markers: list[Marker] = []
        self.entries: list[JournalEntry] = []

    def add_entry(self, entry: JournalEntry) -> None:
        """Add an action other than a change."""
        self.entries.append(entry)

    def add_change(
        self,
        env_steps: int,
        name: str,
        old: Any,
        new: Any,
        *,
        time: float = math.nan,
        scheduled: bool = False,
    ) -> Marker:
        """Add a live change; the many small changes of one drag of a slider are one marker.

        Args:
            env_steps: the step after which it took effect.
            name: the setting.
            old: its value before.
            new: its value from then on.
            time: when it was made, in seconds since 1970; with NaN it is never part of a drag.
            scheduled: whether a schedule made it.

        Returns:
            The marker of the change, which may have existed before.
        """
        last = next((m for m in reversed(self.markers) if m.name == name), None)
        same_gesture = last is not None and 0 <= time - last.changed_at < SAME_GESTURE_S
        # A change back counts separately: merged, the marker would show no change.
        if last is not None and same_gesture and new != last.old:
            last.env_steps, last.new, last.changed_at = env_steps, new, time
        elif last is None or (last.env_steps, last.old, last.new) != (env_steps, old, new):
            last = Marker(env_steps=env_steps, name=name, old=old, new=new, changed_at=time)
            self.markers.append(last)
        # Otherwise it is recorded already: a resumed run repeats it.
        last.scheduled = scheduled
        return last

    def keep_to(self, env_steps: int) -> None:
        """Drop everything after a step."""
        self.markers = [each for each in self.markers if each.env_steps <= env_steps]
        self.entries = [each for each in self.entries if each.env_steps <= env_steps]
