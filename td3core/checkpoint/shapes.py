"""The shapes of the tensors that a configuration implies."""

from td3core.checkpoint.header import Header
from td3core.inference.normaliser import Normaliser


def network_shapes(header: Header) -> dict[str, tuple[int, ...]]:
    """Return the shape of every weight and bias that the configuration implies."""
    shapes: dict[str, tuple[int, ...]] = {}
    for group in header.networks.values():
        for name in (*group.names, *(group.targets if header.complete else ())):
            shapes |= group.shapes(name)
    return shapes


def statistics_shapes(header: Header) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the normalisation statistics; empty if the agent uses none."""
    return Normaliser.shapes(header.env.obs_dim) if header.config.normalize_observations else {}
