"""The agent against an implementation of the paper that shares no code with it."""

from typing import Any

import numpy as np
import pytest

from td3core.algorithm.td3 import TD3
from td3core.protocol.metrics import METRICS
from td3core.randomness import Purpose, generator
from tests.td3core.algorithm.autograd_td3 import target_value
from tests.td3core.algorithm.numpy_td3 import ReferenceTD3, layers_of
from tests.td3core.helpers import batch, make_agent, tiny

LAST = {metric.name for metric in METRICS if metric.last}
"""What the reference does not tell."""
STRONG = {"policy_noise": 2.0, "noise_clip": 2.0, "tau": 0.3}
CASES: dict[str, dict[str, Any]] = {
    "relu": {},
    "tanh": {"actor_activation": "tanh", "critic_activation": "tanh"},
    "mixed": {"actor_activation": "tanh", "critic_activation": "relu"},
    "one critic": {"twin_critics": False},
    "DDPG": {"twin_critics": False, "policy_delay": 1, "policy_noise": 0.0},
    "smoothing beyond the bounds": STRONG,
    "uneven layers": {"actor_hidden": (16, 8, 4), "critic_hidden": (12,), "policy_delay": 3},
    "layer normalisation": {"critic_layer_norm": True, "critic_hidden": (40, 12)},
    "the same, tanh": {"critic_layer_norm": True, "critic_activation": "tanh"},
    "penalised actions": {"action_penalty": 3.0, "policy_delay": 1},
    "no hidden layer": {"actor_hidden": (), "critic_hidden": (), "policy_delay": 1},
}
COUNT = 16


def prepared(**values: Any) -> tuple[TD3, ReferenceTD3, Any]:
    """Return an agent, its reference, and the smoothing noise both are to use."""
    values = {"actor_lr": 0.01, "critic_lr": 0.02, "tau": 0.1, "gamma": 0.9} | values
    agent = make_agent(seed=3, **values)
    # Biases of the targets of their own: otherwise targets equal the online networks at first.
    for learner in (agent.actor, agent.critics):
        for name, part in learner.target.named():
            if name.endswith("bias"):
                part += 0.1
    config, settings = tiny(seed=3, **values)
    smoothing = generator(3, Purpose.SMOOTHING)

    def noise() -> Any:
        return smoothing.standard_normal((COUNT, 2), np.float32).astype(np.float64)

    return agent, ReferenceTD3(agent.state(), config, settings), noise


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_target_is_the_one_of_the_paper(case: dict[str, Any]) -> None:
    agent, reference, noise = prepared(**case)
    data = batch(COUNT)
    found = target_value(agent, data)
    assert found.shape == (COUNT, 1)
    np.testing.assert_allclose(found, reference.target(data, noise()), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values_and_losses_are_those_of_the_paper(case: dict[str, Any]) -> None:
    agent, reference, noise = prepared(**case)
    for number in range(6):
        data = batch(COUNT, seed=number)
        agent.update(data)
        found = agent.take_metrics()
        told = reference.update(data, noise())
        expected = {name: value for name, value in told.items() if np.isfinite(value)}
        found = {name: value for name, value in found.items() if name not in LAST}
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            message = f"{name} of update {number}"
            np.testing.assert_allclose(found[name], value, 1e-4, 1e-6, err_msg=message)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_update_moves_all_networks_as_adam_and_the_paper_say(case: dict[str, Any]) -> None:
    agent, reference, noise = prepared(**case)
    before = agent.state()
    for number in range(6):
        data = batch(COUNT, seed=number)
        agent.update(data)
        reference.update(data, noise())
        after = agent.state()
        for name, layers in reference.nets.items():
            pairs = zip(layers_of(after, name), layers_of(before, name), layers, strict=True)
            for index, (found, first, expected) in enumerate(pairs):
                for kind in range(2):
                    np.testing.assert_allclose(
                        found[kind] - first[kind],
                        expected[kind] - first[kind],
                        rtol=1e-4,
                        atol=2e-6,
                        err_msg=f"{name}, layer {index}, update {number + 1}",
                    )


def test_the_reference_itself_descends_its_own_loss() -> None:
    # A gradient written by hand has to agree with a finite difference.
    _, reference, noise = prepared()
    data, draw = batch(COUNT), noise()
    y = reference.target(data, draw)
    obs, action = np.float64(data.obs), np.float64(data.action)

    def loss() -> float:
        return float(((reference.value("critic1", obs, action) - y) ** 2).mean())

    weight, step = reference.nets["critic1"][0][0], 1e-6
    weight[0, 0] += step
    high = loss()
    weight[0, 0] -= 2 * step
    low = loss()
    weight[0, 0] += step
    reference.update(data, draw)
    m, _ = reference.adams["critic1"].moments[0, 0]
    assert m[0, 0] == pytest.approx(0.1 * (high - low) / (2 * step), rel=1e-4)
