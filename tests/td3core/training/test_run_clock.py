from pathlib import Path
from typing import Any

import pytest

from td3core.buffer.buffer_file import BufferFile
from td3core.training import run_clock
from td3core.training.run_clock import RunClock
from tests.support.scripted import Script
from tests.td3core.helpers import finish


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(run_clock, "time", clock)
    return clock


def test_the_average_counts_only_the_steps_after_the_warm_up(clock: Clock) -> None:
    speed = RunClock(0)
    clock.now += 1
    assert speed.average(5000) == pytest.approx(5000)
    speed.mark_learning(5000)
    clock.now += 10
    speed.mark_learning(9999)
    assert speed.average(8000) == pytest.approx(300)


def test_the_first_update_is_no_measure_of_the_speed_of_the_others(clock: Clock) -> None:
    speed = RunClock(0)
    speed.mark_learning(1000)
    clock.now += 3.0  # What all updates share is prepared.
    speed.mark_update(1001)
    assert speed.recent(1001) == pytest.approx(1 / 3)
    for step in range(1002, 1102):
        clock.now += 0.01
        speed.mark_update(step)
    assert speed.recent(1101) == pytest.approx(100)
    assert speed.average(1101) == pytest.approx(101 / 4)


def test_time_spent_paused_or_evaluating_is_wall_time_but_no_stepping_time(clock: Clock) -> None:
    speed = RunClock(0)
    speed.mark_learning(0)
    clock.now += 10
    with speed.stopped():
        clock.now += 90
    assert speed.wall_s == pytest.approx(100)
    assert speed.average(1000) == pytest.approx(100)
    assert speed.recent(1000) == pytest.approx(100)


def test_the_speed_stays_the_same_while_an_evaluation_is_awaited_and_after_it(
    clock: Clock,
) -> None:
    speed, steps = RunClock(0), 0

    def step_for_a_second() -> None:
        nonlocal steps
        for _ in range(10):
            clock.now += 0.1
            steps += 100
            assert speed.recent(steps) == pytest.approx(1000)

    step_for_a_second()
    with speed.stopped():
        for _ in range(40):
            clock.now += 0.1
            with speed.stopped():
                clock.now += 0.1
            assert speed.recent(steps) == pytest.approx(1000)
            assert speed.average(steps) == pytest.approx(1000)
    step_for_a_second()


def test_the_recent_speed_forgets_what_is_long_past(clock: Clock) -> None:
    speed, steps = RunClock(0), 0
    for rate in (1000, 100):
        for _ in range(100):
            clock.now += 0.1
            steps += rate // 10
            found = speed.recent(steps)
        assert found == pytest.approx(rate, rel=0.01)


def test_no_time_at_all_is_no_speed_rather_than_a_fault(clock: Clock) -> None:
    assert RunClock(0).recent(10) == 0.0


def test_a_slow_disk_under_the_replay_buffer_does_not_count_as_stepping(
    clock: Clock, runs_dir: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = BufferFile.save

    def save_slowly(self: BufferFile, *arguments: Any, **more: Any) -> Any:
        clock.now += 1000
        return save(self, *arguments, **more)

    def step(_: int) -> None:
        clock.now += 0.01

    monkeypatch.setattr(BufferFile, "save", save_slowly)
    values = {"steps": 60, "checkpoint_interval": 10, "eval_interval": 0}
    ended = finish(runs_dir, scripted(Script(on_step=step)), **values)
    assert ended.wall_s > 6000
    assert ended.steps_per_s == pytest.approx(100, rel=0.05)
