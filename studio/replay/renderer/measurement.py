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

    def after(
        self, step: int, take: int, critic: Critic | None, most: int | None = None
    ) -> Steps | None:
        """Return the numbers of up to ``most`` steps after ``step``; None if none is kept."""
        first = self._steps[0][0].step if self._steps else 1
        begin = max(step + 1 - first, 0)
        rows = list(islice(self._steps, begin, None if most is None else begin + most))
        if not rows:
            return None
        obs = np.stack([row[1] for row in rows])
        action = np.stack([row[2] for row in rows])
        unknown = np.full(len(rows), np.nan, np.float32)
        return Steps(
            take=take,
            first=rows[0][0].step,
            reward=np.array([row[0].reward for row in rows]),
            total=np.array([row[0].total for row in rows]),
            min_q=unknown if critic is None else critic.minimum(obs, action),
            action=action,
            obs=obs,
        )


class Meter:
    """Which steps of the current episode the window wants to know, and knows already."""

    def __init__(self) -> None:
        self.on = False
        """Whether it wants any."""
        self._sent = 0

    def switch(self, on: bool) -> None:
        """Begin with the first step of the current episode, or stop."""
        self.on, self._sent = on, 0

    def begin_episode(self) -> None:
        """Begin with the first step of another episode."""
        self._sent = 0

    def unsent(self, log: EpisodeLog, take: int, critic: Critic | None) -> Steps | None:
        """Return the steps to send now."""
        found = log.after(self._sent, take, critic) if self.on else None
        if found is not None:
            self._sent = found.first + len(found.reward) - 1
        return found

    def at(self, step: int, log: EpisodeLog, critic: Critic | None) -> StepData | None:
        """Return the numbers of one step, the newest or one of the past."""
        found = log.after(step - 1, 0, critic, most=1) if self.on and step > 0 else None
        if found is None:
            return None
        return StepData(
            step=found.first,
            reward=float(found.reward[0]),
            total=float(found.total[0]),
            min_q=float(found.min_q[0]),
            action=found.action[0],
            obs=found.obs[0],
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
