"""Reads the statistics of a ``vecnormalize.pkl`` of stable-baselines3.

Both programs give the networks clip((s - mean) / sqrt(variance + ε), ±clip), and both store raw
observations. The studio's clip and ε are fixed; other values are refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from td3core.importers.archive import read_file
from td3core.importers.damage import UnexpectedError, reading
from td3core.importers.foreign import ForeignAgent, Statistics, source
from td3core.importers.inert_pickle import Made, array_of, read_pickle
from td3core.inference.normaliser import OBS_CLIP
from td3core.text import Text

_EPSILON = 1e-8
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True, kw_only=True)
class VecNormalize:
    """Normalisation of observations and rewards in a file."""

    observations: Statistics | None
    """None if observations are not normalised."""
    reward_scale: float | None
    """The factor of the rewards when saved; None if they were not scaled."""
    source: tuple[str, str]


def read(path: Path, obs_dim: int) -> VecNormalize:
    """Read the statistics for observations of this size.

    Raises:
        RequestError: it cannot be imported; the message names file, part and reason.
    """
    with reading(path.name, "the file"):
        data = read_file(path)
        made = read_pickle(data)
        if not isinstance(made, Made) or not str(made).endswith(".VecNormalize"):
            raise UnexpectedError("there is no VecNormalize")
        state = made.state
        if not isinstance(state, dict):
            raise UnexpectedError("VecNormalize has no attributes")
    observations = rewards = None
    if state.get("norm_obs", True):
        with reading(path.name, "obs_rms"):
            observations = _observations(state, obs_dim)
    if state.get("norm_reward", True):
        with reading(path.name, "ret_rms"):
            _, variance = _moments(state.get("ret_rms"), ())
            rewards = float(1.0 / np.sqrt(variance + _number(state, "epsilon")))
    return VecNormalize(
        observations=observations, reward_scale=rewards, source=source(path.name, data)
    )


def normalised(agent: ForeignAgent, path: Path) -> ForeignAgent:
    """Return an agent with the statistics that it was trained with.

    Raises:
        RequestError: it cannot be imported; the message names file, part and reason.
    """
    found = read(path, agent.obs_dim)
    settings, notes = dict(agent.settings), list(agent.notes)
    if found.reward_scale is not None and agent.critics:
        settings["reward_scale"] = found.reward_scale
        notes.append(
            Text(
                "Rewards were divided by a running deviation; a branch multiplies them by its last"
                " value, {scale:.4g}.",
                scale=found.reward_scale,
            )
        )
    return replace(
        agent,
        normalisation=found.observations,
        settings=settings,
        notes=tuple(notes),
        sources=(*agent.sources, found.source),
    )


def _observations(state: Mapping[str, Any], obs_dim: int) -> Statistics | None:
    clip, epsilon = _number(state, "clip_obs"), _number(state, "epsilon")
    if clip != OBS_CLIP:
        raise UnexpectedError(
            "observations are clipped at {clip:g}; only {known:g} is known",
            clip=clip,
            known=OBS_CLIP,
        )
    if epsilon < _EPSILON:
        raise UnexpectedError("epsilon is {epsilon:g}", epsilon=epsilon)
    mean, variance = _moments(state.get("obs_rms"), (obs_dim,))
    count = float(_numbers(_attributes(state.get("obs_rms")).get("count")))
    if not 0 <= count <= 1e15:
        raise UnexpectedError("there is no number of observations")
    # A larger ε is equivalent to a larger variance.
    variance = variance + (epsilon - _EPSILON)
    if count <= 1:
        if mean.any() or not np.allclose(variance, 1.0):
            raise UnexpectedError("there are statistics, but no observations were counted")
        return Statistics(count=0.0, mean=mean, variance=np.ones(obs_dim))
    return Statistics(count=count, mean=mean, variance=variance)


def _attributes(made: Any) -> Mapping[str, Any]:
    if isinstance(made, dict):
        raise UnexpectedError("observations are a dictionary")
    if not isinstance(made, Made) or not isinstance(made.state, dict):
        raise UnexpectedError("there is no running mean")
    return made.state


def _moments(made: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return mean and variance of this shape, in float64."""
    found = []
    for name in ("mean", "var"):
        value = _numbers(_attributes(made).get(name))
        if value.shape != shape or value.dtype.kind != "f":
            raise UnexpectedError("{name} has the shape {shape}", name=name, shape=value.shape)
        wide = value.astype(np.float64)
        if not np.isfinite(wide).all() or np.abs(wide).max(initial=0.0) > _LARGEST:
            raise UnexpectedError("{name} holds values that are not numbers", name=name)
        found.append(wide)
    if (found[1] < 0).any():
        raise UnexpectedError("var is negative")
    return found[0], found[1]


def _numbers(value: Any) -> Any:
    """Return an array, or a plain number as an array."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return np.float64(value)
    return array_of(value)


def _number(state: Mapping[str, Any], name: str) -> float:
    value = state.get(name)
    if isinstance(value, Made):
        value = array_of(value).item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnexpectedError("{name} is no number", name=name)
    return float(value)
