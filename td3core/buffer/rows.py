"""Transitions packed into rows of float32 numbers, and split into their parts."""

from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

A = TypeVar("A")
"""An array, or a tensor on the training device."""


class Batch(NamedTuple, Generic[A]):
    """A batch of transitions; ``terminated`` is 1 where the next state is terminal."""

    obs: A  # (batch, obs_dim)
    action: A  # (batch, act_dim)
    reward: A  # (batch, 1)
    next_obs: A  # (batch, obs_dim)
    terminated: A  # (batch, 1)


class RowLayout(NamedTuple):
    """Offset of each part of a transition in its row, and the length of the row.

    A row takes one gather: a sampled transition reads one contiguous block of memory, not five.
    """

    obs: int
    action: int
    reward: int
    next_obs: int
    terminated: int
    end: int

    @classmethod
    def of(cls, obs_dim: int, act_dim: int) -> "RowLayout":
        """Return the layout for observations and actions of these sizes."""
        n, a = obs_dim, act_dim
        return cls(0, n, n + a, n + a + 1, 2 * n + a + 1, 2 * n + a + 2)

    @property
    def bytes(self) -> int:
        """Size of one transition in bytes."""
        return 4 * self.end

    def columns(self, rows: A) -> Batch[A]:
        """Split rows (..., end) into their parts, without copying."""
        # Arrays and tensors are both sliced like this, which ``A`` cannot express.
        cut: Any = rows
        return Batch(*(cut[..., begin:end] for begin, end in pairwise(self)))
