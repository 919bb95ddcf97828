"""Truncated quantile critics: their loss, their target, and what they learn."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from td3core.algorithm.tqc import TQC, quantile_huber_loss
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.buffer.rows import Batch
from td3core.buffer.sampler import Sampler
from td3core.config import check_together
from td3core.config.algorithms import unused_by
from td3core.errors import RequestError
from tests.support.marks import slow
from tests.td3core.algorithm.test_held_to_the_reference import error
from tests.td3core.helpers import learn, same, take_threads, tiny

pytestmark = pytest.mark.usefixtures("kernel")

ENGINES = ["compiled", "torch"]
OBS, ACT, ROWS = 3, 2, 300


def make(**values: Any) -> TQC:
    chosen = {"algorithm": "tqc", "quantiles": 5, "dropped_quantiles": 1, "engine": "torch"}
    return TQC(*tiny(**chosen | values), OBS, ACT)


def filled(*, ends: float = 0.1) -> ReplayBuffer:
    """Return random transitions; a share ``ends`` of them is terminal."""
    source, buffer = np.random.default_rng(0), ReplayBuffer(ROWS, OBS, ACT)
    buffer.rows[:] = source.uniform(-1.0, 1.0, buffer.rows.shape)
    buffer.rows[:, -1] = source.random(ROWS) < ends
    buffer.stored = ROWS
    return buffer


def draws(updates: int, size: int = 24) -> Any:
    return np.random.default_rng(1).integers(0, ROWS, (updates, size))


def batch_of(buffer: ReplayBuffer, agent: TQC) -> Batch[torch.Tensor]:
    (batch,) = Sampler(buffer, np.random.default_rng(2)).take(draws(1), agent.tunables)
    return Batch(*(torch.from_numpy(part) for part in batch))


def test_the_loss_is_that_of_quantile_regression() -> None:
    source = np.random.default_rng(0)
    theta, y, weights = source.normal(size=(4, 3)), 3 * source.normal(size=(4, 5)), np.full(5, 0.2)
    expected = 0.0
    for row in range(4):
        for m in range(3):
            for i in range(5):
                u = y[row, i] - theta[row, m]
                huber = u * u / 2 if abs(u) <= 1 else abs(u) - 0.5
                expected += abs((m + 0.5) / 3 - (u < 0)) * huber / (4 * 3 * 5)
    levels = torch.tensor([[1 / 6], [3 / 6], [5 / 6]], dtype=torch.float64)
    found = quantile_huber_loss(
        *map(torch.from_numpy, (theta, y)), levels, torch.from_numpy(weights)
    )
    assert float(found) == pytest.approx(expected)


@pytest.mark.parametrize(("twin", "dropped", "kept"), [(True, 2, 6), (False, 1, 4), (True, 99, 2)])
def test_the_target_leaves_out_the_largest_quantiles_of_all_critics(
    twin: bool, dropped: int, kept: int
) -> None:
    agent = make(twin_critics=twin, dropped_quantiles=dropped, policy_noise=0.0)
    batch = batch_of(filled(), agent)
    noise = torch.zeros_like(batch.action)
    y = agent._target_value(batch, noise)
    pair = torch.cat((batch.next_obs, agent._smoothed_action(batch.next_obs, noise)), 1)
    atoms = torch.cat([each(pair) for each in agent.critics.target.networks], 1).detach().numpy()
    discounted = agent.tunables.gamma * (1.0 - batch.terminated.numpy()) * np.sort(atoms, axis=1)
    np.testing.assert_allclose(y.numpy(), batch.reward.numpy() + discounted, rtol=1e-6)
    weights = agent._weights(y).numpy()
    np.testing.assert_allclose(weights[:kept], 1.0 / kept, rtol=1e-6)
    assert not weights[kept:].any()


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("twin", [True, False])
@pytest.mark.parametrize(("quantiles", "dropped"), [(2, 0), (7, 3), (25, 2), (4, 9)])
def test_the_compiled_update_stays_with_the_reference(
    quantiles: int, dropped: int, twin: bool, layer_norm: bool
) -> None:
    states: list[dict[str, Any]] = []
    for engine in ("compiled", "torch"):
        agent = make(
            engine=engine,
            quantiles=quantiles,
            dropped_quantiles=dropped,
            twin_critics=twin,
            critic_layer_norm=layer_norm,
            action_penalty=0.3,
            actor_hidden=(32, 24),
            critic_hidden=(40, 24),
        )
        learn(agent, filled(), draws(50))
        metrics = {name: np.array(value) for name, value in agent.take_metrics().items()}
        states.append(agent.state() | metrics)
    errors = {name: error(states[0][name], expected) for name, expected in states[1].items()}
    assert max(errors.values()) <= 1e-4, max(errors, key=errors.__getitem__)


def test_two_threads_give_the_same_numbers() -> None:
    states = []
    for threaded in (False, True):
        agent = make(engine="compiled", threads=2, quantiles=25, critic_hidden=(32, 24))
        take_threads(agent, threaded, filled(), 128)
        learn(agent, filled(), draws(12, 128))
        states.append(agent.state())
    assert same(*states)


@pytest.mark.parametrize("engine", ["compiled", *slow("torch")])
def test_critics_learn_the_distribution_of_what_follows(engine: str) -> None:
    """Rewards between 0 and 100, each as likely, that end an episode: their quantiles are known."""
    agent = make(engine=engine, critic_lr=1e-2, critic_hidden=(32,), batch_size=64)
    buffer = filled(ends=1.0)
    layout = buffer.layout
    buffer.rows[:, : layout.reward] = 0.0
    buffer.rows[:, layout.reward] = (np.arange(ROWS) + 0.5) / ROWS * 100.0
    learn(agent, buffer, np.random.default_rng(3).integers(0, ROWS, (2000, 64)))
    pair = torch.zeros(1, OBS + ACT)
    for critic in agent.critics.online.networks:
        found = critic(pair).detach().numpy()[0]
        np.testing.assert_allclose(found, [10.0, 30.0, 50.0, 70.0, 90.0], atol=5.0)


@pytest.mark.parametrize("engine", ENGINES)
def test_dropping_more_quantiles_while_it_learns_lowers_the_target(engine: str) -> None:
    targets = []
    for dropped in (0, 4):
        agent, buffer = make(engine=engine, dropped_quantiles=2, gamma=0.9), filled(ends=0.0)
        learn(agent, buffer, draws(3))
        agent.take_metrics()
        agent.apply(replace(agent.tunables, dropped_quantiles=dropped))
        learn(agent, buffer, draws(1))
        targets.append(agent.take_metrics()["target"])
    assert targets[1] < targets[0]


@pytest.mark.parametrize("column", [0, OBS, OBS + ACT, OBS + ACT + 1])
def test_a_number_that_is_none_is_never_swallowed(column: int) -> None:
    agent, buffer = make(engine="compiled"), filled()
    buffer.rows[:, column] = np.nan
    learn(agent, buffer, draws(2))
    assert agent.diverged_network() is not None
    assert not np.isfinite(list(agent.take_metrics().values())).all()


def test_at_least_one_quantile_is_kept() -> None:
    config, tunables = tiny(algorithm="tqc", quantiles=5, dropped_quantiles=5)
    with pytest.raises(RequestError, match="dropped_quantiles 5 leaves none of quantiles 5"):
        check_together(config, tunables)


def test_its_settings_are_of_no_use_to_others() -> None:
    assert unused_by("td3") == unused_by("ddpg") == {"quantiles", "dropped_quantiles"}
    assert not unused_by("tqc")
