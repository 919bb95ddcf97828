"""The numbers of an episode, step by step: kept during play, and read for display."""

from collections import deque
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Doubles, Floats
from td3core.inference.critic import Critic
from td3core.playing.step import RolloutStep

SATURATED = 0.99
"""An action in [-1, 1] this far from its centre counts as at its bound: its tanh is saturated."""
_MOST_BYTES = 64 * 2**20
_FEWEST_STEPS = 1000

T = TypeVar("T", bound=np.generic)


class AgentSpec(NamedTuple):
    """Settings needed to interpret the numbers of an agent's steps."""

    obs_dim: int
    action_low: tuple[float, ...]
    """The environment's bounds, (act_dim,) like ``action_high``."""
    action_high: tuple[float, ...]
    gamma: float
    """The discount of the checkpoint."""
    reward_scale: float
    reward_floor: float
    """The agent learns from max(reward_scale × reward, reward_floor)."""
    critics: int
    """Number of critics in the file: 0, 1 or 2."""


class StepData(NamedTuple):
    """The numbers of one step: observation, action and reward.

    A picture of the same step shows the state after the action.
    """

    step: int
    """Number of the step, from 1."""
    reward: float
    """The environment's own reward."""
    total: float
    """Return of the episode so far, this reward included."""
    min_q: float
    """min(Q₁, Q₂)(obs, action); NaN if the agent has no critic."""
    action: Floats
    """Shape (act_dim,), in [-1, 1]."""
    obs: Floats
    """The observation before the action, (obs_dim,), as the environment returned it."""


class Steps(NamedTuple):
    """The numbers of several consecutive steps, as in :class:`StepData`; one row for each."""

    playback_id: int
    """Number of the episode's playback, see :class:`EpisodeNumbers`."""
    first: int
    """Number of the first step."""
    reward: Doubles
    total: Doubles
    min_q: Floats
    action: Floats
    """Shape (n, act_dim)."""
    obs: Floats
    """Shape (n, obs_dim)."""


