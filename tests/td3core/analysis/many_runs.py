"""Fabricated runs on disk, for comparisons."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from td3core.config import make_settings
from td3core.protocol.rows import EPISODE_COLUMNS
from td3core.runs.directory import RunDirectory
from tests.support.tables import PLAIN_EVALUATION

PENDULUM, CAR = "Pendulum-v1", "MountainCarContinuous-v0"


def write_run(
    runs_dir: Path,
    evaluations: Sequence[float] = (),
    episodes: Sequence[float] = (),
    *,
    env: str = PENDULUM,
    every: int = 100,
    group: str = "",
    bias: Sequence[tuple[float, float]] = (),
    late: float = 0.0,
    **values: Any,
) -> Path:
    """Write a run with an evaluation every this many steps, ten of which take a second.

    ``episodes`` are returns, one every ten steps. ``bias`` are mean and deviation, if measured, of
    the evaluations. ``late`` is how many seconds after its step the result of an evaluation comes.
    """
    settings = {"env": env, "preset": env, "steps": 1000, **values}
    run = RunDirectory.create(runs_dir, *make_settings(settings), group=group)
    measured = ("bias", "bias_std") if bias else ()
    table = run.table("evaluations", (*PLAIN_EVALUATION, *measured))
    for number, value in enumerate(evaluations, 1):
        step = number * every
        found = bias[number - 1] if bias else ()
        time = step / 10 + late
        table.add((step, value, 1.0, "", 0, f"{value} {value}", "10 10", 0, time, *found))
    table.flush()
    table = run.table("episodes", EPISODE_COLUMNS)
    for number, value in enumerate(episodes, 1):
        table.add((number, 10 * number, value, value, 10, 0, number))
    table.flush()
    return run.path


def two_groups(runs_dir: Path, seeds: int = 5) -> list[Path]:
    """Write two groups of runs that differ in tau; the later a seed, the better."""
    return [
        write_run(
            runs_dir,
            [start + seed + number for number in range(10)],
            [start - 100 + seed] * 100,
            seed=seed,
            tau=tau,
        )
        for tau, start in ((0.005, 0.0), (0.01, 3.0))
        for seed in range(seeds)
    ]
