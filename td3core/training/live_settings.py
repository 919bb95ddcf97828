"""Live changes of a run: requested by the user, or scheduled.

There are two kinds of schedule. A setting may follow points over the steps of the run (see
:mod:`td3core.config.piecewise`): then the schedule is stored in place of the value, in
``run.toml``, in checkpoints and in the journal. Or the changes of another run's journal are
repeated; they are in the journal from the beginning. A request for a setting ends both.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any

from td3core.algorithm.agent import Algorithm
from td3core.config import Tunables, at_step, changes, check_together, follows, with_values
from td3core.errors import RequestError
from td3core.protocol.events import Tuned, Warned
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import Change, Entry
from td3core.text import NO_TEXT, Text
from td3core.training.collector import Exploration
from td3core.training.recorder import Recorder

_NOISE = "exploration_noise"


class Schedule:
    """Live changes at given steps. All are in the run's journal already."""

    def __init__(self, changes: Iterable[Change] = ()) -> None:
        self._changes = sorted(changes, key=lambda change: change.env_steps)

    def __len__(self) -> int:
        return len(self._changes)

    def due(self, env_steps: int) -> bool:
        """Return whether there is a change for this step or an earlier one."""
        return bool(self._changes) and self._changes[0].env_steps <= env_steps

    def take(self, env_steps: int) -> list[Change]:
        """Remove and return changes that are due.

        Each call returns at most one change per setting, so that every intermediate value of a
        setting is reported, even if the setting returns to its old value.
        """
        taken: dict[str, Change] = {}
        while self.due(env_steps) and self._changes[0].name not in taken:
            change = self._changes.pop(0)
            taken[change.name] = change
        return list(taken.values())

    def drop(self, names: Iterable[str]) -> bool:
        """Drop the remaining changes of these settings; return whether there were any."""
        dropped = set(names)
        kept = [change for change in self._changes if change.name not in dropped]
        fewer = len(kept) < len(self._changes)
        self._changes = kept
        return fewer


class LiveSettings:
    """Applies live changes between two steps, and records and reports them.

    Settings that do not fit those of the run cause a warning and are not applied.
    """

    def __init__(
        self,
        run: RunDirectory,
        agent: Algorithm,
        exploration: Exploration,
        recorder: Recorder,
        schedule: Schedule,
    ) -> None:
        self._run, self._agent, self._exploration = run, agent, exploration
        self._recorder, self._schedule = recorder, schedule
        self._changed_at, self._changed_here = 0, 0
        self.revision = 0
        """The newest request that was applied."""

    def resume_from(self, env_steps: int, changes: int) -> None:
        """Continue a run in which ``changes`` changes were made at this step."""
        self._changed_at, self._changed_here = env_steps, changes

    def made_at(self, env_steps: int) -> int:
        """Return how many changes were made at this step."""
        return self._changed_here if self._changed_at == env_steps else 0

    def take(
        self, values: Mapping[str, Any], revision: int, env_steps: int, named: Collection[str]
    ) -> None:
        """Apply the values of a request; those of ``named`` were asked for, not just left alone."""
        refused = NO_TEXT
        try:
            tunables = with_values(self._agent.tunables, values)
            check_together(self._run.config, tunables)
        except RequestError as problem:
            refused = problem.message
            self._recorder.report(Warned(env_steps=env_steps, message=refused))
            tunables, named = self._agent.tunables, ()
        # Scheduled settings may have changed since the request was made.
        tunables = at_step(tunables, env_steps, self._run.config.steps)
        restarts = _NOISE in named
        ended = {name for name, _, _ in self._changes(tunables, restarts=restarts)} | {*named}
        self.revision = revision
        # A request overrides schedules, also with the value that a setting has.
        if self._schedule.drop(ended):
            self._strike_out(env_steps, lambda e: e.get("field") in ended and e["step"] > env_steps)
        self._change(tunables, env_steps, restarts=restarts, refused=refused)

    def advance(self, step: int) -> None:
        """Update settings that follow schedules to their values for this step."""
        before = self._agent.tunables
        if not before.schedules:
            return
        tunables = at_step(before, step, self._run.config.steps)
        if tunables is not before:
            self._apply(tunables)
        if follows(tunables, _NOISE):
            # Set unconditionally: a decay may have reduced it.
            self._exploration.noise = tunables.exploration_noise

    def due(self, env_steps: int) -> bool:
        """Return whether changes are scheduled for this step."""
        return self._schedule.due(env_steps)

    def follow(self, env_steps: int) -> None:
        """Apply the changes that are due."""
        while self._schedule.due(env_steps):
            tunables, made = self._agent.tunables, list[str]()
            for change in self._schedule.take(env_steps):
                wanted = with_values(tunables, {change.name: change.new})
                wanted = at_step(wanted, env_steps, self._run.config.steps)
                try:
                    check_together(self._run.config, wanted)
                except RequestError as problem:
                    # The journal may be from a run with other settings.
                    self._recorder.report(Warned(env_steps=env_steps, message=problem.message))
                    self._strike_out(env_steps, partial(_is_entry_of, change))
                else:
                    tunables = wanted
                    made.append(change.name)
            if made:
                self._change(tunables, env_steps, scheduled=len(made), restarts=_NOISE in made)

    def _strike_out(self, env_steps: int, struck: Callable[[Entry], bool]) -> None:
        self._recorder.write(Text("the journal"), env_steps, partial(self._run.strike_out, struck))

    def _change(
        self,
        tunables: Tunables,
        env_steps: int,
        *,
        restarts: bool,
        scheduled: int = 0,
        refused: Text = NO_TEXT,
    ) -> None:
        """Change the settings; ``scheduled`` changes are already in the journal."""
        changed = tuple(self._changes(tunables, restarts=restarts))
        self._apply(tunables)
        if restarts:
            self._exploration.noise = tunables.exploration_noise
        self._changed_here = self.made_at(env_steps) + (scheduled or len(changed))
        self._changed_at = env_steps
        tuned = Tuned(
            env_steps=env_steps,
            updates=self._agent.updates,
            revision=self.revision,
            tunables=tunables,
            changes=changed,
            scheduled=scheduled > 0,
            refused=refused,
        )
        self._recorder.add_changes(tuned)

    def _changes(self, tunables: Tunables, *, restarts: bool) -> list[tuple[str, Any, Any]]:
        """Return name, old and new value of what changes.

        ``restarts``: the decay of the noise starts again, also from the value it began with; then
        the old value is the noise in force.
        """
        found = list(changes(self._agent.tunables, tunables))
        noise = self._exploration.noise
        known = _NOISE in (name for name, _, _ in found)
        if restarts and not known and noise != tunables.exploration_noise:
            found.append((_NOISE, noise, tunables.exploration_noise))
        return found

    def _apply(self, tunables: Tunables) -> None:
        noise = self._agent.tunables.exploration_noise
        self._agent.apply(tunables)
        # If unchanged, keep the current noise: it may have decayed.
        if tunables.exploration_noise != noise:
            self._exploration.noise = tunables.exploration_noise


def _is_entry_of(change: Change, entry: Entry) -> bool:
    return (entry["step"], entry.get("field")) == (change.env_steps, change.name) and (
        entry["new"] == change.new
    )