class EpisodeLog:
    """Keeps the latest steps of an endless episode, and all steps of any other.

    Keeping costs next to nothing; the critics' values are computed only for requested steps.
    """

    def __init__(self, obs_dim: int, most_bytes: int | None = _MOST_BYTES) -> None:
        """Keep as much as fits into ``most_bytes``; None for everything."""
        most = most_bytes and max(_FEWEST_STEPS, most_bytes // (4 * obs_dim + 64))
        self._steps: deque[tuple[RolloutStep, Floats, Floats]] = deque(maxlen=most)

    def add(self, step: RolloutStep, obs: Floats, action: Floats) -> None:
        """Keep a step: the observation (obs_dim,) and the action (act_dim,) taken on it."""
        self._steps.append((step, obs, action))

    @property
    def latest(self) -> tuple[RolloutStep, Floats, Floats]:
        """The step added last, with its observation (obs_dim,) and action (act_dim,)."""
        return self._steps[-1]

    def after(
        self, step: int, playback_id: int, critic: Critic | None, most: int | None = None
    ) -> Steps | None:
        """Return the numbers of up to ``most`` steps after ``step``; None if none is kept."""
        first = self._steps[0][0].number if self._steps else 1
        begin = max(step + 1 - first, 0)
        rows = list(islice(self._steps, begin, None if most is None else begin + most))
        if not rows:
            return None
        obs = np.stack([row[1] for row in rows])
        action = np.stack([row[2] for row in rows])
        unknown = np.full(len(rows), np.nan, np.float32)
        return Steps(
            playback_id=playback_id,
            first=rows[0][0].number,
            reward=np.array([row[0].reward for row in rows]),
            total=np.array([row[0].total for row in rows]),
            min_q=unknown if critic is None else critic.target_value(obs, action),
            action=action,
            obs=obs,
        )


class EpisodeNumbers:
    """Every step of an episode, from its first or from the oldest that fits into memory.

    Rows are consecutive steps; row 0 is step :attr:`first`.
    """

    def __init__(self, spec: AgentSpec, playback_id: int = 0) -> None:
        """Begin empty; ``playback_id`` increases with every episode, repeated or not."""
        self.spec, self.playback_id = spec, playback_id
        self.first, self.count = 1, 0
        self._ended_at = 0
        self._discounted: Doubles | None = None
        act_dim = len(spec.action_low)
        row_bytes = 4 * (spec.obs_dim + act_dim + 5)
        self._most = max(_FEWEST_STEPS, _MOST_BYTES // row_bytes)
        self._scalars = np.empty((64, 3))
        self._action = np.empty((64, act_dim), np.float32)
        self._obs = np.empty((64, spec.obs_dim), np.float32)

    # Filling ------------------------------------------------------------------------------------

    def add(self, steps: Steps) -> None:
        """Append steps; known ones are ignored."""
        if not self.count:
            self.first = steps.first
        begin = self.first + self.count - steps.first
        new = len(steps.reward) - begin
        if begin < 0 or new <= 0:
            return  # Nothing new, or steps in between are missing.
        self._make_room(new)
        rows = slice(self.count, self.count + new)
        columns = np.stack([steps.reward, steps.total, steps.min_q], axis=1)
        self._scalars[rows] = columns[begin:]
        self._action[rows], self._obs[rows] = steps.action[begin:], steps.obs[begin:]
        self.count += new

    def add_step(self, data: StepData) -> None:
        """Append one step."""
        self.add(
            Steps(
                playback_id=self.playback_id,
                first=data.step,
                reward=np.array([data.reward]),
                total=np.array([data.total]),
                min_q=np.array([data.min_q], np.float32),
                action=data.action[None, :],
                obs=data.obs[None, :],
            )
        )

    def end(self, step: int) -> None:
        """Note that the episode ended with this step."""
        self._ended_at = step

    def _make_room(self, new: int) -> None:
        if self.count + new <= len(self._obs):
            return
        # The oldest half of an endless episode makes room for the newest.
        drop = self.count // 2 if self.count + new > self._most else 0
        self.first, self.count = self.first + drop, self.count - drop
        room = 2 * (self.count + new)
        old = slice(drop, drop + self.count)
        self._scalars = _grown(self._scalars[old], room)
        self._action = _grown(self._action[old], room)
        self._obs = _grown(self._obs[old], room)

    # Reading ------------------------------------------------------------------------------------

    @property
    def last(self) -> int:
        """Number of the last known step; less than :attr:`first` if there is none."""
        return self.first + self.count - 1

    def has(self, step: int) -> bool:
        """Return whether the numbers of a step are known."""
        return self.first <= step <= self.last

    @property
    def reward(self) -> Doubles:
        """The environment's own reward of each step."""
        return self._scalars[: self.count, 0]

    @property
    def total(self) -> Doubles:
        """The return so far."""
        return self._scalars[: self.count, 1]

    @property
    def min_q(self) -> Doubles:
        """min(Q₁, Q₂)(s, a) of each step; NaN without a critic."""
        return self._scalars[: self.count, 2]

    @property
    def action(self) -> Floats:
        """Actions (steps, act_dim) in [-1, 1]."""
        return self._action[: self.count]

    @property
    def obs(self) -> Floats:
        """Observations (steps, obs_dim) before the actions."""
        return self._obs[: self.count]

    @property
    def discounted(self) -> Doubles | None:
        """The discounted return obtained from each step on; None before the episode has ended.

        G_t = Σ γ^(k−t) r_k over k = t … T, with the rewards that the agent learns from and the
        discount of the checkpoint. No value is bootstrapped at a time limit.
        """
        if not self._ended_at or self._ended_at != self.last:
            return None
        if self._discounted is None or len(self._discounted) != self.count:
            rewards = shaped(self.reward, self.spec.reward_scale, self.spec.reward_floor)
            self._discounted = discounted_returns(rewards, self.spec.gamma)
        return self._discounted


def shaped(rewards: Doubles, scale: float, floor: float) -> Doubles:
    """Return the rewards that an agent learns from, max(scale × reward, floor), (n,)."""
    found: Doubles = np.maximum(scale * rewards, floor)
    return found


def discounted_returns(rewards: Doubles, gamma: float) -> Doubles:
    """Return G_t = Σ γ^(k−t) r_k over k = t … T for rewards (n,) up to the end, (n,)."""
    found, total = np.empty(len(rewards)), 0.0
    for row in range(len(rewards) - 1, -1, -1):
        found[row] = total = float(rewards[row]) + gamma * total
    return found


def in_bounds(action: Floats, spec: AgentSpec) -> Doubles:
    """Map actions (..., act_dim) from [-1, 1] to the environment's bounds."""
    low, high = np.array(spec.action_low), np.array(spec.action_high)
    mapped: Doubles = (high + low) / 2 + (high - low) / 2 * action
    return mapped


def _grown(kept: NDArray[T], rows: int) -> NDArray[T]:
    """Return an array of ``rows`` rows that begins with the kept ones."""
    grown = np.empty((rows, *kept.shape[1:]), kept.dtype)
    grown[: len(kept)] = kept
    return grown
