"""The gradients of an update, against those of modules of torch with the same weights."""

from typing import Any

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from td3core.randomness import Purpose, generator
from tests.td3core.algorithm.autograd_td3 import AutogradTD3, draw, gradients
from tests.td3core.helpers import batch, new_agent, tiny

WIDTHS = st.lists(st.integers(1, 40), max_size=4).map(tuple)
ACTIVATION = st.sampled_from(["relu", "tanh"])


def largest_error(found: dict[str, Any], expected: dict[str, Any]) -> float:
    """Largest difference, as a share of the largest number among these gradients."""
    largest = max(float(np.abs(part).max()) for part in expected.values())
    error = max(float(np.abs(found[name] - part).max()) for name, part in expected.items())
    return error / max(largest, 1e-6)


def of_network(name: str, arrays: dict[str, Any]) -> dict[str, Any]:
    return {key: array for key, array in arrays.items() if key.split(".")[0] == name}


@given(
    actor_hidden=WIDTHS,
    critic_hidden=WIDTHS,
    actor_activation=ACTIVATION,
    critic_activation=ACTIVATION,
    critic_layer_norm=st.booleans(),
    twin_critics=st.booleans(),
    policy_delay=st.integers(1, 2),
    obs_dim=st.integers(1, 30),
    act_dim=st.integers(1, 8),
    count=st.integers(1, 70),
    seed=st.integers(0, 1000),
)
def test_gradients_and_networks_equal_those_of_autograd_for_any_shape(
    obs_dim: int, act_dim: int, count: int, seed: int, **values: Any
) -> None:
    if values["critic_layer_norm"]:
        # Two normalised units are always 1 and -1: what is left of a gradient is rounding.
        values["critic_hidden"] = tuple(width + 7 for width in values["critic_hidden"])
    config, tunables = tiny(seed=seed, tau=0.1, **values)
    agent = new_agent(config, tunables, obs_dim, act_dim)
    reference = AutogradTD3(agent.state(), config, tunables)
    smoothing = generator(seed, Purpose.SMOOTHING)
    for number in range(2):
        data = batch(count, obs_dim, act_dim, seed=seed + number)
        agent.update(data)
        reference.update(data, draw(smoothing, data.action.shape))
        found = gradients(agent)
        parts = reference.parts()
        expected = {name: part.grad.numpy() for name, part in parts if part.grad is not None}
        for name in {key.split(".")[0] for key in expected}:
            # A single weight with a small gradient comes to 1.1e-5: the rounding of float32.
            assert largest_error(found, of_network(name, expected)) < 2e-5, name
        # Adam divides by the size of a gradient: one of nearly nothing may step either way. Going
        # on from equal networks keeps the second update as sharp a comparison as the first.
        with torch.no_grad():
            state = agent.state()
            for name, parameter in reference.parts():
                parameter.copy_(torch.from_numpy(state[name]))


def test_a_batch_of_another_size_is_taken_as_it_comes() -> None:
    config, tunables = tiny(seed=1)
    agent = new_agent(config, tunables, 3, 2)
    reference = AutogradTD3(agent.state(), config, tunables)
    smoothing = generator(1, Purpose.SMOOTHING)
    for count in (8, 3, 64, 8):
        data = batch(count)
        agent.update(data)
        reference.update(data, draw(smoothing, data.action.shape))
    state = agent.state()
    for name, parameter in reference.parts():
        np.testing.assert_allclose(
            state[name], parameter.detach().numpy(), rtol=1e-4, atol=1e-6, err_msg=name
        )
