import threading
from collections.abc import Callable

import pytest

from td3core.config import Tunables, with_values
from td3core.protocol.control import Control


def test_a_new_control_asks_for_nothing() -> None:
    control = Control()
    assert not control.has_requests
    orders = control.take_requests()
    assert (orders.values, orders.revision) == (None, 0)
    assert (orders.save, orders.pause, orders.stop, control.stopping) == (False,) * 4


def test_the_latest_of_several_settings_wins_and_revisions_count_them_all() -> None:
    control, latest = Control(), Tunables(tau=0.3)
    assert [control.tune(Tunables(tau=0.1)), control.tune(latest)] == [1, 2]
    assert control.has_requests
    orders = control.take_requests()
    assert with_values(Tunables(), orders.values or {}) == latest
    assert orders.revision == 2


def test_settings_and_saves_are_taken_once_while_pause_and_stop_last() -> None:
    control = Control()
    control.change({"tau": 0.3})
    control.save()
    control.pause()
    control.stop()
    first, second = control.take_requests(), control.take_requests()
    assert (first.values, first.save, first.pause, first.stop) == ({"tau": 0.3}, True, True, True)
    assert (second.values, second.save, second.pause, second.stop) == (None, False, True, True)
    assert not control.has_requests
    assert control.stopping


@pytest.mark.parametrize("unpause", [Control.unpause, Control.resume])
def test_unpause_takes_a_pause_back_also_by_its_earlier_name(
    unpause: Callable[[Control], None],
) -> None:
    control = Control()
    control.pause()
    control.take_requests()
    unpause(control)
    assert control.has_requests
    assert not control.take_requests().pause


def test_every_request_wakes_a_run_that_waits() -> None:
    control = Control()
    requests = [control.unpause, control.save, control.stop, lambda: control.tune(Tunables())]
    for request in requests:
        control.take_requests()
        woken = threading.Event()

        def wait(woken: threading.Event = woken) -> None:
            control.wait()
            woken.set()

        thread = threading.Thread(target=wait)
        thread.start()
        request()
        assert woken.wait(5)
        thread.join(5)


def test_a_request_made_before_the_run_waits_is_not_lost() -> None:
    control = Control()
    control.take_requests()
    control.unpause()
    thread = threading.Thread(target=control.wait)
    thread.start()
    thread.join(5)
    assert not thread.is_alive()


@pytest.mark.parametrize(("shares", "pauses"), [(False, 0), (True, 3)])
def test_a_run_in_a_window_pauses_now_and_then_and_a_headless_one_never(
    shares: bool, pauses: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, slept = iter([10.0, 10.001, 10.003, 10.004, 10.006]), []
    monkeypatch.setattr("td3core.protocol.control.time.perf_counter", lambda: next(clock))
    monkeypatch.setattr("td3core.protocol.control.time.sleep", slept.append)
    control = Control(shares_interpreter=shares)
    for _ in range(5):
        control.yield_gil()
    assert len(slept) == pauses
    assert all(0 < seconds <= 0.001 for seconds in slept)


def test_a_step_is_taken_once_and_lasts_no_longer_than_the_pause() -> None:
    control = Control()
    control.pause()
    control.step()
    assert control.take_requests().step
    assert not control.take_requests().step
    control.step()
    control.unpause()
    assert not control.take_requests().step


def test_whether_updates_are_traced_lasts_until_it_is_taken_back() -> None:
    control = Control()
    control.trace(True)
    assert [control.take_requests().trace for _ in range(2)] == [True, True]
    control.trace(False)
    assert not control.take_requests().trace


def test_within_a_turn_a_step_is_taken_only_if_nothing_else_is_requested() -> None:
    control = Control()
    control.pause()
    control.take_requests()
    control.step()
    assert control.take_step()
    assert not control.take_step()
    control.step()
    control.save()
    assert not control.take_step()
    requests = control.take_requests()
    assert (requests.step, requests.save) == (True, True)
