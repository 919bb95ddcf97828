"""The compiled update on two threads: the same numbers, used only if it is faster."""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from td3core.algorithm.fused import parallel
from td3core.algorithm.td3 import TD3
from td3core.buffer.replay_buffer import ReplayBuffer
from tests.td3core.helpers import learn, same, take_threads, tiny

pytestmark = pytest.mark.usefixtures("kernel")

OBS, ACT, ROWS = 5, 2, 200


@pytest.fixture(autouse=True)
def one_thread_of_blas() -> Iterator[None]:
    """As in a run."""
    with threadpool_limits(1, user_api="blas"):
        yield


def filled(act: int = ACT) -> ReplayBuffer:
    source, buffer = np.random.default_rng(0), ReplayBuffer(ROWS, OBS, act)
    buffer.rows[:] = source.uniform(-1.0, 1.0, buffer.rows.shape)
    buffer.rows[:, -1] = source.random(ROWS) < 0.1
    buffer.stored = ROWS
    return buffer


def agent_and_choice(act: int = ACT, **values: Any) -> tuple[TD3, Any]:
    layers = {"actor_hidden": (24, 16), "critic_hidden": (32, 24)}
    agent = TD3(*tiny(**{**layers, "threads": 2, "engine": "compiled"} | values), OBS, act)
    assert agent.fused is not None
    return agent, agent.fused.choice


def draws(updates: int, batch: int = 64) -> Any:
    return np.random.default_rng(1).integers(0, ROWS, (updates, batch))


@pytest.mark.parametrize(
    ("batch", "values"),
    [
        (64, {"critic_activation": "tanh"}),
        (64, {"action_penalty": 0.5}),
        # Rows and layers that cannot be split evenly.
        (101, {"actor_hidden": (24,), "critic_hidden": (32, 24, 16)}),
        (49, {"actor_hidden": (40, 8, 16)}),
        (101, {"critic_hidden": (40, 24), "critic_layer_norm": True}),
        # Products that BLAS goes through in blocks.
        (256, {"actor_hidden": (256, 256), "critic_hidden": (256, 256)}),
        (256, {"critic_hidden": (256, 256), "critic_layer_norm": True}),
    ],
)
@pytest.mark.parametrize("act", [1, ACT])
def test_two_threads_give_the_same_numbers(batch: int, values: dict[str, Any], act: int) -> None:
    states = []
    for threaded in (False, True):
        agent, choice = agent_and_choice(act, **values)
        take_threads(agent, threaded, filled(act), batch)
        learn(agent, filled(act), draws(12, batch))
        assert choice.parallel is threaded
        states.append(agent.state())
    assert same(*states)


def test_one_thread_is_used_if_two_would_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """As BLAS may, which chooses its method by the number of rows."""
    agent, choice = agent_and_choice()
    on_two_threads = choice._on_two_threads

    def changed(arguments: Any) -> int:
        moved: int = on_two_threads(arguments)
        weights = arguments[2].online
        weights[-1] = np.nextafter(weights[-1], np.float32(np.inf))
        return moved

    monkeypatch.setattr(choice, "_on_two_threads", changed)
    learn(agent, filled(), draws(1))
    assert choice.parallel is False


def test_a_batch_too_small_to_share_is_not_shared() -> None:
    agent, choice = agent_and_choice()
    learn(agent, filled(), draws(1, parallel.SMALLEST_BATCH - 1))
    assert choice.parallel is False


