"""Memory required by the networks of given settings."""

from td3core.config.networks import Sizes, networks
from td3core.config.run_config import RunConfig
from td3core.config.settings import values_of
from td3core.config.tunables import Tunables

_BYTES = 4
_VECTORS = 5
"""float32 numbers per parameter: weight, target, gradient and two moments of Adam."""
_ACTIVATIONS = 2
"""float32 numbers per unit and sample of a batch: its output and gradient. Layer normalisation adds
its normalised pre-activation."""


def network_bytes(config: RunConfig, tunables: Tunables, sizes: Sizes) -> int:
    """Return a lower bound of the memory for training the networks, in bytes."""
    total, batch_size = 0, max(values_of(tunables, "batch_size"))
    for group in networks(config, sizes).values():
        activations = batch_size * sum(group.widths[1:])
        each = _VECTORS * group.parameters + (_ACTIVATIONS + group.layer_norm) * activations
        total += len(group.names) * _BYTES * each
    return total
