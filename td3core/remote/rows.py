"""What is new in the tables and the journal of a run that grows."""

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from td3core.arrays import Doubles
from td3core.protocol.events import EpisodeEnded, Evaluated
from td3core.protocol.metrics import TRAINING_COLUMNS
from td3core.remote.tail import Tail
from td3core.runs import journal
from td3core.runs.metadata import MOST_STEPS

Row = dict[str, str]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRows:
    """What was read at once."""

    training: Doubles
    """Shape (n, len(TRAINING_COLUMNS)), read-only."""
    episodes: tuple[EpisodeEnded, ...]
    evaluations: tuple[Evaluated, ...]
    wall_s: float
    """The latest time in the tables so far, in seconds."""
    rewritten: bool
    """True if a table no longer begins with what was read before; nothing else is valid then."""
    more: bool

    @property
    def any(self) -> bool:
        """True if a table has grown."""
        return bool(len(self.training) or self.episodes or self.evaluations)

    @property
    def env_steps(self) -> int:
        """The furthest step; 0 without rows."""
        steps = [each.env_steps for each in self.episodes[-1:]]
        steps += [each.env_steps for each in self.evaluations[-1:]]
        if len(self.training):
            steps.append(int(self.training[-1, 0]))
        return max(steps, default=0)


class GrowingTables:
    """The three tables of one run. Damaged rows and those of earlier steps are left out."""

    def __init__(self, run: Path) -> None:
        self._training = _GrowingTable(run / "training.csv", _training_row)
        self._episodes = _GrowingTable(run / "episodes.csv", _episode)
        self._evaluations = _GrowingTable(run / "evaluations.csv", _evaluation)

    def restart(self, after: int) -> None:
        """Read all rows after a step anew."""
        for table in (self._training, self._episodes, self._evaluations):
            table.restart(after)

    def read(self, reward_threshold: float | None) -> NewRows:
        """Return the rows since the last call."""
        training, episodes = self._training.read(), self._episodes.read()
        evaluations = self._evaluations.read()
        rows = np.array(training, dtype=np.float64).reshape(-1, len(TRAINING_COLUMNS))
        rows.flags.writeable = False
        tables = (self._training, self._episodes, self._evaluations)
        return NewRows(
            training=rows,
            episodes=tuple(episodes),
            evaluations=tuple(_with_threshold(each, reward_threshold) for each in evaluations),
            wall_s=max(table.wall_s for table in tables),
            rewritten=any(table.rewritten for table in tables),
            more=any(table.more for table in tables),
        )


def _with_threshold(event: Evaluated, threshold: float | None) -> Evaluated:
    values = {name: getattr(event, name) for name in Evaluated.__slots__}
    return Evaluated(**values | {"reward_threshold": threshold})


class _GrowingTable(Generic[T]):
    """One table; each of its rows is made into a value."""

    def __init__(self, path: Path, parse: Callable[[Row, int, float], T]) -> None:
        self._tail, self._parse = Tail(path), parse
        self._columns: Sequence[str] = ()
        self._reached = 0
        self.wall_s = 0.0
        self.rewritten = self.more = False

    def restart(self, after: int) -> None:
        self._tail.restart()
        self._columns, self._reached, self.wall_s = (), after + 1, 0.0

    def read(self) -> list[T]:
        piece = self._tail.read()
        self.rewritten, self.more = piece.rewritten, piece.more
        if piece.rewritten:
            return []
        return list(self._values(piece.lines))

    def _values(self, lines: Sequence[str]) -> Iterator[T]:
        for line in lines:
            cells = line.rstrip("\r").split(",")
            if not self._columns:
                self._columns = cells
                continue
            if len(cells) != len(self._columns):
                continue
            row = dict(zip(self._columns, cells, strict=True))
            with contextlib.suppress(KeyError, ValueError, OverflowError):
                step, wall_s = _whole(row["env_steps"]), _time(row)
                self.wall_s = max(self.wall_s, wall_s)
                # A table that was read while it was being rewritten may repeat some.
                if step >= self._reached:
                    value = self._parse(row, step, wall_s)
                    self._reached = step
                    yield value


def _training_row(row: Row, env_steps: int, _wall_s: float) -> list[float]:
    updates = _whole(row["updates"])
    # A column that the table lacks, because another version wrote it, is NaN.
    return [env_steps, updates, *(float(row.get(name, "nan")) for name in TRAINING_COLUMNS[2:])]


def _episode(row: Row, env_steps: int, _wall_s: float) -> EpisodeEnded:
    return EpisodeEnded(
        episode=_whole(row["episode"]),
        env_steps=env_steps,
        episode_return=float(row["return"]),
        shaped_return=float(row.get("shaped_return", "nan")),
        length=_whole(row["length"]),
        terminated=row.get("terminated") == "1",
    )


def _evaluation(row: Row, env_steps: int, wall_s: float) -> Evaluated:
    returns = tuple(float(value) for value in row["returns"].split())
    if not returns:
        raise ValueError("no episodes")
    return Evaluated(
        env_steps=env_steps,
        returns=returns,
        lengths=tuple(_whole(value) for value in row["lengths"].split()),
        seed=int(row["seed"]),
        is_best=row["best"] == "1",
        wall_s=wall_s,
    )


def _whole(text: str) -> int:
    number = float(text)
    if not 0 <= number <= MOST_STEPS:
        raise ValueError(text)
    return int(number)


def _time(row: Row) -> float:
    value = float(row.get("time_s", "0"))
    return value if math.isfinite(value) else 0.0


class GrowingJournal:
    """The entries of a run's journal, each handed out once its step is reached."""

    def __init__(self, path: Path) -> None:
        self._tail = Tail(path)
        self._waiting: list[dict[str, Any]] = []
        self._taken: list[dict[str, Any]] = []

    def restart(self, after: int) -> None:
        """Hand out the live changes after a step again: the run makes them again."""
        again = [entry for entry in self._taken if entry["step"] > after and "field" in entry]
        self._taken = [entry for entry in self._taken if entry["step"] <= after]
        self._waiting = again + self._waiting

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The live changes handed out so far."""
        return [entry for entry in self._taken if "field" in entry]

    def read(self, reached: int, *, everything: bool = False) -> list[dict[str, Any]]:
        """Return the new entries up to the step reached, by step.

        ``everything``: also later ones, but for changes that the run was started with and that are
        still to come. The rows of a run may end before its journal does.
        """
        piece = self._tail.read()
        found = [entry for entry in map(journal.parse, piece.lines) if entry is not None]
        if piece.rewritten:
            # Changes were struck out that had not been made yet.
            self._waiting = [entry for entry in found if entry not in self._taken]
        else:
            self._waiting += found
        due: list[dict[str, Any]] = []
        waiting: list[dict[str, Any]] = []
        for entry in sorted(self._waiting, key=lambda entry: entry["step"]):
            at_end = everything and not journal.is_scheduled(entry)
            (due if at_end or entry["step"] <= reached else waiting).append(entry)
        self._waiting = waiting
        self._taken += due
        return due
