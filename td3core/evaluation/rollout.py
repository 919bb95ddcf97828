"""One episode, step by step."""

from collections.abc import Callable, Iterator
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from td3core.arrays import Floats
from td3core.errors import RunError

if TYPE_CHECKING:
    # It imports Gymnasium, which the window does not need.
    from td3core.envs.agent_view import AgentView


class RolloutStep(NamedTuple):
    """One step of an episode."""

    step: int
    """Number of the step, from 1."""
    reward: float
    total: float
    """Return of the episode so far."""
    terminated: bool
    truncated: bool

    @property
    def over(self) -> bool:
        """True at the last step of the episode."""
        return self.terminated or self.truncated


def rollout(
    env: "AgentView", policy: Callable[[Floats], Floats], seed: int
) -> Iterator[RolloutStep]:
    """Yield the steps of one episode; each is taken on request.

    Args:
        env: The environment; it is reset first.
        policy: Returns the action (act_dim,) in [-1, 1] for an observation (obs_dim,).
        seed: The seed of the reset.

    Raises:
        RunError: the environment returned an observation of another size than its space.
    """
    obs, _ = env.reset(seed=seed)
    expected = prod(env.observation_space.shape or ())
    step, total, over = 0, 0.0, False
    while not over:
        if obs.size != expected:
            raise RunError(
                "The environment returned an observation of size {size} instead of {expected}"
                " after step {step}.",
                size=obs.size,
                expected=expected,
                step=step,
            )
        obs, reward, terminated, truncated, _ = env.step(policy(obs))
        step, total, over = step + 1, total + reward, terminated or truncated
        yield RolloutStep(step, reward, total, terminated, truncated)
