"""The remaining time of a run comes from learning steps, once enough were timed."""

import pytest

from td3core.config import RunConfig
from td3core.protocol.events import Phase, Progress
from td3core.protocol.time_left import TimeLeft
from tests.support.events import progress


def report(step: int, updates: int, wall_s: float, speed: float) -> Progress:
    return progress(
        step,
        phase=Phase.LEARNING if updates else Phase.WARM_UP,
        updates=updates,
        steps_per_s=speed,
        wall_s=wall_s,
    )


def left(*reports: tuple[int, int, float, float], learning_starts: int = 1000) -> float | None:
    config = RunConfig(env="Pendulum-v1", steps=10_000, learning_starts=learning_starts)
    time_left = TimeLeft(config)
    for each in reports:
        time_left.take(report(*each))
    return time_left.seconds


def test_neither_the_warm_up_nor_the_first_updates_are_a_measure_of_the_rest() -> None:
    warm = (900, 0, 0.1, 9000.0)
    assert left() is None
    assert left(warm) is None
    assert left(warm, (1001, 1, 0.9, 25.0)) is None
    assert left(warm, (1001, 1, 0.9, 25.0), (1200, 200, 1.2, 100.0)) == pytest.approx(88)


def test_a_run_that_fills_its_buffer_again_is_estimated_once_it_learns() -> None:
    filling = ((5000, 4000, 50.0, 9000.0), (5900, 4000, 53.0, 9000.0))
    assert left(*filling) is None
    assert left(*filling, (6010, 4010, 53.2, 80.0), (6100, 4100, 54.2, 100.0)) == 39


def test_a_run_that_never_learns_is_as_fast_all_along() -> None:
    assert left((2500, 0, 0.5, 5000.0), learning_starts=10_000) == 1.5


def test_nothing_is_left_of_a_run_that_took_all_its_steps() -> None:
    assert left((10_002, 0, 0.2, 0.0)) == 0.0
