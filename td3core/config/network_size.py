"""How much memory the networks of some settings take."""

from td3core.config.networks import Sizes, networks
from td3core.config.run_config import RunConfig
from td3core.config.tunables import Tunables

_BYTES = 4
_VECTORS = 5
"""Per parameter: weight, target, gradient and the two moments of Adam."""
_ACTIVATIONS = 2
"""Per unit and sample of a batch: its output and the gradient of it."""


def network_bytes(config: RunConfig, tunables: Tunables, sizes: Sizes) -> int:
    """Return the least number of bytes that training the networks takes."""
    total = 0
    for group in networks(config, sizes).values():
        activations = tunables.batch_size * sum(group.widths[1:])
        each = _VECTORS * group.parameters + _ACTIVATIONS * activations
        total += len(group.names) * _BYTES * each
    return total
