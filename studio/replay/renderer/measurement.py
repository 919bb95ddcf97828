"""What happened in the current episode, kept until the window asks for it."""

from collections import deque
from collections.abc import Callable
from itertools import islice

import numpy as np

from studio.replay.renderer.protocol import AgentFacts, StepData, Steps
from td3core.arrays import Floats
from td3core.checkpoint import Header
from td3core.evaluation.rollout import RolloutStep
from td3core.inference.critic import Critic

_MOST_BYTES = 64 * 2**20
_FEWEST_STEPS = 1000

SWEEP_POINTS = 81
"""Values of the swept dimension, evenly from -1 to 1, besides that of the action."""


class EpisodeLog:
    """Acts, and keeps the latest steps of an endless episode and all steps of any other.

    Keeping costs next to nothing, so instruments that are opened within an episode show all of it.
    """

    def __init__(self, act: Callable[[Floats], Floats], obs_dim: int) -> None:
        self._act = act
        most = max(_FEWEST_STEPS, _MOST_BYTES // (4 * obs_dim + 64))
        self._decision: tuple[Floats, Floats] | None = None
        self._steps: deque[tuple[RolloutStep, Floats, Floats]] = deque(maxlen=most)

    def __call__(self, obs: Floats) -> Floats:
        """Return the action for an observation, and remember both."""
        action = self._act(obs)
        self._decision = obs, action
        return action

    def add(self, moment: RolloutStep) -> None:
        """Keep the outcome of the latest action."""
        assert self._decision is not None
        self._steps.append((moment, *self._decision))

    def after(self, step: int, serial: int, critic: Critic | None) -> Steps | None:
        """Return the numbers of the steps after ``step``; None if there are none."""
        last = self._steps[-1][0].step if self._steps else 0
        wanted = min(last - step, len(self._steps))
        if wanted <= 0:
            return None
        rows = list(islice(self._steps, len(self._steps) - wanted, None))
        obs = np.stack([row[1] for row in rows])
        action = np.stack([row[2] for row in rows])
        unknown = np.full(wanted, np.nan, np.float32)
        return Steps(
            serial=serial,
            first=rows[0][0].step,
            reward=np.array([row[0].reward for row in rows]),
            total=np.array([row[0].total for row in rows]),
            min_q=unknown if critic is None else critic.minimum(obs, action),
            action=action,
            obs=obs,
        )


def last_of(steps: Steps) -> StepData:
    """Return the numbers of the last step."""
    return StepData(
        step=steps.first + len(steps.reward) - 1,
        reward=float(steps.reward[-1]),
        total=float(steps.total[-1]),
        min_q=float(steps.min_q[-1]),
        action=steps.action[-1],
        obs=steps.obs[-1],
    )


def without_last(steps: Steps | None) -> Steps | None:
    """Return all steps but the last; None if there are no others."""
    if steps is None or len(steps.reward) == 1:
        return None
    return Steps(
        serial=steps.serial,
        first=steps.first,
        reward=steps.reward[:-1],
        total=steps.total[:-1],
        min_q=steps.min_q[:-1],
        action=steps.action[:-1],
        obs=steps.obs[:-1],
    )


def sweep(critic: Critic, obs: Floats, action: Floats, dimension: int) -> tuple[Floats, Floats]:
    """Return values of one dimension of an action (n,), and the critics' values (critics, n).

    The action's own value is one of them.
    """
    even = np.linspace(-1.0, 1.0, SWEEP_POINTS, dtype=np.float32)
    grid = np.sort(np.append(even, action[dimension]))
    actions = np.repeat(action[None, :], len(grid), axis=0)
    actions[:, dimension] = grid
    return grid, critic(np.repeat(obs[None, :], len(grid), axis=0), actions)


def facts_of(header: Header, critic: Critic | None) -> AgentFacts:
    """Return what is needed to read the numbers of an agent."""
    return AgentFacts(
        obs_dim=header.env.obs_dim,
        action_low=header.env.action_low,
        action_high=header.env.action_high,
        gamma=header.tunables.gamma,
        reward_scale=header.config.reward_scale,
        reward_floor=header.config.reward_floor,
        critics=0 if critic is None else critic.count,
    )
