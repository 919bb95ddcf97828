"""A running trial: its runs, and the objective from their evaluations so far."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from td3core.experiments.groups.seed_status import SeedState
from td3core.experiments.sweeps.objective import value_of
from td3core.runs.directory import RunDirectory
from td3core.runs.lock import Holder
from td3core.runs.tables import read_numbers
from td3core.text import NO_TEXT, Text


@dataclass(slots=True)
class TrialRun:
    """One run of a trial."""

    seed: int
    last_step: int = 0
    """The step it ends at in the sweep; later evaluations do not count, if its user has given it
    more steps."""
    learning_starts: int = 0
    path: Path | None = None
    """None until its folder is made."""
    state: SeedState = SeedState.WAITING
    """Waiting, training or finished."""
    held_by: Holder | None = None
    """Another process that held it when its worker was started, until the worker has it."""
    losses: int = 0
    """Number of times its worker was lost."""
    evaluations: list[tuple[int, float]] = field(default_factory=list)
    warm_up: tuple[int, float] | None = None
    """The last step before learning began, and the mean return of the training episodes until then,
    or else of the first one; None if none had ended at the first evaluation."""
    _read: int = -1

    def read(self) -> bool:
        """Read the evaluations on disk; return whether there may be new ones."""
        if self.path is None:
            return False
        try:
            size = (self.path / "evaluations.csv").stat().st_size
        except OSError:
            return False
        if size == self._read:
            return False
        found = RunDirectory.open(self.path).evaluations()
        first = not self.evaluations
        self.evaluations = [each for each in found if each[0] <= self.last_step]
        self._read = size
        # Rows of episodes are written before those of the evaluations that follow.
        if first and self.evaluations:
            self.warm_up = _warm_up(self.path, self.learning_starts, self.evaluations[0][0])
        return True

    @property
    def env_steps(self) -> int:
        """The step of the last evaluation."""
        return self.evaluations[-1][0] if self.evaluations else 0

    def value(self, objective: str, until: int | None = None) -> float:
        """Return the objective of its evaluations, of which there must be one, up to a step."""
        found = [each for each in self.evaluations if until is None or each[0] <= until]
        return value_of(objective, found, self.warm_up)


@dataclass(slots=True)
class LiveTrial:
    """One running trial."""

    number: int
    settings: Mapping[str, Any]
    runs: list[TrialRun]
    began: float
    pruned_at: int | None = None
    failure: Text = NO_TEXT
    reported: int = 0
    """The last step whose objective was reported."""

    @property
    def closing(self) -> bool:
        """True once it is decided that the trial will not be completed."""
        return self.pruned_at is not None or bool(self.failure)

    @property
    def active(self) -> list[TrialRun]:
        """The runs that train now."""
        return [run for run in self.runs if run.state is SeedState.TRAINING]

    @property
    def waiting(self) -> list[TrialRun]:
        """The runs that wait for a slot."""
        return [] if self.closing else [run for run in self.runs if run.state is SeedState.WAITING]

    @property
    def env_steps(self) -> int:
        """The steps until the last evaluation, over all its runs."""
        return sum(run.env_steps for run in self.runs)

    @property
    def finished(self) -> bool:
        """True if every run has taken its last step."""
        return all(run.state is SeedState.FINISHED for run in self.runs)

    @property
    def evaluated(self) -> bool:
        """True if every run has its last evaluation."""
        return all(run.env_steps >= run.last_step for run in self.runs)

    def new_values(self, objective: str) -> list[tuple[int, float]]:
        """Return (step, objective so far) of the steps that may be reported now.

        The objective is the mean over the runs that have begun, all of them evaluated at that step.
        """
        # Also those that wait for a slot again, after a sweep was continued with fewer of them.
        begun = [run for run in self.runs if run.path is not None]
        if not begun or not all(run.evaluations for run in begun):
            return []
        common = set.intersection(*({step for step, _ in run.evaluations} for run in begun))
        steps = sorted(step for step in common if step > self.reported)
        return [(step, _mean([run.value(objective, step) for run in begun])) for step in steps]

    def value(self, objective: str) -> float | None:
        """Return the objective of the finished trial; None if it is missing or not finite."""
        if not all(run.evaluations for run in self.runs):
            return None
        mean = _mean([run.value(objective) for run in self.runs])
        return mean if math.isfinite(mean) else None


def _warm_up(run: Path, learning_starts: int, evaluated: int) -> tuple[int, float] | None:
    """Return the end of the warm-up and the mean return of its episodes, if there are any.

    ``evaluated`` is the step of the first evaluation.
    """
    steps, returns = read_numbers(run / "episodes.csv", ("env_steps", "return")).T
    found = returns[steps <= learning_starts].tolist()
    # An episode may last longer than the warm-up.
    found = found or returns[steps <= evaluated][:1].tolist()
    mean = _mean(found) if found else math.nan
    return (learning_starts, mean) if math.isfinite(mean) else None


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if all(map(math.isfinite, values)) else math.nan
