"""The algorithms there are, one immutable entry each; known without loading torch.

To add one, write its agent (see :mod:`td3core.algorithm.agent`) and add an entry here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from td3core.config.networks import NetworkGroup, Sizes, actor_and_critics

if TYPE_CHECKING:
    from td3core.config.run_config import RunConfig
    from td3core.config.tunables import Tunables


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmEntry:
    """What is known of an algorithm before it is loaded."""

    title: str
    """What people call it."""
    agent: str
    """``module:class``, imported when an agent is made."""
    networks: Callable[["RunConfig", Sizes], dict[str, NetworkGroup]]
    """Its networks by role, in the order in which they are drawn."""
    tracer: str = ""
    """``module:class`` of what shows a single update of it (see
    :class:`~td3core.algorithm.agent.UpdateTracer`); empty without."""
    fixed: tuple[tuple[str, Any], ...] = ()
    """Names and values of settings that it leaves no choice of."""

    def differing(self, config: "RunConfig", tunables: "Tunables") -> list[tuple[str, Any]]:
        """Return names and fixed values of settings that have another value."""
        return [
            (name, value)
            for name, value in self.fixed
            if getattr(config, name, getattr(tunables, name, None)) != value
        ]


TD3, DDPG = "td3", "ddpg"
_TD3_AGENT = "td3core.algorithm.td3:TD3"
_TD3_TRACER = "td3core.algorithm.trace:TD3Tracer"

ALGORITHMS: Mapping[str, AlgorithmEntry] = MappingProxyType(
    {
        TD3: AlgorithmEntry(
            title="TD3", agent=_TD3_AGENT, networks=actor_and_critics, tracer=_TD3_TRACER
        ),
        # TD3 without any of its three tricks (Fujimoto et al. 2018, section 6.1).
        DDPG: AlgorithmEntry(
            title="DDPG",
            agent=_TD3_AGENT,
            networks=actor_and_critics,
            tracer=_TD3_TRACER,
            fixed=(("twin_critics", False), ("policy_delay", 1), ("policy_noise", 0.0)),
        ),
    }
)


def entry_of(config: "RunConfig") -> AlgorithmEntry:
    """Return the algorithm that settings name."""
    return ALGORITHMS[config.algorithm]


def networks(config: "RunConfig", sizes: Sizes) -> dict[str, NetworkGroup]:
    """Return the networks that settings call for, in the order in which they are drawn."""
    return entry_of(config).networks(config, sizes)


def fixed_by(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that the algorithm named in ``values`` fixes."""
    named = values.get("algorithm", TD3)
    entry = ALGORITHMS.get(named) if isinstance(named, str) else None
    return dict(entry.fixed) if entry is not None else {}


def title_of(config: "RunConfig", tunables: "Tunables") -> str:
    """Return what to call the algorithm that settings amount to: TD3 without its tricks is DDPG."""
    chosen = entry_of(config)
    for entry in ALGORITHMS.values():
        same = entry.agent == chosen.agent
        if same and entry.fixed and not entry.differing(config, tunables):
            return entry.title
    return chosen.title
