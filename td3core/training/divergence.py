"""Numbers that blow up: seen before they are saved, judged or acted on."""

import numpy as np
from numpy.typing import NDArray

from td3core.algorithm.td3 import TD3
from td3core.arrays import Floats
from td3core.errors import RunError
from td3core.protocol.events import METRICS


class DivergedError(RunError):
    """A loss or value is no longer a number; the weights are not worth saving."""

    def __init__(self, quantity: str, value: object, env_steps: int) -> None:
        super().__init__(
            f"Training diverged: {quantity} became {value} by step {env_steps}."
            " The last good checkpoint is untouched; try a smaller learning rate."
        )


def require_finite_actions(actions: Floats, env_steps: int) -> None:
    """Raise DivergedError for ``actions`` (n, act_dim) that no environment can be blamed for."""
    sound = np.isfinite(actions)
    if not np.logical_and.reduce(sound, axis=None):
        broken = actions[~sound.all(axis=1)][0]
        raise DivergedError("the actor's action", broken, env_steps)


def require_finite_agent(agent: TD3, env_steps: int) -> None:
    """Raise DivergedError before weights that are not numbers are saved or judged."""
    unsound = agent.unsound_network()
    if unsound is not None:
        raise DivergedError(f"a weight of {unsound}", "NaN or infinite", env_steps)


def require_finite_metrics(
    metrics: NDArray[np.float64], env_steps: int, *, twin_critics: bool
) -> None:
    """Raise DivergedError for ``metrics``, in the order of METRICS, that have to be numbers."""
    may_be_nan = {"actor_loss"} | (set() if twin_critics else {"q2", "critic2_loss"})
    for name, value in zip(METRICS, metrics, strict=True):
        if not np.isfinite(value) and name not in may_be_nan:
            raise DivergedError(name, value, env_steps)
