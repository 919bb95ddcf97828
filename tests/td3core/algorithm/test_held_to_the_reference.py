"""The compiled update against the plain torch of td3.py, number by number."""

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from td3core.algorithm.td3 import TD3
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.buffer.sampler import Sampler
from td3core.inference.normaliser import Normaliser
from tests.td3core.helpers import tiny

pytestmark = pytest.mark.usefixtures("kernel")

OBS, ACT, ROWS, BATCH = 11, 3, 400, 64
OPTIONS = list(
    product((True, False), ("relu", "tanh"), ("relu", "tanh"), (1, 3), (False, True), range(1, 5))
)
"""Two critics, or one without smoothing as in DDPG; activations of actor and critics; steps of a
return; normalised observations; delay."""
SOME = OPTIONS[::11]
"""Each value beside each other one of another option."""
PLAIN, NORMALISED = False, True
"""Whether the critics have layer normalisation."""


def filled() -> ReplayBuffer:
    """Return episodes of 20 steps, half of them truncated."""
    source, buffer = np.random.default_rng(0), ReplayBuffer(ROWS, OBS, ACT)
    obs = source.normal(size=(ROWS + 1, OBS)).astype(np.float32)
    for row in range(ROWS):
        over, cut = row % 40 == 39, row % 40 == 19
        action = np.tanh(source.normal(size=ACT)).astype(np.float32)
        buffer.add(obs[row], action, float(source.normal()), obs[row + 1], over, cut)
    return buffer


def both_after(
    updates: int, option: Any, layer_norm: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return state and metrics of both engines after the same batches and noise."""
    twin, actor, critic, steps, normalised, delay = option
    values = {
        "twin_critics": twin,
        "policy_noise": 0.2 if twin else 0.0,
        "policy_delay": delay,
        "actor_activation": actor,
        "critic_activation": critic,
        "critic_layer_norm": layer_norm,
        "n_step": steps,
        "batch_size": BATCH,
        "actor_hidden": (32, 24),
        # Wider than the sums of a row that the compiled update keeps side by side.
        "critic_hidden": (40, 24) if layer_norm else (32, 24),
    }
    buffer, normaliser, found = filled(), None, []
    if normalised:
        normaliser = Normaliser(OBS)
        for obs in np.random.default_rng(1).normal(0.5, 2.0, (50, OBS)).astype(np.float32):
            normaliser.observe(obs)
    for engine in ("compiled", "torch"):
        agent = TD3(*tiny(engine=engine, **values), OBS, ACT)
        for draws in Sampler(buffer, np.random.default_rng(2), normaliser).draw(
            updates, agent.tunables
        ):
            agent.update_from(draws)
        metrics = {name: np.array(value) for name, value in agent.take_metrics().items()}
        found.append(agent.state() | metrics)
    one, other = found
    assert one.keys() == other.keys()
    return one, other


def error(found: Any, expected: Any) -> float:
    """Return the largest error of a tensor beyond 1e-7, as a share of its largest number.

    Not number by number: Adam divides a gradient by its size, so that the weight whose gradient is
    nearly nothing makes a step of rounding.
    """
    worst = np.abs(found.astype(float) - expected.astype(float)).max()
    return float(max(worst - 1e-7, 0.0) / max(np.abs(expected).max(), 1e-30))


def cases() -> list[Any]:
    """Return updates, limit, option and normalisation.

    All options after one update, some after a hundred and with normalisation; before a release all.
    """
    found = []
    for option, layer_norm in product(OPTIONS, (PLAIN, NORMALISED)):
        name = f"{option}, normalised" if layer_norm else f"{option}"
        for updates, limit in ((1, 1e-5), (100, 1e-3)):
            quick = option in SOME or (updates == 1 and not layer_norm)
            marks = [] if quick else [pytest.mark.release]
            case = updates, limit, option, layer_norm
            found.append(pytest.param(*case, id=f"{updates}-{name}", marks=marks))
    return found


def test_some_options_are_every_pair_of_values() -> None:
    for first, second in combinations(range(len(OPTIONS[0])), 2):
        every = {(option[first], option[second]) for option in OPTIONS}
        assert {(option[first], option[second]) for option in SOME} == every


@pytest.mark.parametrize(("updates", "limit", "option", "layer_norm"), cases())
def test_the_compiled_update_stays_with_the_reference(
    updates: int, limit: float, option: Any, layer_norm: bool
) -> None:
    compiled, reference = both_after(updates, option, layer_norm)
    errors = {name: error(compiled[name], expected) for name, expected in reference.items()}
    assert max(errors.values()) <= limit, max(errors, key=errors.__getitem__)
