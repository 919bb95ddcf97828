"""All algorithms, one immutable entry each; does not load torch.

To add one, write its agent (see :mod:`td3core.algorithm.agent`) and add an entry here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmEntry:
    """Facts about an algorithm that are known before it is loaded."""

    title: str
    """Name shown to the user."""
    agent: str
    """``module:class``, imported when an agent is made."""
    networks: str = "td3core.config.networks:actor_and_critics"
    """``module:function`` that returns its networks by role, in drawing order, for settings and
    sizes; imported on demand, and must not load torch."""
    tracer: str = ""
    """``module:class`` of its :class:`~td3core.algorithm.agent.UpdateTracer`, which shows a single
    update; empty without one."""
    fixed: tuple[tuple[str, Any], ...] = ()
    """Names and values of the settings that the algorithm fixes."""
    critic_loss: str = "squared"
    """The loss of its critics; values of different losses are not compared."""
    own: tuple[str, ...] = ()
    """Settings that no other algorithm uses."""

    def differing(self, config: object, tunables: object) -> list[tuple[str, Any]]:
        """Return names and required values of fixed settings that have another value here."""
        return [
            (name, value)
            for name, value in self.fixed
            if getattr(config, name, getattr(tunables, name, None)) != value
        ]


TD3, DDPG, TQC = "td3", "ddpg", "tqc"
_TD3_AGENT = "td3core.algorithm.td3:TD3"
_TD3_TRACER = "td3core.algorithm.trace:TD3Tracer"

ALGORITHMS: Mapping[str, AlgorithmEntry] = MappingProxyType(
    {
        TD3: AlgorithmEntry(title="TD3", agent=_TD3_AGENT, tracer=_TD3_TRACER),
        # TD3 without any of its three tricks (Fujimoto et al. 2018, section 6.1).
        DDPG: AlgorithmEntry(
            title="DDPG",
            agent=_TD3_AGENT,
            tracer=_TD3_TRACER,
            fixed=(("twin_critics", False), ("policy_delay", 1), ("policy_noise", 0.0)),
        ),
        # TD3 whose critics learn the distribution of the return (Kuznetsov et al. 2020).
        TQC: AlgorithmEntry(
            title="TQC",
            agent="td3core.algorithm.tqc:TQC",
            networks="td3core.config.networks:actor_and_quantile_critics",
            tracer="td3core.algorithm.trace:TQCTracer",
            critic_loss="quantile Huber",
            own=("quantiles", "dropped_quantiles"),
        ),
    }
)


def entry_of(algorithm: str) -> AlgorithmEntry:
    """Return the algorithm of this name."""
    return ALGORITHMS[algorithm]


def unused_by(algorithm: str) -> frozenset[str]:
    """Return the settings that only other algorithms use; for an unknown name, those of all."""
    others = (entry.own for name, entry in ALGORITHMS.items() if name != algorithm)
    return frozenset(name for own in others for name in own)


def fixed_by(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that the algorithm named in ``values`` fixes."""
    named = values.get("algorithm", TD3)
    entry = ALGORITHMS.get(named) if isinstance(named, str) else None
    return dict(entry.fixed) if entry is not None else {}
