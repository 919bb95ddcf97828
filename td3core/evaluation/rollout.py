"""One noise-free episode, step by step."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from td3core.inference.policy import Policy

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


def rollout(env: "AgentView", policy: Policy, seed: int) -> Iterator[RolloutStep]:
    """Yield the steps of one noise-free episode; each is taken on request."""
    obs, _ = env.reset(seed=seed)
    step, total, over = 0, 0.0, False
    while not over:
        obs, reward, terminated, truncated, _ = env.step(policy(obs))
        step, total, over = step + 1, total + reward, terminated or truncated
        yield RolloutStep(step, reward, total, terminated, truncated)
