"""Checks that a checkpoint is complete and consistent enough to resume from.

Checked before anything starts, so that a damaged or forged file cannot fail a run later.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from td3core.buffer.buffer_file import SUMS
from td3core.checkpoint import Checkpoint
from td3core.config.networks import LAST_LR, optimizer_of
from td3core.errors import RequestError
from td3core.text import Text

_MOST_SHOWN = 9
_OLD_SUMS = "tally.sums"
"""Version 0.1 stored the sums of its six metrics in one tensor."""

_LARGEST = 10**12
"""More steps than any run takes; sums and products of such numbers fit in 64 bits."""

_LARGEST_NOISE = 1000.0
"""In units of σ: no normal generator draws numbers this large, correlated or not."""

Array = NDArray[Any]
Kind = tuple[tuple[int, ...], str]


def require_resumable(name: str, saved: Checkpoint) -> None:
    """Refuse a checkpoint that a run could not resume from; ``name`` is its file name.

    Raises:
        RequestError: it holds only networks, or no run can have this state.
    """
    counters = saved.header.counters
    if not saved.header.complete:
        raise RequestError(
            "{name} holds an exported agent: it can act, but not continue training.", name=name
        )
    if "episodes.numbers" not in saved.tensors:
        raise RequestError("{name} was saved by a version that could not resume it.", name=name)
    kinds = _state_kinds(saved)
    for what, (shape, dtype) in kinds.items():
        found = saved.tensors.get(what)
        if found is None:
            raise RequestError("{name} lacks the tensor {tensor}.", name=name, tensor=what)
        if found.shape != shape or found.dtype != dtype:
            raise RequestError(
                "{name} holds {tensor} as {dtype} of shape {shape}, not as {wanted} of shape"
                " {wanted_shape}.",
                name=name,
                tensor=what,
                dtype=str(found.dtype),
                shape=found.shape if found.ndim < _MOST_SHOWN else Text("many dimensions"),
                wanted=dtype,
                wanted_shape=shape,
            )
        if not np.isfinite(found).all():
            raise RequestError(
                "{name} holds {tensor} with values that are not numbers.", name=name, tensor=what
            )
    if not (_consistent_counters(saved) and _consistent_generators(saved, kinds)):
        raise RequestError(
            "{name} is inconsistent: its counters, episodes and generators do not fit together at"
            " step {step}.",
            name=name,
            step=counters.env_steps,
        )


def _state_kinds(saved: Checkpoint) -> dict[str, Kind]:
    """Return shape and dtype of everything a run restores besides networks and statistics."""
    env, config = saved.header.env, saved.header.config
    kinds: dict[str, Kind] = {
        "tally.counts": ((2,), "int64"),
        "episodes.numbers": ((config.num_envs, 5), "float64"),
        "episodes.obs": ((config.num_envs, env.obs_dim), "float32"),
        "generator.smoothing": ((6,), "uint64"),
        "generator.replay": ((6,), "uint64"),
    }
    # The measured quantities differ between versions.
    kinds |= {name: ((1,), "float64") for name in saved.tensors if _is_sum(name)}
    if _OLD_SUMS in saved.tensors:
        kinds[_OLD_SUMS] = ((6,), "float64")
    # Present if a step was incomplete, if noise is correlated, or if a learning rate has changed.
    optional: dict[str, Kind] = {
        "episodes.actions": ((config.num_envs, env.act_dim), "float32"),
        "episodes.updated": ((1,), "uint8"),
        "episodes.noise": ((config.num_envs, env.act_dim), "float32"),
        LAST_LR: ((1,), "float64"),
    }
    kinds |= {name: kind for name, kind in optional.items() if name in saved.tensors}
    for slot in range(config.num_envs):
        suffix = f".{slot}" if slot else ""
        kinds |= {f"generator.{n}{suffix}": ((6,), "uint64") for n in ("warm_up", "exploration")}
    for role, group in saved.header.networks.items():
        optimizer = optimizer_of(role)
        kinds[f"{optimizer}.step"] = ((1,), "float32")
        for network in group.names:
            for name, shape in group.shapes(network).items():
                for moment in ("exp_avg", "exp_avg_sq"):
                    kinds[f"{optimizer}.{name}.{moment}"] = (shape, "float32")
    if SUMS in saved.tensors:
        kinds[SUMS] = ((saved.tensors[SUMS].size,), "uint32")
    return kinds


def _is_sum(name: str) -> bool:
    return name.startswith("tally.") and name not in ("tally.counts", _OLD_SUMS)


def _consistent_counters(saved: Checkpoint) -> bool:
    """Return whether a run could have these counters and positions of episodes."""
    counters, tensors = saved.header.counters, saved.tensors
    counts = (counters.updates, counters.episodes, counters.no_updates_until, counters.changes)
    if max(counters.env_steps, *counts) > _LARGEST:
        return False
    if not counters.unmarked <= counters.stored <= counters.env_steps:
        return False
    whole, tallied = tensors["episodes.numbers"][:, :3], tensors["tally.counts"]
    if whole.min() < 0 or whole.max() > _LARGEST or (whole % 1).any():
        return False
    began_at, length = whole[:, 1], whole[:, 2]
    if (began_at + len(whole) * length != counters.env_steps).any():
        return False
    noise = counters.exploration_noise
    return bool(0 <= tallied.min() <= tallied.max() <= counters.updates and 0.0 <= noise <= 2.0)


def _consistent_generators(saved: Checkpoint, names: Iterable[str]) -> bool:
    """Return whether a run could have these generators, optimisers and actions."""
    tensors = saved.tensors
    if np.abs(tensors.get("episodes.actions", 0.0)).max() > 1.0:
        return False
    if np.abs(tensors.get("episodes.noise", 0.0)).max() > _LARGEST_NOISE:
        return False
    generators = np.array([tensors[n] for n in names if n.startswith("generator.")])
    if (generators[:, 4] > 1).any() or (generators[:, 5] >= 2**32).any():
        return False
    # With an even increment PCG64 may repeat one number forever, so that a draw never returns.
    if (generators[:, 3] % 2 == 0).any():
        return False
    if not 0.0 <= tensors.get(LAST_LR, np.zeros(1))[0] <= 1.0:
        return False
    never_negative = [a for n, a in tensors.items() if n.endswith((".exp_avg_sq", "_adam.step"))]
    return all((array >= 0).all() for array in never_negative)
