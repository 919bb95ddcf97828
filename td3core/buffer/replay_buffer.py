"""The replay buffer: float32, one packed row per transition."""

from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Floats
from td3core.errors import RequestError
from td3core.system.capacity import usable_memory

A = TypeVar("A")
"""Rows of numbers: an array, or a tensor on the device that learns from them."""

SLACK = 20_000
"""Transitions the replay buffer holds beyond its capacity, and so the most that may be added
between two checkpoints; the last one is renewed in time. They take 4 MB for BipedalWalker."""


class Batch(NamedTuple, Generic[A]):
    """Transitions side by side; ``terminated`` is 1 where the next state has no value."""

    obs: A  # (batch, obs_dim)
    action: A  # (batch, act_dim)
    reward: A  # (batch, 1)
    next_obs: A  # (batch, obs_dim)
    terminated: A  # (batch, 1)


class ReplayBuffer:
    """A ring of transitions; the oldest are overwritten first.

    A row holds obs, action, reward, next_obs, terminated. One row is one gather: a sampled
    transition touches one stretch of memory, not five. Memory is only taken as rows are filled.

    An episode that is truncated ends with -0.0 as ``terminated``: the value of the next state
    counts, as with 0.0, but the row that follows belongs to another episode.

    ``slack`` more rows are held than are sampled from: so much may be added before what a copy on
    disk still counts on is overwritten. Sampling does not depend on it.
    """

    def __init__(self, capacity: int, obs_dim: int, act_dim: int, slack: int = 0) -> None:
        self.capacity, self.slack = capacity, slack
        self.stored = 0
        """Transitions added so far, those overwritten since included."""
        self.unmarked = 0
        """So many of the first transitions come from a version that did not mark truncated ones."""
        self._obs_dim, self._act_dim = obs_dim, act_dim
        width = self.bytes_per_row(obs_dim, act_dim) // 4
        # Zeros cost nothing: the system hands out pages as they are touched.
        self.rows = np.zeros((capacity + slack, width), dtype=np.float32)

    @staticmethod
    def bytes_per_row(obs_dim: int, act_dim: int) -> int:
        """Bytes that one transition takes."""
        return 4 * (2 * obs_dim + act_dim + 2)

    @property
    def size(self) -> int:
        """Transitions there are to sample from."""
        return min(self.stored, self.capacity)

    @property
    def has_unmarked(self) -> bool:
        """Whether some transitions there are to sample from do not say if they were truncated."""
        return self.stored - self.size < self.unmarked

    def add(
        self,
        obs: Floats,
        action: Floats,
        reward: float,
        next_obs: Floats,
        terminated: bool,
        truncated: bool = False,
    ) -> None:
        """Store one transition. A truncated episode is not a terminated one."""
        row, n, a = self.rows[self.stored % len(self.rows)], self._obs_dim, self._act_dim
        row[:n], row[n : n + a], row[n + a] = obs, action, reward
        row[n + a + 1 : -1] = next_obs
        row[-1] = -0.0 if truncated and not terminated else terminated
        self.stored += 1

    def sample(self, source: np.random.Generator, count: int) -> Batch[Floats]:
        """Draw ``count`` stored transitions uniformly, with replacement."""
        return self.columns(self.rows[self.draw(source, count)])

    def draw(self, source: np.random.Generator, count: int | tuple[int, int]) -> NDArray[np.int64]:
        """Draw the rows of ``count`` stored transitions uniformly, with replacement.

        Several batches at once, with ``count`` = (batches, size), are those drawn one by one.
        """
        if not self.size:
            raise ValueError("cannot sample from an empty replay buffer")
        drawn: NDArray[np.int64] = source.integers(0, self.size, size=count)
        if self.stored <= self.capacity:
            # Nothing was overwritten yet: a number is its row.
            return drawn
        # The newest transition of that place in a ring of ``capacity`` rows.
        newest = self.stored - 1
        number: NDArray[np.int64] = newest - (newest - drawn) % self.capacity
        return number % len(self.rows)

    def n_step_rows(
        self, index: NDArray[np.int64], steps: int, gamma: float, stride: int = 1
    ) -> Floats:
        """Return rows (count, width) whose rewards and next states are ``steps`` steps long.

        From the state of row ``index`` (count,): reward r₁ + γ r₂ + …, the state after the last of
        these steps, and as ``terminated`` 1 - (1 - terminated) γᵐ⁻¹ for m steps, so that
        γ (1 - ``terminated``) is the discount of that state's value.

        Fewer steps where the episode ends or the newest transition is reached. The next row of an
        environment is ``stride`` rows later. It must start where this one ends, too: an episode may
        have been given up, and ``unmarked`` rows show in no other way that one was truncated.
        """
        n, a = self._obs_dim, self._act_dim
        rows = self.rows[index]
        left = ((self.stored - 1) % len(self.rows) - index) % len(self.rows)
        discount = np.ones(len(index), np.float32)
        alive = _goes_on(rows)
        for step in range(1, steps):
            alive &= left >= step * stride
            following = self.rows[(index + step * stride) % len(self.rows)]
            alive &= (following[:, :n] == rows[:, n + a + 1 : -1]).all(axis=1)
            if not alive.any():
                break
            discount[alive] *= np.float32(gamma)
            rows[alive, n + a] += discount[alive] * following[alive, n + a]
            rows[alive, n + a + 1 :] = following[alive, n + a + 1 :]
            alive &= _goes_on(rows)
        rows[:, -1] = 1.0 - (1.0 - rows[:, -1]) * discount
        return rows

    def transitions(self, numbers: NDArray[np.int64]) -> Batch[Floats]:
        """Return transitions by number, 0 for the first ever stored.

        Raises:
            IndexError: one of them is not there yet, or has been overwritten.
        """
        oldest = max(self.stored - len(self.rows), 0)
        if len(numbers) and not oldest <= numbers.min() <= numbers.max() < self.stored:
            raise IndexError("these transitions are not in the replay buffer")
        return self.columns(self.rows[numbers % len(self.rows)])

    def columns(self, rows: A) -> Batch[A]:
        """Name the parts of rows (batch, width), without copying."""
        n, a = self._obs_dim, self._act_dim
        ends = (0, n, n + a, n + a + 1, 2 * n + a + 1, 2 * n + a + 2)
        # Arrays and tensors are sliced alike, which no type expresses.
        cut: Any = rows
        return Batch(*(cut[..., begin:end] for begin, end in pairwise(ends)))


def _goes_on(rows: Floats) -> NDArray[np.bool_]:
    """Return which transitions (n, width) neither terminated nor truncated their episode."""
    ends: Floats = rows[:, -1]
    going: NDArray[np.bool_] = (ends == 0.0) & ~np.signbit(ends)
    return going


def make_buffer(capacity: int, obs_dim: int, act_dim: int, slack: int = 0) -> ReplayBuffer:
    """Make the replay buffer of a run, with room for ``slack`` transitions that are not sampled.

    Raises:
        RequestError: this machine cannot hold it; the sentence says how much would fit.
    """
    row = ReplayBuffer.bytes_per_row(obs_dim, act_dim)
    wanted, room = row * capacity, usable_memory()
    if wanted > room:
        raise RequestError(
            "buffer_size {capacity} takes {wanted:.0f} GiB; this machine has {room:.0f}"
            " GiB. About {fitting} transitions would fit.",
            capacity=capacity,
            wanted=wanted / 2**30,
            room=room / 2**30,
            fitting=int(room // row // 2),
        )
    return ReplayBuffer(capacity, obs_dim, act_dim, slack)
