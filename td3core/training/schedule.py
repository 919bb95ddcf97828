"""Live changes that take effect at their steps."""

from collections.abc import Iterable

from td3core.config import Tunables, to_dict
from td3core.runs.journal import Change


class Schedule:
    """Live changes that are to take effect at their steps.

    ``journaled`` says that they stand in the run's own journal already.
    """

    def __init__(self, changes: Iterable[Change] = (), *, journaled: bool = False) -> None:
        self.journaled = journaled
        self._changes = sorted(changes, key=lambda change: change.env_steps)

    def __len__(self) -> int:
        return len(self._changes)

    def due(self, env_steps: int) -> bool:
        """Say whether there is a change for this step, or for one before it."""
        return bool(self._changes) and self._changes[0].env_steps <= env_steps

    def take(self, env_steps: int, tunables: Tunables) -> Tunables:
        """Return ``tunables`` after changes that are due, and forget these.

        A setting that changed more than once is taken one change at a time: one that came back to
        its old value did so by way of others.
        """
        values, taken = to_dict(tunables), set[str]()
        while self.due(env_steps) and self._changes[0].name not in taken:
            change = self._changes.pop(0)
            values[change.name] = change.new
            taken.add(change.name)
        return Tunables(**values)

    def forget(self, names: Iterable[str]) -> bool:
        """Drop what is still to come of these settings; return whether there was any."""
        dropped = set(names)
        kept = [change for change in self._changes if change.name not in dropped]
        fewer = len(kept) < len(self._changes)
        self._changes = kept
        return fewer
