"""The shape of every tensor that a configuration calls for."""

from itertools import pairwise

from td3core.checkpoint.header import Header
from td3core.inference.normaliser import Normaliser


def network_shapes(header: Header) -> dict[str, tuple[int, ...]]:
    """Return the shape of every weight and bias that the configuration calls for."""
    obs, act, config = header.env.obs_dim, header.env.act_dim, header.config
    actor = (obs, *config.actor_hidden, act)
    critic = (obs + act, *config.critic_hidden, 1)
    networks = {"actor": actor, "critic1": critic}
    if config.twin_critics:
        networks["critic2"] = critic
    if header.complete:
        networks |= {f"{name}_target": widths for name, widths in networks.items()}
    shapes: dict[str, tuple[int, ...]] = {}
    for name, widths in networks.items():
        for i, (n, m) in enumerate(pairwise(widths)):
            shapes |= {f"{name}.{i}.weight": (m, n), f"{name}.{i}.bias": (m,)}
    return shapes


def statistics_shapes(header: Header) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the statistics that normalising needs, if the agent does."""
    return Normaliser.shapes(header.env.obs_dim) if header.config.normalize_observations else {}
