"""Steps have the same places along an axis in the plots of a run and in those of a comparison."""

from pathlib import Path

import numpy as np
import pytest

from studio.plots.x_axis import map_of
from studio.session.curves import EPISODES, RunCurves
from studio.session.series import CAPACITY, Series
from td3core.analysis.results import XAxis, read_results
from td3core.arrays import Doubles
from td3core.runs.reader import RunReader
from tests.td3core.analysis.many_runs import write_run
from tests.td3core.helpers import finish

STEPS = np.arange(0.0, 301.0, 7.0)


def assert_alike(path: Path, axis: XAxis, steps: Doubles = STEPS, episodes: int = CAPACITY) -> None:
    curves = RunCurves()
    curves.episodes = Series(EPISODES, episodes)
    for event in RunReader(path).drain():
        curves.add(event)
    shown, compared = map_of(curves, axis), read_results(path)
    assert not shown.missing
    assert shown.places_of(steps) == pytest.approx(compared.on_axis(steps, axis))


@pytest.mark.parametrize("episodes", [0, 3, 25])
def test_times_are_the_same_where_results_of_evaluations_arrive_late(
    runs_dir: Path, episodes: int
) -> None:
    path = write_run(runs_dir, [1.0, 2.0, 3.0], [0.0] * episodes, late=3.0)
    assert_alike(path, "time")
    with (path / "training.csv").open("w") as file:
        file.write("env_steps,updates,time_s\n110,10,11.5\n150,50,20\n250,150,22\n")
    assert_alike(path, "time")


@pytest.mark.parametrize("capacity", [CAPACITY, 16])
def test_episodes_are_the_same_also_where_a_long_run_has_several_in_a_cell(
    runs_dir: Path, capacity: int
) -> None:
    path = write_run(runs_dir, episodes=[0.0] * 24)
    # Where episodes end: in between, the plots of a run count parts of an episode.
    assert_alike(path, "episodes", np.arange(0.0, 241.0, 10.0), capacity)


@pytest.mark.slow
def test_times_of_a_trained_run_are_the_same(runs_dir: Path) -> None:
    settings = {"steps": 300, "eval_interval": 50, "background_evaluation": True}
    ended = finish(runs_dir, "Pendulum-v1", **settings)
    assert_alike(ended.run, "time")


def test_times_of_evaluations_count_where_there_are_no_others(runs_dir: Path) -> None:
    path = write_run(runs_dir, [1.0, 2.0, 3.0])
    assert_alike(path, "time")
    assert list(read_results(path).curve("eval", "time")[0]) == [10.0, 20.0, 30.0]
