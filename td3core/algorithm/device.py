"""Where updates are computed, and whether the networks fit there."""

from itertools import pairwise

import torch

from td3core.buffer.replay_buffer import physical_memory
from td3core.config import RunConfig, Tunables
from td3core.errors import RequestError

_BYTES = 4
_VECTORS = 5
"""Per parameter: weight, target, gradient and the two moments of Adam."""
_ACTIVATIONS = 2
"""Per unit and sample of a batch: its output and the gradient of it."""


def require_device(name: str) -> None:
    """Refuse a device that is missing.

    Raises:
        RequestError: torch finds no GPU that it can use.
    """
    if name != "cuda" or torch.cuda.is_available():
        return
    if torch.version.cuda is None:
        raise RequestError("device cannot be cuda: this torch is a CPU build; use cpu.")
    raise RequestError("device cannot be cuda: torch finds no GPU; use cpu.")


def network_bytes(config: RunConfig, tunables: Tunables, obs_dim: int, act_dim: int) -> int:
    """Return the least number of bytes that training the networks takes."""
    critics = 2 if config.twin_critics else 1
    total = 0
    for members, widths in (
        (1, (obs_dim, *config.actor_hidden, act_dim)),
        (critics, (obs_dim + act_dim, *config.critic_hidden, 1)),
    ):
        parameters = sum(m * n + m for n, m in pairwise(widths))
        activations = tunables.batch_size * sum(widths[1:])
        total += members * _BYTES * (_VECTORS * parameters + _ACTIVATIONS * activations)
    return total


def require_memory(config: RunConfig, tunables: Tunables, obs_dim: int, act_dim: int) -> None:
    """Refuse networks that this machine cannot hold.

    Raises:
        RequestError: with the memory they need.
    """
    needed, room = network_bytes(config, tunables, obs_dim, act_dim), physical_memory()
    if needed > room:
        raise RequestError(
            "These networks and batch_size {batch} take {needed:.1f} GiB; this machine has"
            " {room:.1f} GiB. Choose smaller actor_hidden or critic_hidden.",
            batch=tunables.batch_size,
            needed=needed / 2**30,
            room=room / 2**30,
        )
