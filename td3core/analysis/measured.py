"""Measurements of a run, folded from its events, live or read from its folder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from td3core.arrays import Doubles
from td3core.protocol.events import Evaluated, Event, Progress, Started, Tuned
from td3core.protocol.metrics import TRAINING_COLUMNS
from td3core.runs.reader import RunReader

_LEAST_ROOM = 256
_FEW_EPISODES = 10
"""With fewer, their ends are too far apart to tell when the steps between them were reached."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """The tables of a run at one moment, read-only; the step is the first column of each."""

    evaluations: Doubles
    """Environment steps, mean return and seconds since the start, shape (n, 3)."""
    episodes: Doubles
    """The same columns for training episodes, shape (m, 3)."""
    bias: Doubles
    """Environment steps, bias, seconds and deviation of the bias over the states, of evaluations
    that measured it, shape (k, 4)."""
    training: Doubles
    """Training statistics, shape (t, len(TRAINING_COLUMNS))."""
    training_times: Doubles
    """Their steps and seconds since the start, shape (t, 2)."""
    info: Mapping[str, Doubles]
    """Tables by column, such as ``info.x_velocity``: environment steps, mean over a training
    episode and seconds, shape (m, 3); NaN for an episode without it."""
    reached: Doubles
    """The last step and the seconds at which it was reached, shape (1, 2); (0, 2) before the first.
    """
    threshold: float | None
    """The return at which its environment counts as solved, if known."""
    changes: int
    """Number of live changes so far."""


class MeasuredRun:
    """Processes the events of one run in order."""

    def __init__(self) -> None:
        self._evaluations, self._episodes, self._bias = _Rows(3), _Rows(3), _Rows(4)
        self._training, self._training_times = _Rows(len(TRAINING_COLUMNS)), _Rows(2)
        self._info: dict[str, _Rows] = {}
        self._reached: Doubles = np.empty((0, 2))
        self._threshold: float | None = None
        self._changes = 0
        self._measured: Measured | None = None

    def take(self, event: Event) -> None:
        """Process one event."""
        self._measured = None
        match event:
            case Started():
                self._threshold = event.reward_threshold
                self._reached = np.empty((0, 2))
                # A resumed run repeats later steps: their measurements are void.
                tables = (self._evaluations, self._episodes, self._bias, self._training)
                for table in (*tables, self._training_times, *self._info.values()):
                    table.keep_to(event.env_steps)
            case Evaluated():
                self._evaluations.add((event.env_steps, event.mean, event.wall_s))
                if {"bias", "bias_std"} <= event.measured.keys():
                    mean, std = event.measured["bias"], event.measured["bias_std"]
                    self._bias.add((event.env_steps, mean, event.wall_s, std))
            case Progress():
                self._reached = np.array([(event.env_steps, event.wall_s)], dtype=np.float64)
                self._episodes.add(event.ended.columns("env_steps", "episode_return", "wall_s"))
                self._training.add(event.training)
                self._training_times.add(event.training_times)
                for column in event.ended.info_columns:
                    rows = event.ended.columns("env_steps", column, "wall_s")
                    self._info.setdefault(column, _Rows(3)).add(rows)
            case Tuned():
                self._changes += 1

    @property
    def measured(self) -> Measured:
        """Measurements so far; the same object until the next event."""
        if self._measured is None:
            self._measured = Measured(
                evaluations=self._evaluations.all,
                episodes=self._episodes.all,
                bias=self._bias.all,
                training=self._training.all,
                training_times=self._training_times.all,
                info={column: table.all for column, table in self._info.items()},
                reached=self._reached,
                threshold=self._threshold,
                changes=self._changes,
            )
        return self._measured


def measured_by(reader: RunReader, stopped: Callable[[], bool] = lambda: False) -> MeasuredRun:
    """Return the measurements of a run on disk so far, ready for its next events."""
    run = MeasuredRun()
    for event in reader.drain(stopped):
        run.take(event)
    return run


def measured_in(path: Path, stopped: Callable[[], bool] = lambda: False) -> MeasuredRun:
    """Return the measurements of the run in a folder, as :func:`measured_by` does.

    Raises:
        RequestError: it is no run, or its description is damaged.
    """
    return measured_by(RunReader(path), stopped)


def clock_of(
    episodes: Doubles, training: Doubles, evaluations: Doubles, reached: Doubles
) -> Doubles:
    """Return steps and the seconds since the start at which they were reached, both rising.

    Times of episodes, of training rows where there are few episodes, and the last report's. Those
    of evaluations count only if there are no others, as in imported curves: they are when a result
    arrived, which may be long after its step.

    Args:
        episodes: steps and seconds, shape (n, 2), as is each of the others.
        training: of training rows.
        evaluations: of evaluations.
        reached: of the last report.

    Returns:
        Shape (k, 2), beginning at (0, 0); just this row if no times are on record.
    """
    found = _timed(episodes)
    if are_few(episodes):
        found = np.concatenate((found, _timed(training)))
    if not found[:, 1].any():
        found = _timed(evaluations)
    found = np.concatenate((np.zeros((1, 2)), found, _timed(reached)))
    if not found[:, 1].any():
        return found[:1]
    found = found[np.unique(found[:, 0], return_index=True)[1]]
    # A clock that was set back must not make a curve run backwards.
    found[:, 1] = np.maximum.accumulate(found[:, 1])
    return found


def are_few(episodes: Doubles) -> bool:
    """Return whether :func:`clock_of` needs more than these times of episodes, shape (n, 2)."""
    return len(_timed(episodes)) < _FEW_EPISODES


def _timed(rows: Doubles) -> Doubles:
    return rows[np.isfinite(rows[:, 1])]


class _Rows:
    """A growing array of rows; the first column is non-decreasing."""

    def __init__(self, columns: int) -> None:
        self._room: Doubles = np.empty((_LEAST_ROOM, columns))
        self._size = 0

    def add(self, rows: ArrayLike) -> None:
        """Add rows, shape (n, columns) or (columns,)."""
        block = np.asarray(rows, dtype=np.float64).reshape(-1, self._room.shape[1])
        needed = self._size + len(block)
        if needed > len(self._room):
            self._move(max(needed, 2 * len(self._room)))
        self._room[self._size : needed] = block
        self._size = needed

    def keep_to(self, last: float) -> None:
        """Drop the rows after a step."""
        self._size = int(np.searchsorted(self._room[: self._size, 0], last, "right"))
        # Returned arrays must not change.
        self._move(len(self._room))

    def _move(self, room: int) -> None:
        moved = np.empty((room, self._room.shape[1]))
        moved[: self._size] = self._room[: self._size]
        self._room = moved

    @property
    def all(self) -> Doubles:
        """All rows, read-only, shape (n, columns)."""
        rows = self._room[: self._size]
        rows.flags.writeable = False
        return rows
