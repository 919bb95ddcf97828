"""A transition as one row of float32 numbers, and as its parts."""

from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

A = TypeVar("A")
"""An array, or a tensor on the device that trains."""


class Batch(NamedTuple, Generic[A]):
    """Transitions side by side; ``terminated`` is 1 where the next state has no value."""

    obs: A  # (batch, obs_dim)
    action: A  # (batch, act_dim)
    reward: A  # (batch, 1)
    next_obs: A  # (batch, obs_dim)
    terminated: A  # (batch, 1)


class RowLayout(NamedTuple):
    """Where in its row each part of a transition begins, and where the row ends.

    One row is one gather: a sampled transition touches one stretch of memory, not five.
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
        """Bytes that one transition takes."""
        return 4 * self.end

    def columns(self, rows: A) -> Batch[A]:
        """Name the parts of rows (..., end), without copying."""
        # Arrays and tensors are sliced alike, which no type can express.
        cut: Any = rows
        return Batch(*(cut[..., begin:end] for begin, end in pairwise(self)))
