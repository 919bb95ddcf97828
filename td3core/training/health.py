"""Health of networks and replay buffer: measured at intervals, outside the update.

All metrics depend only on the current agent and buffer, so a resumed run measures the same as an
uninterrupted one. Definitions: dormant units as in Sokar et al. (2023), dead units being those of
score 0; feature rank as in Kumar et al. (2021), with δ = 0.01; policy change as in Schaul et al.
(2022), for continuous actions.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from td3core.algorithm.adam import last_step
from td3core.algorithm.agent import Algorithm
from td3core.arrays import Arrays, Floats
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.buffer.rows import Batch
from td3core.buffer.sampler import Sampler
from td3core.config import RunConfig
from td3core.config.networks import (
    ACTOR,
    CRITIC,
    LAST_LR,
    NetworkGroup,
    Sizes,
    networks,
    optimizer_of,
)
from td3core.inference.forward import Layers, layer_outputs
from td3core.playing.numbers import SATURATED

HEALTH_STEPS = 1_000
"""Environment steps between measurements: for width 256, the singular values alone take 10 ms."""
_PROBE = 512
"""Number of states, evenly spaced over the buffer. The rank needs at least as many as the layer has
units, usually 256."""
_DORMANT = 0.025
_DELTA = 0.01


class Outputs(NamedTuple):
    """Outputs of a network's layers for a batch."""

    hidden: list[Floats]
    """Activations of each hidden layer, (batch, width)."""
    out: Floats
    """(batch, out)"""


def measure(
    agent: Algorithm,
    config: RunConfig,
    buffer: ReplayBuffer,
    sampler: Sampler,
) -> dict[str, float]:
    """Return health metrics of an agent and its non-empty buffer, by name.

    Metrics that the agent's networks do not have are absent.

    Args:
        agent: The agent.
        config: Its settings.
        buffer: Its replay buffer.
        sampler: Makes its batches.
    """
    found = _of_buffer(buffer, agent.tunables.reward_floor)
    layout, tensors = buffer.layout, agent.state()
    groups = networks(config, Sizes(layout.action, layout.reward - layout.action))
    if not {ACTOR, CRITIC} <= groups.keys():
        return found
    nets = {
        name: [(tensors[weight], tensors[bias]) for weight, bias in group.layers(name)]
        for group in (groups[ACTOR], groups[CRITIC])
        for name in (*group.names, *group.targets)
    }
    newest, oldest = buffer.stored - 1, buffer.stored - buffer.size
    batch = _batch(sampler, agent, buffer, np.linspace(oldest, newest, _PROBE).astype(np.int64))
    (actor,) = _outputs(groups[ACTOR], nets, batch.obs)
    action = np.tanh(actor.out)
    pair = np.concatenate((batch.obs, action), axis=1)
    values = _outputs(groups[CRITIC], nets, pair)
    saturated = (np.abs(action) >= SATURATED).mean(axis=0)
    found |= {"saturated": float(saturated.mean()), "saturated_most": float(saturated.max())}
    found |= _units("actor", actor.hidden)
    found |= _units("critic", [hidden for each in values for hidden in each.hidden])
    if values[0].hidden:
        features = values[0].hidden[-1]
        found["critic_rank"] = rank(features) / features.shape[1]
    for group in (groups[ACTOR], groups[CRITIC]):
        for name, target in zip(group.names, group.targets, strict=True):
            found[f"{name}_lag"] = _distance(nets[target], nets[name])
    bound = found["reward_most"] / max(1.0 - agent.tunables.gamma, 1e-9)
    if bound > 0.0:
        largest = max(float(np.abs(each.out.mean(axis=1)).max()) for each in values)
        found["q_to_bound"] = largest / bound
    fixed = np.arange(oldest, min(oldest + _PROBE, buffer.stored))
    states = _batch(sampler, agent, buffer, fixed).obs
    lr = float(tensors.get(LAST_LR, [agent.tunables.actor_lr])[0])
    before = _before_last_step(tensors, groups[ACTOR], lr)
    if before:
        moved = np.tanh(_outputs(groups[ACTOR], before, states)[0].out)
        moved -= np.tanh(_outputs(groups[ACTOR], nets, states)[0].out)
        found["policy_change"] = float(np.linalg.norm(moved.astype(np.float64), axis=1).mean())
    return found


