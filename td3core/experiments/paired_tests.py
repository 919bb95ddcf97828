"""Paired test of a change: pairs of branches from one checkpoint, with and without it.

Both runs of a pair share a seed, and every pair but the first has a new one, so that the effect of
the change can be distinguished from chance.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from td3core.analysis.paired import PairedDifference, paired_difference
from td3core.analysis.results import RunResults, last_values, read_results
from td3core.checkpoint import Header
from td3core.config import RunConfig, Tunables
from td3core.config.run_config import HIGHEST_SEED
from td3core.errors import RequestError
from td3core.runs.branching import branch_settings
from td3core.runs.directory import RunDirectory
from td3core.text import SettingName

MOST_PAIRS = 10
_EVALUATIONS = 4
"""Evaluations of each run, on the way and at the end."""
_LEAST_EPISODES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTestArm:
    """The settings of one run of each pair, except the seed."""

    config: RunConfig
    tunables: Tunables


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """A change to try, with its steps and seeds."""

    checkpoint: Path
    values: Mapping[str, Any]
    """The changed settings."""
    steps: int
    """Steps of each run, from the checkpoint on."""
    seeds: tuple[int, ...]
    """One seed for each pair."""
    with_change: PairedTestArm
    without: PairedTestArm

    @property
    def begins_at(self) -> int:
        """The step of the checkpoint."""
        return self.with_change.config.steps - self.steps

    @property
    def total_steps(self) -> int:
        """Total steps of all runs."""
        return 2 * len(self.seeds) * self.steps


def duration_s(steps: int, pairs: int, steps_per_s: float, jobs: int) -> float:
    """Return the approximate duration at the speed of one run, with ``jobs`` runs at once.

    All runs with the change train before those without it. Less than one job counts as one.
    """
    rounds = math.ceil(pairs / max(jobs, 1))
    return 2 * rounds * steps / steps_per_s


def plan_paired_test(
    checkpoint: Path, header: Header, values: Mapping[str, Any], *, steps: int, pairs: int
) -> PairedTest:
    """Return the paired test of a change of settings in branches of a checkpoint.

    The first pair continues the checkpoint's own run, the others use new seeds. Scheduled settings
    are held at their current values: the branches are shorter.

    Raises:
        RequestError: a setting cannot change in a branch or is out of range, or there are too
            many pairs or too few steps.
    """
    if not 1 <= pairs <= MOST_PAIRS:
        raise RequestError(
            "pairs cannot be {pairs}; use 1 to {most}.", pairs=pairs, most=MOST_PAIRS
        )
    if steps < 1:
        raise RequestError(
            "{key} cannot be {steps}; a paired test takes at least one.",
            key=SettingName("steps"),
            steps=steps,
        )
    config, reached = header.config, header.counters.env_steps
    shared: dict[str, Any] = {
        "steps": reached + steps,
        "eval_interval": max(steps // _EVALUATIONS, 1),
        "eval_episodes": max(config.eval_episodes, _LEAST_EPISODES),
        # Several train at once, perhaps next to the run itself.
        "threads": 1,
    }
    with_change, without = (
        PairedTestArm(config=found[0], tunables=found[1])
        for found in (
            branch_settings(checkpoint, header, shared | _held(header, dict(each)))
            for each in (values, {})
        )
    )
    seeds = tuple((config.seed + i) % (HIGHEST_SEED + 1) for i in range(pairs))
    return PairedTest(
        checkpoint=checkpoint,
        values=dict(values),
        steps=steps,
        seeds=seeds,
        with_change=with_change,
        without=without,
    )


def _held(header: Header, values: dict[str, Any]) -> dict[str, Any]:
    """Return settings of a branch in which scheduled settings keep their current values."""
    live = header.tunables
    return {name: getattr(live, name) for name, _ in live.schedules} | values


def judge(with_change: Mapping[int, Path], without: Mapping[int, Path]) -> PairedDifference:
    """Return how much better the runs with a change ended, by pairs of the same seed.

    Raises:
        RequestError: a run cannot be read or has no evaluation, or no seed is in both.
    """
    seeds = sorted(with_change.keys() & without.keys())
    if not seeds:
        raise RequestError("There are no pairs of runs to compare.")
    paths = [runs[seed] for runs in (with_change, without) for seed in seeds]
    begun = {RunDirectory.open(path).parent for path in paths}
    if len(begun) > 1:
        # Names alone are not compared: an overwritten checkpoint keeps its name.
        raise RequestError("The runs of this paired test do not branch off the same agent.")
    finals = [
        _finals(*(read_results(runs[seed]) for runs in (with_change, without))) for seed in seeds
    ]
    return paired_difference(*zip(*finals, strict=True))


def _finals(*pair: RunResults) -> list[float]:
    """Return the mean of each run of a pair over the last evaluations that both have.

    A run stopped at its very end has finished, but lacks evaluations.
    """
    for run in pair:
        if not len(run.evaluations):
            raise RequestError("{run} was not evaluated.", run=run.title)
    steps = set.intersection(*(set(run.evaluations[:, 0].tolist()) for run in pair))
    if not steps:
        raise RequestError("{run} was not evaluated.", run=pair[0].title)
    last = sorted(steps)[-last_values(len(steps), "eval") :]
    return [float(run.evaluations[np.isin(run.evaluations[:, 0], last), 1].mean()) for run in pair]
