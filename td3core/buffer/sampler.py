"""Draws batches from the replay buffer, extends them to n steps and normalises them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Floats
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.buffer.rows import A, Batch
from td3core.config import Tunables
from td3core.config.tunables import NO_FLOOR
from td3core.inference.normaliser import Normaliser
from td3core.randomness import generator_state, restore_generator

_LARGEST_DRAW = 1_000_000
"""Row numbers drawn at once, 8 MB; and numbers in the n-step rows made at once."""
_GENERATOR = "generator.replay"


@dataclass(slots=True)
class Draws:
    """Transitions for consecutive updates. Iterating yields the finished batch of each.

    The compiled update gathers and normalises the rows itself. Not frozen: one is created at
    every step, and creating a frozen one takes three times as long.
    """

    buffer: ReplayBuffer
    """The buffer they were drawn from; ``rows`` have its layout."""
    rows: Floats
    """(n, width): the rows of the buffer, or n-step rows made from them."""
    index: NDArray[np.int64]
    """(updates, batch): the rows of each update."""
    normaliser: Normaliser | None
    reward_floor: float
    """Lower bound of the rewards; -inf for n-step rewards, whose terms are already bounded."""

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[Batch[Floats]]:
        for index in self.index:
            batch = self.bounded(self.buffer.layout.columns(self.rows[index]))
            if self.normaliser is not None:
                obs, next_obs = self.normaliser(batch.obs), self.normaliser(batch.next_obs)
                batch = batch._replace(obs=obs, next_obs=next_obs)
            yield batch

    def part(self, first: int, last: int | None = None) -> "Draws":
        """Return the updates from ``first`` up to, but not including, ``last``."""
        return replace(self, index=self.index[first:last])

    def bounded(self, batch: Batch[A]) -> Batch[A]:
        """Return a batch with its rewards at or above the floor."""
        if self.reward_floor <= NO_FLOOR:
            return batch
        # Arrays and tensors both have this method.
        reward: Any = batch.reward
        return batch._replace(reward=reward.clip(self.reward_floor))

    @property
    def are_stored(self) -> bool:
        """Whether batches are rows of the buffer, unchanged except for the reward floor."""
        return self.rows is self.buffer.rows and self.normaliser is None


class Sampler:
    """Draws the transitions of updates, uniformly and with replacement.

    Transitions are stored raw. Batches are normalised with the current running statistics, and the
    current floor bounds their rewards.
    """

    def __init__(
        self,
        buffer: ReplayBuffer,
        source: np.random.Generator,
        normaliser: Normaliser | None = None,
        stride: int = 1,
    ) -> None:
        """``stride``: the next step of an episode is this many rows later."""
        self.buffer, self.stride = buffer, stride
        self._source, self._normaliser = source, normaliser

    def draw(self, updates: int, tunables: Tunables) -> Iterator[Draws]:
        """Draw the transitions of ``updates`` updates, in parts if they would take much memory."""
        width = self.buffer.layout.end if tunables.n_step > 1 else 1
        most = max(_LARGEST_DRAW // (width * tunables.batch_size), 1)
        for first in range(0, updates, most):
            count = min(updates - first, most)
            index = self.buffer.draw(self._source, (count, tunables.batch_size))
            yield self.take(index, tunables)

    def take(self, index: NDArray[np.int64], tunables: Tunables) -> Draws:
        """Return the transitions that begin at these rows (updates, batch) of the buffer."""
        rows, floor = self.buffer.rows, tunables.reward_floor
        if tunables.n_step > 1:
            rows = self._n_step_rows(index.ravel(), tunables)
            index, floor = np.arange(index.size).reshape(index.shape), -np.inf
        return Draws(self.buffer, rows, index, self._normaliser, floor)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return a copy of the state of its generator."""
        return {_GENERATOR: generator_state(self._source)}

    def load_state(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Restore what :meth:`state` returned."""
        restore_generator(self._source, tensors[_GENERATOR])

    def _n_step_rows(self, index: NDArray[np.int64], tunables: Tunables) -> Floats:
        """Return rows (count, width) with ``n_step``-step rewards and next states.

        Each starts at the state of row ``index`` (count,) and spans m steps. It holds the reward
        r₁ + γ r₂ + …, whose terms are bounded by the floor, the state after the last step, and
        1 - (1 - terminated) γᵐ⁻¹ as ``terminated``, so that γ (1 - ``terminated``) is the discount
        of that state's value.

        m is below ``n_step`` where the episode ends or the newest transition is reached. The next
        row must also start in the state where this one ends: an episode may have been abandoned,
        and ``unmarked`` rows show truncation in no other way.
        """
        ring, stored, at = self.buffer.rows, self.buffer.stored, self.buffer.layout
        next_obs, after = slice(at.next_obs, at.terminated), slice(at.next_obs, at.end)
        steps, gamma, floor = tunables.n_step, tunables.gamma, np.float32(tunables.reward_floor)
        rows = ring[index]
        np.maximum(rows[:, at.reward], floor, out=rows[:, at.reward])
        left = ((stored - 1) % len(ring) - index) % len(ring)
        discount = np.ones(len(index), np.float32)
        alive = _goes_on(rows[:, at.terminated])
        for step in range(1, steps):
            alive &= left >= step * self.stride
            following = ring[(index + step * self.stride) % len(ring)]
            alive &= (following[:, at.obs : at.action] == rows[:, next_obs]).all(axis=1)
            if not alive.any():
                break
            discount[alive] *= np.float32(gamma)
            reward = np.maximum(following[alive, at.reward], floor)
            rows[alive, at.reward] += discount[alive] * reward
            rows[alive, after] = following[alive, after]
            alive &= _goes_on(rows[:, at.terminated])
        rows[:, at.terminated] = 1.0 - (1.0 - rows[:, at.terminated]) * discount
        return rows


def _goes_on(terminated: Floats) -> NDArray[np.bool_]:
    """Return which transitions (n,) neither terminated nor truncated their episode."""
    going: NDArray[np.bool_] = (terminated == 0.0) & ~np.signbit(terminated)
    return going
