"""The replay buffer: float32, one packed row per transition."""

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Floats
from td3core.buffer.rows import Batch, RowLayout
from td3core.errors import RequestError
from td3core.system.capacity import usable_memory
from td3core.text import SettingName, Value

SLACK = 20_000
"""Transitions that a replay buffer kept on disk holds beyond its capacity, and so the most that may
be added between two checkpoints; ``last`` is renewed before that. 4 MB for BipedalWalker."""
SLACK_BYTES = 2**30
"""Maximum memory for them: with observations of more than 6,700 numbers there are fewer."""


class ReplayBuffer:
    """A ring of transitions; the oldest are overwritten first.

    Each is one row, as defined by ``layout``. Memory is allocated only as rows are filled.

    The last transition of a truncated episode has -0.0 as ``terminated``: it bootstraps from the
    next state, as with 0.0, but the following row belongs to another episode.

    The ring has ``slack`` rows more than can be sampled: that many transitions may be added before
    rows are overwritten that the copy on disk still needs. Sampling does not depend on ``slack``.
    """

    def __init__(self, capacity: int, obs_dim: int, act_dim: int, slack: int = 0) -> None:
        self.capacity, self.slack = capacity, slack
        self.stored = 0
        """Transitions added so far, overwritten ones included."""
        self.unmarked = 0
        """Number of oldest transitions that an earlier version stored without a truncation flag."""
        self.layout = RowLayout.of(obs_dim, act_dim)
        # ``zeros`` is free: the system allocates a page when it is first accessed.
        self.rows = np.zeros((capacity + slack, self.layout.end), dtype=np.float32)

    @property
    def size(self) -> int:
        """Number of transitions that can be sampled."""
        return min(self.stored, self.capacity)

    @property
    def has_unmarked(self) -> bool:
        """Whether some transitions that can be sampled lack a truncation flag."""
        return self.stored - self.size < self.unmarked

    def rewards(self) -> Floats:
        """Return the rewards of the transitions that can be sampled (size,), oldest first."""
        first, last = ((self.stored - n) % len(self.rows) for n in (self.size, 0))
        column = self.rows[:, self.layout.reward]
        if first < last or not self.size:
            return column[first:last]
        return np.concatenate((column[first:], column[:last]))

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
        row, at = self.rows[self.stored % len(self.rows)], self.layout
        row[: at.action], row[at.action : at.reward], row[at.reward] = obs, action, reward
        row[at.next_obs : at.terminated] = next_obs
        row[at.terminated] = -0.0 if truncated and not terminated else terminated
        self.stored += 1

    def draw(self, source: np.random.Generator, count: int | tuple[int, int]) -> NDArray[np.int64]:
        """Draw the rows of ``count`` stored transitions uniformly, with replacement.

        ``count`` = (batches, size) draws the same batches as that many calls with ``count`` = size.
        """
        size = self.size
        if not size:
            raise ValueError("cannot sample from an empty replay buffer")
        drawn: NDArray[np.int64] = source.integers(0, size, size=count)
        if self.stored <= self.capacity:
            # Nothing was overwritten yet: transition numbers are row indices.
            return drawn
        # The newest transition at that index in a ring of ``capacity`` rows.
        newest = self.stored - 1
        number: NDArray[np.int64] = newest - (newest - drawn) % self.capacity
        return number % len(self.rows)

    def transitions(self, numbers: NDArray[np.int64]) -> Batch[Floats]:
        """Return transitions by number, 0 for the first ever stored.

        Raises:
            IndexError: one of them is not stored yet, or has been overwritten.
        """
        oldest = max(self.stored - len(self.rows), 0)
        if len(numbers) and not oldest <= numbers.min() <= numbers.max() < self.stored:
            raise IndexError("these transitions are not in the replay buffer")
        return self.layout.columns(self.rows[numbers % len(self.rows)])


def ring_rows(capacity: int, layout: RowLayout, *, kept: bool) -> int:
    """Return the rows of a new replay buffer's ring; ``kept``: it is kept on disk."""
    return capacity + (min(SLACK, SLACK_BYTES // layout.bytes) if kept else 0)


def ring_sizes(capacity: int, layout: RowLayout) -> tuple[int, int]:
    """Return the rows that a ring kept on disk may have, those of a new one first.

    Version 0.1 did not bound the memory of the slack.
    """
    return ring_rows(capacity, layout, kept=True), capacity + SLACK


def make_buffer(
    capacity: int, obs_dim: int, act_dim: int, *, kept: bool = False, ring: int | None = None
) -> ReplayBuffer:
    """Make the replay buffer of a run.

    Args:
        capacity: Number of transitions that can be sampled.
        obs_dim: Size of an observation.
        act_dim: Size of an action.
        kept: Whether it is kept on disk, or read from there.
        ring: Rows of the ring in the file that it is read from, if there is one.

    Raises:
        RequestError: it exceeds this machine's memory; the message says how much would fit.
    """
    layout = RowLayout.of(obs_dim, act_dim)
    # The ring of an older version may be larger; it was not checked, and may never be filled.
    rows, room = ring_rows(capacity, layout, kept=kept), usable_memory()
    wanted, slack = layout.bytes * rows, rows - capacity
    about: dict[str, Value] = {
        "key": SettingName("buffer_size"),
        "capacity": capacity,
        "wanted": wanted / 2**30,
    }
    if wanted > room:
        raise RequestError(
            "{key} {capacity} takes {wanted:.0f} GiB; this machine has {room:.0f}"
            " GiB. About {fitting} transitions would fit.",
            room=room / 2**30,
            fitting=max(int(room // layout.bytes // 2) - slack, 0),
            **about,
        )
    try:
        return ReplayBuffer(capacity, obs_dim, act_dim, (ring or rows) - capacity)
    except MemoryError as problem:
        raise RequestError(
            "{key} {capacity} takes {wanted:.0f} GiB, more than the system grants this process.",
            **about,
        ) from problem
