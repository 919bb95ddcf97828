"""The critics' values in NumPy, compared with torch and with plain arithmetic."""

from typing import Any

import numpy as np
import pytest
import torch

from td3core.algorithm.tqc import TQC
from td3core.config.networks import CRITIC, Sizes, networks
from td3core.inference.critic import Critic
from td3core.inference.layer_norm import layer_norm
from td3core.inference.normaliser import Normaliser
from td3core.system.json_lines import Codec
from tests.td3core.algorithm.autograd_td3 import AutogradTD3
from tests.td3core.helpers import batch, make_agent, tiny


def critic_and_reference(**values: Any) -> tuple[Critic, AutogradTD3]:
    """Return the critics of an agent, and modules of torch with their weights."""
    config, tunables = tiny(**values)
    state = make_agent(**values).state()
    critic = Critic.from_tensors(state, networks(config, Sizes(3, 2))[CRITIC])
    assert critic is not None
    return critic, AutogradTD3(state, config, tunables)


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("hidden", [(), (8,), (64, 33)])
def test_the_critics_value_actions_as_torch_does(
    layer_norm: bool, activation: str, hidden: tuple[int, ...]
) -> None:
    critic, reference = critic_and_reference(
        critic_layer_norm=layer_norm, critic_activation=activation, critic_hidden=hidden
    )
    obs, action, *_ = batch(50)
    with torch.no_grad():
        pair = torch.from_numpy(obs), torch.from_numpy(action)
        expected = np.stack([reference.value(n, *pair)[:, 0] for n in ("critic1", "critic2")])
    np.testing.assert_allclose(critic(obs, action), expected, rtol=0, atol=2e-6)
    for row in range(3):
        single = critic(obs[row], action[row])
        np.testing.assert_allclose(single, expected[:, row], rtol=0, atol=2e-6)


def of_quantiles(
    dropped: int, normaliser: Normaliser | None = None, **values: Any
) -> tuple[Critic, TQC]:
    """Return critics that estimate five quantiles each, and their agent."""
    config, tunables = tiny(algorithm="tqc", quantiles=5, **values)
    agent = TQC(config, tunables, 3, 2)
    group = networks(config, Sizes(3, 2))[CRITIC]
    critic = Critic.from_tensors(agent.state(), group, normaliser, dropped=dropped)
    assert critic is not None
    return critic, agent


def test_the_value_of_quantiles_is_their_mean() -> None:
    critic, agent = of_quantiles(dropped=2)
    obs, action, *_ = batch(50)
    pair = torch.from_numpy(np.concatenate((obs, action), axis=1))
    expected = [each(pair).mean(1).detach().numpy() for each in agent.critics.online.networks]
    np.testing.assert_allclose(critic(obs, action), expected, rtol=0, atol=2e-6)


def test_a_target_takes_the_smaller_value() -> None:
    plain, _ = critic_and_reference()
    obs, action, *_ = batch(50)
    np.testing.assert_array_equal(plain.target_value(obs, action), plain(obs, action).min(axis=0))


@pytest.mark.parametrize(("dropped", "kept"), [(0, 10), (2, 6), (9, 2)])
def test_a_target_takes_the_quantiles_that_are_kept(dropped: int, kept: int) -> None:
    critic, agent = of_quantiles(dropped)
    obs, action, *_ = batch(50)
    pair = torch.from_numpy(np.concatenate((obs, action), axis=1))
    atoms = torch.cat([each(pair) for each in agent.critics.online.networks], 1).sort(1).values
    expected = atoms[:, :kept].mean(1).detach().numpy()
    np.testing.assert_allclose(critic.target_value(obs, action), expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize("layer_norm", [False, True])
def test_critics_that_went_through_a_line_are_the_same_bit_for_bit(layer_norm: bool) -> None:
    obs, action, *_ = batch(5)
    normaliser, codec = Normaliser(3), Codec(Critic)
    for seen in obs:
        normaliser.observe(seen)
    for used in (None, normaliser):
        critic, _ = of_quantiles(2, used, critic_layer_norm=layer_norm)
        found = codec.decode(codec.encode(critic))
        assert isinstance(found, Critic)
        for one, other in zip(found.judge(obs, action), critic.judge(obs, action), strict=True):
            assert np.array_equal(one, other)


def test_each_row_has_mean_0_and_variance_1_unless_its_units_agree() -> None:
    rows = np.random.default_rng(0).normal(3.0, 5.0, (4, 100)).astype(np.float32)
    rows[3] = 7.0
    before = rows.copy()
    found = layer_norm(rows)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[:3].mean(axis=1), 0.0, atol=1e-6)
    np.testing.assert_allclose(found[:3].var(axis=1), 1.0, atol=1e-5)
    assert (found[3] == 0.0).all()
    assert np.array_equal(rows, before)