@pytest.mark.parametrize("batch", [1, parallel.SMALLEST_BATCH // 2])
def test_a_thread_without_rows_writes_none(batch: int) -> None:
    states = []
    for threaded in (False, True):
        agent, choice = agent_and_choice()
        learn(agent, filled(), draws(1, batch))
        choice.parallel = threaded
        learn(agent, filled(), draws(300, batch))
        states.append(agent.state())
    assert same(*states)


@pytest.mark.parametrize("later", [16, 60])
def test_a_batch_size_that_changes_is_checked_though_one_thread_was_the_faster_before(
    later: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More updates follow than pass until both numbers of threads are tried again."""
    states = []
    for threads in (1, 2):
        agent, choice = agent_and_choice(threads=threads)
        monkeypatch.setattr(choice, "RECHECK_AFTER_CALLS", 5)
        learn(agent, filled(), draws(1, 256))
        choice.parallel = False
        for index in np.split(draws(200, later), 200):
            learn(agent, filled(), index)
        states.append(agent.state())
    assert same(*states)


def test_two_threads_are_tried_once_a_batch_is_large_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agent, choice = agent_and_choice()
    monkeypatch.setattr(choice, "_same_bits", lambda *_: True)
    for batch, tried in ((32, False), (256, True), (32, False)):
        learn(agent, filled(), draws(1, batch))
        assert (choice.parallel is None) is tried


def test_another_batch_size_is_timed_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    _, choice = agent_and_choice()
    monkeypatch.setattr(choice, "_same_bits", lambda *_: True)
    kernels = FakeKernels(choice, monkeypatch)
    for batch, seconds, chosen in ((64, (1.0, 0.95), False), (256, (1.0, 0.5), True)):
        choice.set_batch(batch, tuple)
        kernels.seconds = seconds
        for _ in range(choice.TRIALS):
            choice(1, ())
        assert choice.parallel is chosen


def test_a_number_that_is_none_is_not_lost_between_the_threads() -> None:
    agent, choice = agent_and_choice()
    learn(agent, filled(), draws(1))
    choice.parallel, buffer = True, filled()
    buffer.rows[:, 0] = np.nan
    learn(agent, buffer, draws(2))
    assert choice.parallel is True
    assert agent.diverged_network() is not None


@pytest.mark.parametrize("values", [{"threads": 1}, {"twin_critics": False}])
def test_one_thread_is_used_where_two_cannot_help(values: dict[str, Any]) -> None:
    _, choice = agent_and_choice(**values)
    assert choice.parallel is False


class FakeKernels:
    """Take a given time on one thread and on two."""

    def __init__(self, choice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = (1.0, 0.5)
        self.actor_seconds = 0.0
        self.ran: list[bool] = []
        self._clock = 0.0
        monkeypatch.setattr(choice, "run", self._run)
        monkeypatch.setattr("time.perf_counter", lambda: self._clock)

    def _run(self, threaded: bool, _: Any) -> int:
        self._clock += self.seconds[threaded] + self.actor_seconds * (len(self.ran) % 2)
        self.ran.append(threaded)
        return 0


@pytest.mark.parametrize(("seconds", "chosen"), [((1.0, 0.5), True), ((1.0, 0.95), False)])
def test_the_clearly_quicker_one_is_chosen_after_some_trials(
    seconds: tuple[float, float], chosen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, choice = agent_and_choice()
    kernels = FakeKernels(choice, monkeypatch)
    kernels.seconds = seconds
    for _ in range(choice.TRIALS + 3):
        choice(1, ())
    assert kernels.ran.count(True) == choice.TRIALS / 2 + (3 if chosen else 0)
    assert choice.parallel is chosen


def test_updates_of_the_actor_do_not_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    _, choice = agent_and_choice()
    kernels = FakeKernels(choice, monkeypatch)
    kernels.seconds, kernels.actor_seconds = (1.0, 0.7), 1.0
    for _ in range(choice.TRIALS):
        choice(1, ())
    assert choice.parallel is True


def test_the_choice_changes_once_the_second_core_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    _, choice = agent_and_choice()
    kernels = FakeKernels(choice, monkeypatch)
    for _ in range(choice.TRIALS):
        choice(1, ())
    assert choice.parallel is True
    kernels.seconds = (1.0, 2.0)
    for _ in range(choice.RECHECK_AFTER_CALLS + choice.TRIALS):
        choice(1, ())
    assert choice.parallel is False


def test_a_second_run_in_the_process_does_not_enter_the_pool() -> None:
    """Numba would end the process."""
    agents, buffer = [], filled()
    for _ in range(2):
        agent, _ = agent_and_choice(actor_hidden=(40, 8, 16))
        take_threads(agent, True, buffer, 49)
        agents.append(agent)
    index = draws(300, 49)
    threads = [threading.Thread(target=learn, args=(agent, buffer, index)) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert same(agents[0].state(), agents[1].state())
