"""Converts an agent of another program to a checkpoint for an environment."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Floats
from td3core.checkpoint import Checkpoint, Counters, Header, Origin
from td3core.checkpoint.shapes import network_shapes, statistics_shapes
from td3core.config import check_together, make_settings
from td3core.config.networks import ACTOR, CRITIC, TARGET, NetworkGroup, optimizer_of
from td3core.envs.catalogue import KNOWN
from td3core.envs.info import EnvInfo
from td3core.errors import RequestError
from td3core.importers.foreign import ForeignAgent, Layers, Moments, scaled_input
from td3core.inference.normaliser import Normaliser
from td3core.randomness import Purpose, generator, generator_state
from td3core.system.timestamp import now
from td3core.text import Text

USUAL_STEPS = 1_000_000
"""Length of a run if the file does not record its steps."""
_CLOSE = 1e-6

Tensors = dict[str, NDArray[Any]]


def checkpoint_of(agent: ForeignAgent, info: EnvInfo) -> Checkpoint:
    """Return an agent as a checkpoint for an environment, from which runs can branch.

    Raises:
        RequestError: the environment does not suit the agent, or a setting is out of range.
    """
    require_suitable(agent, info)
    if agent.scaled_actions:
        agent = _in_unit_range(agent, float(info.action_high[0]))
    values = {
        "env": info.env_id,
        "env_args": info.args,
        "steps": max(agent.env_steps, 1) if agent.env_steps else USUAL_STEPS,
        "actor_hidden": _widths(agent.actor),
        "actor_activation": agent.activation,
        "critic_activation": agent.activation,
        "twin_critics": len(agent.critics) != 1,
        "normalize_observations": agent.normalisation is not None,
        **({"critic_hidden": _widths(agent.critics[0])} if agent.critics else {}),
        **agent.settings,
    }
    config, tunables = make_settings(values)
    if agent.critics:
        check_together(config, tunables)
    header = Header(
        config=config,
        tunables=tunables,
        env=info,
        counters=Counters(
            env_steps=agent.env_steps,
            updates=agent.updates,
            sampled=agent.updates * tunables.batch_size,
            episodes=agent.episodes,
            exploration_noise=tunables.exploration_noise,
        ),
        evaluation=None,
        complete=bool(agent.critics),
        created=now(),
        origin=Origin(
            kind=agent.kind,
            file=agent.sources[0][0],
            sha256=agent.sha256,
            notes=agent.notes,
        ),
    )
    tensors = _tensors(agent, header)
    return Checkpoint(header=header, tensors=tensors)


def require_suitable(agent: ForeignAgent, info: EnvInfo) -> None:
    """Refuse an environment whose sizes or bounds differ from those of the agent.

    Raises:
        RequestError: they differ.
    """
    if (info.obs_dim, info.act_dim) != (agent.obs_dim, agent.act_dim):
        raise RequestError(
            "The agent has observations of size {obs} and actions of size {act}; those of {env}"
            " have {obs_there} and {act_there}.",
            obs=agent.obs_dim,
            act=agent.act_dim,
            env=info.env_id,
            obs_there=info.obs_dim,
            act_there=info.act_dim,
        )
    low, high = np.array(info.action_low), np.array(info.action_high)
    if agent.scaled_actions and not ((high == high[0]).all() and (low == -high[0]).all()):
        raise RequestError(
            "The agent has one largest action for all; the actions of {env} differ in their"
            " bounds.",
            env=info.env_id,
        )
    for name, saved, there in (("low", agent.low, low), ("high", agent.high, high)):
        # A bound near 0 may be the difference of two larger float32 numbers.
        close = _CLOSE * np.maximum(high - low, np.abs(there))
        if saved is not None and not (np.abs(saved - there) <= close).all():
            raise RequestError(
                "The agent's actions have the {name} bounds {saved}; those of {env} are {there}.",
                name=name,
                saved=_row(saved),
                env=info.env_id,
                there=_row(there),
            )


def fitting(agent: ForeignAgent) -> list[str]:
    """Return the known environments whose sizes match an agent."""
    sizes = (agent.obs_dim, agent.act_dim)
    return [each.env_id for each in KNOWN if (each.obs_dim, each.act_dim) == sizes]


def _row(values: Any) -> str:
    return ", ".join(f"{value:g}" for value in values[:8]) + (", …" if len(values) > 8 else "")


def _widths(layers: Layers) -> tuple[int, ...]:
    return tuple(bias.size for _, bias in layers[:-1])


def _in_unit_range(agent: ForeignAgent, largest: float) -> ForeignAgent:
    """Return an agent whose critics take actions in [-1, 1], with the moments to match."""
    scale = np.full(agent.act_dim, largest, np.float32)
    zero = np.zeros_like(scale)
    critics = tuple(scaled_input(each, agent.obs_dim, scale, zero) for each in agent.critics)
    moments = agent.critic_moments
    if moments is not None:
        per_network = 2 * len(agent.critics[0])
        firsts = range(0, len(moments.exp_avg), per_network)
        moments = replace(
            moments,
            exp_avg=_divided(moments.exp_avg, firsts, agent.obs_dim, scale),
            exp_avg_sq=_divided(moments.exp_avg_sq, firsts, agent.obs_dim, scale**2),
        )
    return replace(agent, critics=critics, critic_moments=moments)


def _divided(
    values: tuple[Floats, ...], firsts: range, begin: int, scale: Floats
) -> tuple[Floats, ...]:
    """Return moments to match input weights that were multiplied by ``scale``."""
    found = list(values)
    for at in firsts:
        found[at] = found[at].copy()
        found[at][:, begin:] /= scale
    return tuple(found)


# Tensors by their names in a checkpoint ----------------------------------------------------------


def _tensors(agent: ForeignAgent, header: Header) -> Tensors:
    groups = header.networks
    (actor,) = groups[ACTOR].names
    tensors = _network(groups[ACTOR], actor, agent.actor)
    if agent.normalisation is not None:
        tensors |= _statistics(agent)
    if agent.critics:
        names = groups[CRITIC].names
        tensors |= _network(groups[ACTOR], f"{actor}{TARGET}", agent.target_actor or agent.actor)
        targets = agent.target_critics or agent.critics
        for name, critic, target in zip(names, agent.critics, targets, strict=True):
            tensors |= _network(groups[CRITIC], name, critic)
            tensors |= _network(groups[CRITIC], f"{name}{TARGET}", target)
        tensors |= _moments(groups[ACTOR], ACTOR, agent.actor_moments)
        tensors |= _moments(groups[CRITIC], CRITIC, agent.critic_moments)
        tensors |= _state_of_a_run(header)
    wanted = statistics_shapes(header)
    if agent.critics:
        wanted |= network_shapes(header)
    for name, shape in wanted.items():
        assert tensors[name].shape == shape, name
    return tensors


def _network(group: NetworkGroup, name: str, layers: Layers) -> Tensors:
    found: Tensors = {}
    for names, values in zip(group.layers(name), layers, strict=True):
        found |= dict(zip(names, values, strict=True))
    return found


def _moments(group: NetworkGroup, role: str, known: Moments | None) -> Tensors:
    optimizer = optimizer_of(role)
    names = [each for name in group.names for pair in group.layers(name) for each in pair]
    shapes = {key: shape for name in group.names for key, shape in group.shapes(name).items()}
    found: Tensors = {
        f"{optimizer}.step": np.array([known.step if known else 0.0], np.float32),
    }
    for at, name in enumerate(names):
        for moment in ("exp_avg", "exp_avg_sq"):
            value = getattr(known, moment)[at] if known else np.zeros(shapes[name], np.float32)
            found[f"{optimizer}.{name}.{moment}"] = value
    return found


def _statistics(agent: ForeignAgent) -> Tensors:
    known = agent.normalisation
    assert known is not None
    names = dict.fromkeys(Normaliser.shapes(agent.obs_dim))
    values = (np.array([known.count]), known.mean, known.variance * known.count)
    return dict(zip(names, values, strict=True))


def _state_of_a_run(header: Header) -> Tensors:
    """Return the remaining state of a run: an episode about to begin, and random generators."""
    counters, seed = header.counters, header.config.seed
    purposes = {
        "warm_up": Purpose.WARM_UP,
        "exploration": Purpose.EXPLORATION,
        "replay": Purpose.REPLAY,
        "smoothing": Purpose.SMOOTHING,
    }
    state: Tensors = {
        f"generator.{name}": generator_state(generator(seed, purpose))
        for name, purpose in purposes.items()
    }
    episode = (counters.episodes, counters.env_steps, 0, 0.0, 0.0)
    state["episodes.numbers"] = np.array([episode], np.float64)
    state["episodes.obs"] = np.zeros((1, header.env.obs_dim), np.float32)
    state["tally.counts"] = np.zeros(2, np.int64)
    return state


def said_of(agent: ForeignAgent) -> list[Text]:
    """Return the notes on an import for the journal."""
    notes = list(agent.notes)
    if agent.critics:
        notes.append(
            Text(
                "The replay buffer is not in the file: a branch fills one with the agent's own"
                " noisy actions before it learns."
            )
        )
    return notes
