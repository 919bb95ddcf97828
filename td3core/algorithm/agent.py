"""The interface between a run and an algorithm, and the factories of agents."""

from pkgutil import resolve_name
from typing import Any, Protocol

from numpy.typing import NDArray

from td3core.arrays import Arrays
from td3core.buffer.sampler import Draws
from td3core.config import RunConfig, Tunables
from td3core.config.algorithms import entry_of
from td3core.config.networks import Sizes
from td3core.inference.normaliser import Normaliser
from td3core.inference.policy import Policy
from td3core.protocol.events import Traced


class Algorithm(Protocol):
    """Networks and the update that trains them.

    The constructor takes ``(config, tunables, obs_dim, act_dim)``; updates use ``config.engine``.
    """

    updates: int
    """Updates done so far."""
    tunables: Tunables
    """The current live settings."""

    def apply(self, tunables: Tunables) -> None:
        """Use these live settings from the next update on."""
        ...

    def update_from(self, draws: Draws) -> None:
        """Do the updates of ``draws``."""
        ...

    def policy(self, normaliser: Normaliser | None = None) -> Policy:
        """Return the actor as a NumPy policy that reflects every update."""
        ...

    def state(self) -> dict[str, NDArray[Any]]:
        """Return copies of everything a checkpoint needs, by name."""
        ...

    def load_state(self, arrays: Arrays, updates: int) -> None:
        """Restore what :meth:`state` returned, and the update counter."""
        ...

    def take_metrics(self) -> dict[str, float]:
        """Return means over the updates since the last call, by name; empty without an update."""
        ...

    def pending_metrics(self) -> dict[str, NDArray[Any]]:
        """Return the sums behind the next :meth:`take_metrics`, in the form of :meth:`state`."""
        ...

    def diverged_network(self) -> str | None:
        """Return the name of a network with a weight that is not finite, if there is one."""
        ...


class UpdateTracer(Protocol):
    """Does an update and returns its intermediate values."""

    def update(self, draws: Draws, *, env_steps: int, single: bool) -> Traced:
        """Do the one update of ``draws``, and return its trace.

        Leaves the agent as :meth:`Algorithm.update_from` would, bit for bit.
        """
        ...


def make_tracer(agent: Algorithm, config: RunConfig, sizes: Sizes) -> UpdateTracer | None:
    """Return the tracer of single updates of an agent; None if its algorithm has none."""
    name = entry_of(config.algorithm).tracer
    if not name:
        return None
    tracer: UpdateTracer = resolve_name(name)(agent, config, sizes)
    return tracer


def make_agent(config: RunConfig, tunables: Tunables, sizes: Sizes) -> Algorithm:
    """Return a new agent of the algorithm that the settings name."""
    agent: Algorithm = resolve_name(entry_of(config.algorithm).agent)(config, tunables, *sizes)
    return agent
