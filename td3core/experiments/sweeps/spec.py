"""Specification of a sweep: its runs, its search space, and its objective."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from td3core.config import RunConfig, Tunables, given
from td3core.config.algorithms import fixed_by
from td3core.config.env_choice import EnvChoice
from td3core.config.presets import compose
from td3core.config.settings import LR_FINAL
from td3core.config.spec import setting_fields

OBJECTIVES = ("last_eval", "best_eval", "area")
SAMPLERS = ("tpe", "random", "grid", "cmaes")
PRUNERS = ("none", "median", "asha")

SET_BY_SWEEP = {
    "env": "environment",
    "preset": "preset",
    "seed": "seeds",
    "steps": "steps",
}
"""Settings that are fields of the file itself, with the names of those fields."""

LARGEST_GRID = 100_000
_OWN_PROCESS = {"threads": 1, "background_evaluation": False}
"""Defaults of runs that share the machine with others; the results are the same either way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Numbers from ``low`` to ``high``, both included."""

    low: float
    high: float
    whole: bool = False
    log: bool = False
    step: float | None = None
    points: int | None = None
    """Number of values on a grid, evenly spaced on the range's scale."""

    def grid(self) -> tuple[float, ...]:
        """Return the values of a grid; empty if neither step nor points is given."""
        if self.points is not None:
            return self._spread(self.points)
        step = self.step or (1 if self.whole else 0)
        if not step:
            return ()
        # With a tolerance: 0.3 / 0.1 is 2.9999999999999996.
        count = math.floor((self.high - self.low) / step + 1e-9) + 1
        if count > LARGEST_GRID:
            # Only the grid sampler needs them, and so many are refused; there may be billions.
            return (self.low,) * (LARGEST_GRID + 1)
        return self._numbers([self.low + index * step for index in range(count)])

    def _spread(self, points: int) -> tuple[float, ...]:
        parts = [index / (points - 1) for index in range(1, points - 1)] if points > 1 else []
        if self.log:
            ratio = self.high / self.low
            inner = [self.low * ratio**part for part in parts]
        else:
            inner = [self.low + (self.high - self.low) * part for part in parts]
        # The ends exactly: a power may be off by a rounding error and out of range.
        ends = [self.high] if points > 1 else []
        return self._numbers([self.low, *inner, *ends])

    def _numbers(self, values: list[float]) -> tuple[float, ...]:
        if self.whole:
            return tuple(dict.fromkeys(round(value) for value in values))
        return tuple(dict.fromkeys(float(value) for value in values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """A few values to choose from: numbers, texts, booleans or tuples of layer widths."""

    values: tuple[Any, ...]

    def grid(self) -> tuple[Any, ...]:
        """Return the values of a grid: all of them."""
        return self.values


Dimension = Range | Choices


@dataclass(frozen=True, kw_only=True)
class SweepSpec:
    """A sweep as its file describes it; made by :func:`td3core.experiments.sweeps.file.parse`."""

    name: str
    environment: str
    presets: tuple[str, ...]
    settings: Mapping[str, Any]
    space: Mapping[str, Dimension]
    objective: str
    trials: int
    seeds: tuple[int, ...]
    """Seeds of the runs that every trial trains."""
    steps: int
    """Environment steps of each run."""
    sampler: str
    sampler_seed: int
    pruning: str
    jobs: int
    """Runs at once; 0 for as many as the free cores and memory allow."""
    time_limit_min: float
    """Minutes that the whole sweep may take; 0 for no limit."""

    def run_settings(self, chosen: Mapping[str, Any], seed: int) -> tuple[RunConfig, Tunables]:
        """Return the settings of a run with these values of the search space.

        Raises:
            RequestError: a value is refused.
        """
        values = self.without_fixed({**_OWN_PROCESS, **self.settings, **chosen})
        values |= {"steps": self.steps, "seed": seed}
        return compose(self.environment, self.presets, values)

    def without_fixed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of a trial without those that its algorithm fixes.

        Only if the sweep searches the algorithm: others may use them.
        """
        fixed = fixed_by(values) if "algorithm" in self.space else {}
        return {name: value for name, value in values.items() if name not in fixed}

    def env_choices(self) -> tuple[EnvChoice, ...]:
        """Return every environment that its runs may make: one per value of ``env_args``."""
        return tuple(EnvChoice(self.environment, args) for args in self.values_of("env_args"))

    def values_of(self, name: str) -> tuple[Any, ...]:
        """Return the values that a setting can have in this sweep; for a range only its ends."""
        found = self.space.get(name)
        if isinstance(found, Range):
            return (found.low, found.high)
        if found is not None:
            return found.values
        first = {key: _any_value(each) for key, each in self.space.items()}
        config, tunables = self.run_settings(first, 0)
        owner = config if hasattr(config, name) else tunables
        return (given(owner, name),)


def with_module(spec: SweepSpec, module: str) -> SweepSpec:
    """Return a sweep whose environment is registered by a module; empty for none."""
    env_id = spec.environment.rpartition(":")[2]
    return replace(spec, environment=f"{module}:{env_id}" if module else env_id)


def _any_value(dimension: Dimension) -> Any:
    return dimension.low if isinstance(dimension, Range) else dimension.values[0]


def setting_types() -> dict[str, Any]:
    """Return the type of every setting that a sweep may search or set."""
    found = {item.name: item.type for cls in (RunConfig, Tunables) for item in setting_fields(cls)}
    found[LR_FINAL] = float
    return {name: kind for name, kind in found.items() if name not in SET_BY_SWEEP}
