"""The compiled update: as close to torch's as rounding allows, repeatable, and in one call."""

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from td3core.algorithm.td3 import TD3
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.config import Tunables
from td3core.inference.normaliser import Normaliser
from tests.support.marks import release
from tests.td3core.helpers import learn, same, tiny

pytestmark = pytest.mark.usefixtures("kernel")

OBS, ACT, ROWS = 5, 2, 300


def filled(seed: int = 0) -> ReplayBuffer:
    """Return a full replay buffer of random transitions."""
    source, buffer = np.random.default_rng(seed), ReplayBuffer(ROWS, OBS, ACT)
    buffer.rows[:] = source.normal(size=buffer.rows.shape)
    buffer.rows[:, OBS : OBS + ACT] = np.tanh(buffer.rows[:, OBS : OBS + ACT])
    buffer.rows[:, -1] = source.random(ROWS) < 0.1
    buffer.stored = ROWS
    return buffer


def draws(updates: int, batch: int = 32, seed: int = 1) -> Any:
    return np.random.default_rng(seed).integers(0, ROWS, (updates, batch))


def make(*, compiled: bool = True, **values: Any) -> TD3:
    layers = {"actor_hidden": (32, 24), "critic_hidden": (32, 24)}
    engine = "compiled" if compiled else "torch"
    return TD3(*tiny(**layers | {"engine": engine} | values), OBS, ACT)


def weights(agent: TD3) -> np.ndarray[Any, Any]:
    flat = (agent.actor.online, agent.critics.online, agent.actor.target, agent.critics.target)
    return np.concatenate([each.flat.numpy() for each in flat])


def distance(one: TD3, other: TD3) -> float:
    return float(np.abs(weights(one) - weights(other)).max())


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("n_step", [1, 3])
def test_an_update_with_a_floor_is_that_of_bounded_rewards(compiled: bool, n_step: int) -> None:
    bounded, index = filled(), draws(4)
    at = bounded.layout.reward
    bounded.rows[:, at] = np.maximum(bounded.rows[:, at], np.float32(-0.3))
    made = [
        make(compiled=compiled, n_step=n_step, reward_floor=floor) for floor in (-0.3, -1e9, -1e9)
    ]
    for agent, buffer in zip(made, (filled(), bounded, filled()), strict=True):
        learn(agent, buffer, index)
    assert np.array_equal(weights(made[0]), weights(made[1]))
    assert not np.array_equal(weights(made[0]), weights(made[2]))


@given(
    widths=st.lists(st.integers(1, 30), max_size=3).map(tuple),
    activation=st.sampled_from(["relu", "tanh"]),
    layer_norm=st.booleans(),
    twin=st.booleans(),
    delay=st.integers(1, 3),
    batch=st.integers(1, 70),
)
def test_several_updates_in_one_call_are_those_done_one_by_one(
    widths: tuple[int, ...], activation: str, layer_norm: bool, twin: bool, delay: int, batch: int
) -> None:
    values = {
        "actor_hidden": widths,
        "critic_hidden": widths,
        "actor_activation": activation,
        "critic_activation": activation,
        "critic_layer_norm": layer_norm,
        "twin_critics": twin,
        "policy_delay": delay,
    }
    together, apart, buffer, index = make(**values), make(**values), filled(), draws(5, batch)
    learn(together, buffer, index)
    for rows in index:
        learn(apart, buffer, rows[None])
    assert together.updates == apart.updates == 5
    assert same(together.state(), apart.state())
    assert together.take_metrics() == apart.take_metrics()


def test_what_is_measured_is_what_torch_measures() -> None:
    buffer, index = filled(), draws(3)
    compiled, straight = make(policy_noise=0.0), make(policy_noise=0.0, compiled=False)
    for agent in (compiled, straight):
        learn(agent, buffer, index)
    found, expected = compiled.take_metrics(), straight.take_metrics()
    assert found.keys() == expected.keys()
    assert {"td_median", "td_p90", "td_p99", "td_max", "q_gap"} < found.keys()
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-3, abs=1e-6), name


