"""The numbers of one episode, step by step."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from studio.replay.renderer.protocol import AgentFacts, StepData, Steps
from td3core.arrays import Floats

SATURATED = 0.99
"""An action in [-1, 1] this far from its centre is at its bound: its tanh can hardly grow."""
_MOST_BYTES = 64 * 2**20
_FEWEST_STEPS = 1000

Doubles = NDArray[np.float64]
T = TypeVar("T", bound=np.generic)


class EpisodeNumbers:
    """Every step of the episode on show, from its first or from the oldest that fits into memory.

    Rows are consecutive steps; row 0 is step :attr:`first`.
    """

    def __init__(self, facts: AgentFacts, take: int) -> None:
        self.facts, self.take = facts, take
        self.first, self.count = 1, 0
        self._ended_at = 0
        self._discounted: Doubles | None = None
        act_dim = len(facts.action_low)
        row_bytes = 4 * (facts.obs_dim + act_dim + 5)
        self._most = max(_FEWEST_STEPS, _MOST_BYTES // row_bytes)
        self._scalars = np.empty((64, 3))
        self._action = np.empty((64, act_dim), np.float32)
        self._obs = np.empty((64, facts.obs_dim), np.float32)

    # Filling ------------------------------------------------------------------------------------

    def add(self, steps: Steps) -> None:
        """Append steps; those that are known already are ignored."""
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
                take=self.take,
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
        """Observations (steps, obs_dim) that the actions answer."""
        return self._obs[: self.count]

    @property
    def discounted(self) -> Doubles | None:
        """The discounted return obtained from each step on; None before the episode has ended.

        G_t = Σ γ^(k−t) r_k over k = t … T, with the rewards that the agent learns from and the
        discount of the checkpoint. Nothing is added after a time limit.
        """
        if not self._ended_at or self._ended_at != self.last:
            return None
        if self._discounted is None or len(self._discounted) != self.count:
            self._discounted = self._sum_up()
        return self._discounted

    def _sum_up(self) -> Doubles:
        shaped = np.maximum(self.facts.reward_scale * self.reward, self.facts.reward_floor)
        found, total = np.empty(self.count), 0.0
        for row in range(self.count - 1, -1, -1):
            total = float(shaped[row]) + self.facts.gamma * total
            found[row] = total
        return found


def in_bounds(action: Floats, facts: AgentFacts) -> Doubles:
    """Map actions (..., act_dim) from [-1, 1] to the environment's bounds."""
    low, high = np.array(facts.action_low), np.array(facts.action_high)
    mapped: Doubles = (high + low) / 2 + (high - low) / 2 * action
    return mapped


def _grown(kept: NDArray[T], rows: int) -> NDArray[T]:
    """Return an array of ``rows`` rows that begins with the kept ones."""
    grown = np.empty((rows, *kept.shape[1:]), kept.dtype)
    grown[: len(kept)] = kept
    return grown
