from typing import Any

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits

from td3core.algorithm.td3 import TD3
from td3core.config.networks import NetworkGroup
from td3core.inference.normaliser import Normaliser
from td3core.inference.policy import Policy
from td3core.system.json_lines import Codec
from tests.td3core.algorithm.autograd_td3 import AutogradTD3
from tests.td3core.helpers import batch, make_agent, tiny


def actor_of(agent: TD3, obs: Any, **values: Any) -> Any:
    """What torch makes of the actor's weights; ``values`` are the settings of the agent."""
    config, _ = tiny(**values)
    reference = AutogradTD3(agent.state(), config, agent.tunables)
    with torch.no_grad():
        return reference.act("actor", torch.from_numpy(obs)[None])[0].numpy()


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("hidden", [(), (8,), (64, 64), (400, 300)])
def test_the_policy_acts_as_the_actor_network_does(activation: str, hidden: Any) -> None:
    values = {"actor_activation": activation, "actor_hidden": hidden}
    agent = make_agent(**values)
    policy = agent.policy()
    for obs in batch(50).obs:
        expected = actor_of(agent, obs, **values)
        found = policy(obs)
        assert found.shape == (2,)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_the_policy_follows_every_update_of_the_actor() -> None:
    agent = make_agent(policy_delay=1, actor_lr=0.1)
    policy, obs = agent.policy(), batch().obs[0]
    before = policy(obs)
    agent.update(batch())
    expected = actor_of(agent, obs)
    assert np.abs(policy(obs) - before).max() > 1e-3
    np.testing.assert_allclose(policy(obs), expected, atol=1e-6)


def test_the_policy_follows_a_restored_actor() -> None:
    agent, other = make_agent(seed=1), make_agent(seed=2)
    policy, obs = agent.policy(), batch().obs[0]
    agent.load_state(other.state(), 0)
    assert np.array_equal(policy(obs), other.policy()(obs))


def test_acting_leaves_the_observation_as_it_was() -> None:
    obs = batch().obs[0]
    before = obs.copy()
    make_agent().policy()(obs)
    make_agent(actor_hidden=()).policy()(obs)
    assert np.array_equal(obs, before)


def test_a_policy_rebuilt_from_tensors_agrees_bit_for_bit() -> None:
    agent = make_agent(actor_hidden=(33, 7, 20), actor_activation="tanh")
    again = Policy.from_tensors(agent.state(), NetworkGroup(("actor",), (3, 33, 7, 20, 2), "tanh"))
    policy = agent.policy()
    assert all(np.array_equal(policy(obs), again(obs)) for obs in batch(50).obs)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_a_policy_that_was_sent_as_a_line_agrees_bit_for_bit(activation: str) -> None:
    normaliser = Normaliser(3)
    for obs in batch(20).obs:
        normaliser.observe(obs)
    codec = Codec(Policy)
    for used in (None, normaliser):
        tensors = make_agent(actor_hidden=(33, 7), actor_activation=activation).state()
        actor = NetworkGroup(("actor",), (3, 33, 7, 2), activation)
        policy = Policy.from_tensors(tensors, actor, used)
        again = codec.decode(codec.encode(policy))
        assert all(np.array_equal(policy(obs), again(obs)) for obs in batch(50).obs)


def test_a_policy_acts_the_same_on_one_thread_and_on_many() -> None:
    # Training limits the threads of the matrix product, evaluating a checkpoint does not.
    config, tunables = tiny(actor_hidden=(400, 300))
    policy = TD3(config, tunables, obs_dim=24, act_dim=4).policy()
    obs = batch(50, obs_dim=24).obs
    many = [policy(row) for row in obs]
    with threadpool_limits(1, user_api="blas"):
        assert all(np.array_equal(policy(row), kept) for row, kept in zip(obs, many, strict=True))