def test_batches_drawn_together_are_those_drawn_one_by_one() -> None:
    buffer, one, other = filled(), np.random.default_rng(2), np.random.default_rng(2)
    together = buffer.draw(one, (7, 33))
    assert np.array_equal(together, [buffer.draw(other, 33) for _ in range(7)])
    assert one.bit_generator.state == other.bit_generator.state


def test_the_same_updates_twice_are_the_same_bit_for_bit() -> None:
    one, other, buffer, index = make(), make(), filled(), draws(200)
    for agent in (one, other):
        learn(agent, buffer, index)
    assert same(one.state(), other.state())


@pytest.mark.parametrize("updates", [150, *release(1000)])
@pytest.mark.slow
def test_updates_stay_as_close_as_two_orders_of_summation_do(updates: int) -> None:
    buffer, index = filled(), draws(updates)
    shuffled = np.random.default_rng(3).permuted(index, axis=1)
    compiled, straight = make(), make(compiled=False)
    learn(compiled, buffer, index)
    learn(straight, buffer, index)
    # The noise goes with a place in the batch: without it, the order is all that differs.
    quiet = {"policy_noise": 0.0, "compiled": False}
    one, two = make(**quiet), make(**quiet)
    learn(one, buffer, index)
    learn(two, buffer, shuffled)
    control = distance(one, two)
    assert 0 < control < 0.1
    assert distance(compiled, straight) < 10 * control


@pytest.mark.parametrize(
    "changed",
    [
        {"gamma": 0.5},
        {"tau": 0.5},
        {"policy_noise": 1.0},
        {"noise_clip": 0.05},
        {"actor_lr": 0.01},
        {"critic_lr": 0.01},
        {"policy_delay": 1},
        {"action_penalty": 0.5},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_every_live_setting_reaches_the_very_next_update(changed: dict[str, float]) -> None:
    buffer, index = filled(), draws(4)
    agents = [make(compiled=compiled) for compiled in (True, False, True)]
    for agent in agents[:2]:
        agent.apply(Tunables(**changed))
    for agent in agents:
        learn(agent, buffer, index)
    compiled, plain, unchanged = agents
    assert distance(compiled, plain) < 1e-5
    assert distance(compiled, unchanged) > 1e-5


def test_observations_are_normalised_as_torch_has_them() -> None:
    normaliser, buffer, index = Normaliser(OBS), filled(), draws(3)
    for obs in np.random.default_rng(5).normal(3.0, 0.01, (50, OBS)).astype(np.float32):
        normaliser.observe(obs)
    one, other, raw = make(), make(compiled=False), make()
    learn(one, buffer, index, normaliser)
    learn(other, buffer, index, normaliser)
    learn(raw, buffer, index)
    assert distance(one, other) < 1e-5
    assert distance(one, raw) > 1e-4


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("column", [0, OBS, OBS + ACT, OBS + ACT + 1])
def test_a_number_that_is_none_is_never_swallowed(
    activation: str, column: int, layer_norm: bool
) -> None:
    both = {"actor_activation": activation, "critic_activation": activation}
    agent, buffer = make(critic_layer_norm=layer_norm, **both), filled()
    buffer.rows[:, column] = np.nan
    learn(agent, buffer, draws(2))
    assert agent.diverged_network() is not None
    assert not np.isfinite(list(agent.take_metrics().values())).all()


def test_an_update_is_one_call_whatever_the_network() -> None:
    agent, buffer, index = make(), filled(), draws(64)
    learn(agent, buffer, index)
    calls = list[str]()

    def note(frame: Any, event: str, _: Any) -> None:
        if event in ("call", "c_call"):
            calls.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        learn(agent, buffer, index)
    finally:
        sys.setprofile(None)
    assert 0 < len(calls) < 40
