"""One noise-free episode, step by step."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    # It brings Gymnasium along, which the window does without until something is played.
    from td3core.envs.agent_view import AgentView
from td3core.inference.policy import Policy


class RolloutStep(NamedTuple):
    """Where an episode stands after one more step."""

    step: int
    reward: float
    total: float
    terminated: bool
    truncated: bool

    @property
    def over(self) -> bool:
        """True at the last step of the episode."""
        return self.terminated or self.truncated


def rollout(env: "AgentView", policy: Policy, seed: int) -> Iterator[RolloutStep]:
    """Play one noise-free episode, one step for each value taken from the iterator."""
    obs, _ = env.reset(seed=seed)
    step, total, over = 0, 0.0, False
    while not over:
        obs, reward, terminated, truncated, _ = env.step(policy(obs))
        step, total, over = step + 1, total + reward, terminated or truncated
        yield RolloutStep(step, reward, total, terminated, truncated)
