"""How much memory the networks of some settings take."""

from itertools import pairwise

from td3core.config.run_config import RunConfig
from td3core.config.tunables import Tunables

_BYTES = 4
_VECTORS = 5
"""Per parameter: weight, target, gradient and the two moments of Adam."""
_ACTIVATIONS = 2
"""Per unit and sample of a batch: its output and the gradient of it."""


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
