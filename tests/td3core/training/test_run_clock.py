import pytest

from td3core.training import run_clock
from td3core.training.run_clock import RunClock


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
