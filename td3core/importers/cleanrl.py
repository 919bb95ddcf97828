"""Reads the ``.cleanrl_model`` files of CleanRL's TD3 and DDPG: online networks only."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Floats
from td3core.importers.archive import read_file
from td3core.importers.damage import UnexpectedError, reading
from td3core.importers.foreign import (
    NO_OPTIMISERS,
    NO_TARGETS,
    OWN_SETTINGS,
    ForeignAgent,
    Layers,
    env_in_name,
    require_no_more,
    scaled_input,
    source,
    take_layers,
)
from td3core.importers.tensors import read_pth, state_dict

_SUFFIX = ".cleanrl_model"


def is_readable(path: Path) -> bool:
    """Return whether a file is of this kind, by its name."""
    return path.suffix.lower() == _SUFFIX


def read(path: Path) -> ForeignAgent:
    """Return the agent of a file.

    Raises:
        RequestError: it cannot be imported; the message names file, part and reason.
    """
    with reading(path.name, "the file"):
        data = read_file(path)
        parts = read_pth(data)
        if not isinstance(parts, tuple) or len(parts) not in (2, 3):
            raise UnexpectedError("there is not an actor with one or two critics")
    with reading(path.name, "the actor"):
        tensors = state_dict(parts[0])
        scale, bias = (_taken_row(tensors, name) for name in ("action_scale", "action_bias"))
        actor = take_layers(tensors, ("fc1", "fc2", "fc_mu"), outputs=scale.size)
        require_no_more(tensors)
        if bias.size != scale.size or not (scale > 0).all():
            raise UnexpectedError("action_scale and action_bias are no bounds")
    critics = []
    for at, part in enumerate(parts[1:], 1):
        with reading(path.name, f"qf{at}"):
            critics.append(_critic(state_dict(part), actor, scale, bias))
    return ForeignAgent(
        kind=f"CleanRL {'TD3' if len(critics) > 1 else 'DDPG'}",
        actor=actor,
        critics=tuple(critics),
        low=bias - scale,
        high=bias + scale,
        likely_env=env_in_name(path),
        settings={} if len(critics) > 1 else {"policy_delay": 1, "policy_noise": 0.0},
        notes=(OWN_SETTINGS, NO_TARGETS, NO_OPTIMISERS),
        sources=(source(path.name, data),),
    )


def _critic(tensors: dict[str, NDArray[Any]], actor: Layers, scale: Floats, bias: Floats) -> Layers:
    obs = actor[0][0].shape[1]
    found = take_layers(tensors, ("fc1", "fc2", "fc3"), inputs=obs + scale.size, outputs=1)
    require_no_more(tensors)
    # It was trained on actions in the environment's bounds.
    return scaled_input(found, obs, scale, bias)


def _taken_row(tensors: dict[str, NDArray[Any]], key: str) -> Floats:
    """Return one value per action; vectorised environments repeat them in rows."""
    if key not in tensors:
        raise UnexpectedError("{key} is missing", key=key)
    found = np.atleast_2d(tensors.pop(key))
    rows: Floats = found.astype(np.float32)
    if found.dtype != np.float32 or found.ndim != 2 or not len(found) or (rows != rows[0]).any():
        raise UnexpectedError("{key} is not a number for each action", key=key)
    if not np.isfinite(rows).all():
        raise UnexpectedError("{key} holds values that are not numbers", key=key)
    first: Floats = rows[0]
    return first
