"""Detects NaN and infinite numbers before they are saved, evaluated or acted on."""

import math
from collections.abc import Mapping

import numpy as np

from td3core.algorithm.agent import Algorithm
from td3core.arrays import Arrays, Floats, all_finite
from td3core.errors import RunError
from td3core.text import Text


class DivergedError(RunError):
    """A loss, value or weight is not finite; the weights are useless."""

    def __init__(self, quantity: str, value: float | str, env_steps: int) -> None:
        super().__init__(
            Text(
                "Training diverged: {quantity} became {value} by step {step}. Try a smaller"
                " learning rate.",
                quantity=quantity,
                value=value,
                step=env_steps,
            )
        )

    @property
    def with_checkpoint(self) -> Text:
        """The message for a run that has saved an agent."""
        return Text(
            "Training diverged: {quantity} became {value} by step {step}. The last good checkpoint"
            " is untouched; try a smaller learning rate.",
            **self.message.values,
        )


def require_finite_actions(actions: Floats, env_steps: int) -> None:
    """Raise DivergedError unless all ``actions`` (n, act_dim) are finite."""
    if not all_finite(actions):
        broken = actions[~np.isfinite(actions).all(axis=1)][0]
        raise DivergedError("the actor's action", str(broken), env_steps)


def require_finite_agent(agent: Algorithm, env_steps: int) -> None:
    """Raise DivergedError before weights that are not finite are saved or evaluated."""
    diverged = agent.diverged_network()
    if diverged is not None:
        raise DivergedError(f"a weight of {diverged}", "NaN or infinite", env_steps)


def require_finite_state(state: Arrays, env_steps: int) -> None:
    """Raise DivergedError before optimiser moments or metrics that are not finite are saved."""
    # Metrics first: a loss says more than a moment that it has corrupted.
    for name in sorted(state, key=lambda name: not name.startswith("tally.")):
        array = state[name]
        finite = np.isfinite(array)
        if not finite.all():
            raise DivergedError(name.removeprefix("tally."), array[~finite][0], env_steps)


def require_finite_metrics(metrics: Mapping[str, float], env_steps: int) -> None:
    """Raise DivergedError unless all ``metrics`` are finite."""
    for name, value in metrics.items():
        if not math.isfinite(value):
            raise DivergedError(name, value, env_steps)
