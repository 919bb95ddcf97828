"""Structure of networks: names, widths, activations.

The networks of an algorithm are declared once, in its entry in :mod:`~td3core.config.algorithms`.
Checkpoints and their checks, memory estimates, NumPy's actor and critics, exports and both updates
use this declaration.
"""

from collections.abc import Callable
from itertools import pairwise
from pkgutil import resolve_name
from typing import NamedTuple

from td3core.config.algorithms import entry_of
from td3core.config.run_config import RunConfig

ACTOR, CRITIC = "actor", "critic"
"""Roles of a group of networks: choosing actions, and estimating their value."""

TARGET = "_target"
"""Suffix of a target network's name."""


class Sizes(NamedTuple):
    """Sizes of an environment that determine the networks."""

    obs_dim: int
    act_dim: int


class NetworkGroup(NamedTuple):
    """Networks of one structure, trained by one optimiser; each has a target network."""

    names: tuple[str, ...]
    """Prefixes of the tensor names in a checkpoint."""
    widths: tuple[int, ...]
    """From input to output."""
    activation: str
    """Activation of the hidden layers, ``relu`` or ``tanh``."""
    layer_norm: bool = False
    """Layer normalisation of the pre-activations of hidden layers."""

    @property
    def parameters(self) -> int:
        """Number of weights and biases of one network."""
        return sum((n + 1) * m for n, m in pairwise(self.widths))

    @property
    def targets(self) -> tuple[str, ...]:
        """Prefixes of the targets' tensor names."""
        return tuple(f"{name}{TARGET}" for name in self.names)

    def layers(self, name: str) -> list[tuple[str, str]]:
        """Return the names of weight and bias of each layer of a network."""
        count = len(self.widths) - 1
        return [(f"{name}.{i}.weight", f"{name}.{i}.bias") for i in range(count)]

    def shapes(self, name: str) -> dict[str, tuple[int, ...]]:
        """Return the shape of every weight (out, in) and bias (out,) of a network."""
        found: dict[str, tuple[int, ...]] = {}
        for (weight, bias), (n, m) in zip(self.layers(name), pairwise(self.widths), strict=True):
            found |= {weight: (m, n), bias: (m,)}
        return found


def actor_and_critics(
    config: RunConfig, sizes: Sizes, *, outputs: int = 1
) -> dict[str, NetworkGroup]:
    """Return an actor, and one or two critics with ``outputs`` outputs each."""
    obs, act = sizes
    critics = ("critic1", "critic2") if config.twin_critics else ("critic1",)
    return {
        ACTOR: NetworkGroup(("actor",), (obs, *config.actor_hidden, act), config.actor_activation),
        CRITIC: NetworkGroup(
            critics,
            (obs + act, *config.critic_hidden, outputs),
            config.critic_activation,
            config.critic_layer_norm,
        ),
    }


def actor_and_quantile_critics(config: RunConfig, sizes: Sizes) -> dict[str, NetworkGroup]:
    """Return an actor, and one or two critics with one output per quantile of the return."""
    return actor_and_critics(config, sizes, outputs=config.quantiles)


def networks(config: RunConfig, sizes: Sizes) -> dict[str, NetworkGroup]:
    """Return the networks that the settings define, by role, in drawing order."""
    declared: Callable[[RunConfig, Sizes], dict[str, NetworkGroup]]
    declared = resolve_name(entry_of(config.algorithm).networks)
    return declared(config, sizes)


def optimizer_of(role: str) -> str:
    """Return the prefix of the names of an optimiser's tensors."""
    return f"{role}_adam"


LAST_LR = f"{optimizer_of(ACTOR)}.lr"
"""The name of the learning rate of the actor's last step, shape (1,).

Present only if it differs from that of the settings.
"""