def _batch(
    sampler: Sampler, agent: Algorithm, buffer: ReplayBuffer, numbers: NDArray[np.int64]
) -> Batch[Floats]:
    """Return transitions by number as an update uses them: n-step and normalised."""
    rows = numbers % len(buffer.rows)
    return next(iter(sampler.take(rows[None], agent.tunables)))


def _before_last_step(tensors: Arrays, group: NetworkGroup, lr: float) -> dict[str, Layers]:
    """Return the actor before its last step of learning rate ``lr``, undone by Adam's moments.

    Empty if it has not been stepped.
    """
    adam = optimizer_of(ACTOR)
    steps = tensors.get(f"{adam}.step")
    t = 0.0 if steps is None else float(np.ravel(steps)[0])
    if not t:
        return {}

    def undone(name: str) -> Floats:
        moment, square = (tensors[f"{adam}.{name}.{each}"] for each in ("exp_avg", "exp_avg_sq"))
        step = last_step(moment, square, lr, t)
        before: Floats = np.add(tensors[name], step, dtype=np.float32)
        return before

    return {
        name: [(undone(weight), undone(bias)) for weight, bias in group.layers(name)]
        for name in group.names
    }


def _of_buffer(buffer: ReplayBuffer, floor: float) -> dict[str, float]:
    rewards = np.maximum(buffer.rewards(), np.float32(floor))
    return {
        "buffer_age": (buffer.size - 1) / 2,
        "reward_mean": float(rewards.mean(dtype=np.float64)),
        "reward_most": float(np.abs(rewards).max()),
    }


def _outputs(group: NetworkGroup, nets: Mapping[str, Layers], x: Floats) -> list[Outputs]:
    """Run each network of a group on ``x`` (batch, in)."""
    return [_run(nets[name], x, group) for name in group.names]


def _run(layers: Layers, x: Floats, group: NetworkGroup) -> Outputs:
    """Run a network of this structure on ``x`` (batch, in)."""
    *hidden, out = layer_outputs(layers, x, group.activation, normalised=group.layer_norm)
    return Outputs(hidden, out)


def _units(role: str, hidden: Sequence[Floats]) -> dict[str, float]:
    """Return the fractions of hidden units that are dead and dormant."""
    if not hidden:
        return {}
    scores = []
    for outputs in hidden:
        size = np.abs(outputs).mean(axis=0, dtype=np.float64)
        mean = size.mean()
        scores.append(size / mean if mean else size)
    every = np.concatenate(scores)
    return {
        f"{role}_dead": float((every == 0.0).mean()),
        f"{role}_dormant": float((every <= _DORMANT).mean()),
    }


def rank(features: Floats) -> float:
    """Return how many singular values of features (n, width) make up 99 % of their sum.

    NaN if a feature is not finite.
    """
    gram = features.T.astype(np.float64) @ features.astype(np.float64)
    if not np.isfinite(gram).all():
        # eigvalsh would report that it does not converge.
        return math.nan
    # In descending order. The Gram matrix halves the precision, which still suffices for 1 %.
    values = np.sqrt(np.linalg.eigvalsh(gram)[::-1].clip(0.0))
    total = values.sum()
    if not total:
        return 0
    return float(np.searchsorted(np.cumsum(values) / total, 1.0 - _DELTA)) + 1


def _distance(target: Layers, online: Layers) -> float:
    """Return ‖θ' - θ‖ / ‖θ‖."""
    far = near = 0.0
    for pair, there in zip(online, target, strict=True):
        for here, other in zip(pair, there, strict=True):
            far += float(np.square(other - here, dtype=np.float64).sum())
            near += float(np.square(here, dtype=np.float64).sum())
    return (far / near) ** 0.5 if near else 0.0
