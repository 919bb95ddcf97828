"""A running trial: its runs, and the objective from their evaluations so far."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from td3core.experiments.groups.seed_status import SeedState
from td3core.experiments.sweeps.objective import value_of, value_until
from td3core.runs.directory import RunDirectory
from td3core.text import NO_TEXT, Text


@dataclass(slots=True)
class TrialRun:
    """One run of a trial."""

    seed: int
    last_step: int = 0
    """The step it ends at in the sweep; later evaluations do not count, if its user has given it
    more steps."""
    path: Path | None = None
    """None until its folder is made."""
    state: SeedState = SeedState.WAITING
    """Waiting, training or finished."""
    losses: int = 0
    """Number of times its worker was lost."""
    evaluations: list[tuple[int, float]] = field(default_factory=list)
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
        self.evaluations = [each for each in found if each[0] <= self.last_step]
        self._read = size
        return True

    @property
    def env_steps(self) -> int:
        """The step of the last evaluation."""
        return self.evaluations[-1][0] if self.evaluations else 0


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
        return [
            (step, _mean([value_until(objective, run.evaluations, step) for run in begun]))
            for step in steps
        ]

    def value(self, objective: str) -> float | None:
        """Return the objective of the finished trial; None if it is missing or not finite."""
        if not all(run.evaluations for run in self.runs):
            return None
        mean = _mean([value_of(objective, run.evaluations) for run in self.runs])
        return mean if math.isfinite(mean) else None


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if all(map(math.isfinite, values)) else math.nan
