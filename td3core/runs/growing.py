"""New rows of the tables and the journal of a growing run."""

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from td3core.arrays import Doubles
from td3core.protocol.events import Episodes, Evaluated
from td3core.protocol.metrics import TRAINING_COLUMNS
from td3core.protocol.rows import EPISODE_COLUMNS, episodes_of, evaluation_of, info_columns_in
from td3core.runs import journal
from td3core.runs.directory import TABLES
from td3core.runs.tables import parse_numbers, rising
from td3core.runs.tail import Tail


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRows:
    """Rows returned by one read."""

    training: Doubles
    """Shape (n, len(TRAINING_COLUMNS)), read-only."""
    training_times: Doubles
    """Their steps and times in seconds, shape (n, 2)."""
    episodes: Episodes
    evaluations: tuple[Evaluated, ...]
    wall_s: float
    """The latest time in the tables so far, in seconds."""
    rewritten: bool
    """True if a table no longer begins with the rows read before; all else is invalid then."""
    more: bool

    @property
    def any(self) -> bool:
        """True if a table has grown."""
        return bool(len(self.training) or self.episodes or self.evaluations)

    @property
    def env_steps(self) -> int:
        """The last step; 0 without rows."""
        steps = [int(step) for step in self.training[-1:, 0]]
        steps += [each.env_steps for each in self.episodes[-1:]]
        steps += [each.env_steps for each in self.evaluations[-1:]]
        return max(steps, default=0)


class GrowingTables:
    """Tables of one run, without damaged rows and rows of steps already returned."""

    def __init__(self, run: Path, names: Sequence[str] = TABLES) -> None:
        """Read the tables of these names; all others count as empty."""
        self._tables = {
            name: _GrowingTable(run / f"{name}.csv") for name in TABLES if name in names
        }
        self._wall_s = 0.0

    def restart(self, after: int) -> None:
        """Read all rows after a step again."""
        self._wall_s = 0.0
        for table in self._tables.values():
            table.restart(after)

    def read(self, reward_threshold: float | None) -> NewRows:
        """Return the rows since the last call."""
        training = self._numbers("training", (*TRAINING_COLUMNS, "time_s"))
        episodes = self._episodes()
        evaluations = self._evaluations(reward_threshold)
        times = np.concatenate(
            (
                training[:, -1],
                episodes.columns("wall_s")[:, 0],
                [each.wall_s for each in evaluations],
            )
        )
        self._wall_s = times[np.isfinite(times)].max(initial=self._wall_s)
        rows = np.ascontiguousarray(training[:, :-1])
        rows.flags.writeable = False
        return NewRows(
            training=rows,
            training_times=training[:, (0, -1)],
            episodes=episodes,
            evaluations=evaluations,
            wall_s=float(self._wall_s),
            rewritten=any(table.rewritten for table in self._tables.values()),
            more=any(table.more for table in self._tables.values()),
        )

    def _numbers(self, name: str, columns: Sequence[str]) -> Doubles:
        table = self._tables.get(name)
        if table is None:
            return np.empty((0, len(columns)))
        return table.numbers(table.text(), columns)

    def _episodes(self) -> Episodes:
        table = self._tables.get("episodes")
        if table is None:
            return Episodes.of()
        # Its header names the recorded values of the environment's info.
        text, info = table.text(), info_columns_in(table.columns)
        # Several environments may end an episode in one step.
        rows = table.numbers(text, ("env_steps", *EPISODE_COLUMNS, *info), keys=2)
        return episodes_of(rows[:, 1:], info)

    def _evaluations(self, reward_threshold: float | None) -> tuple[Evaluated, ...]:
        table = self._tables.get("evaluations")
        if table is None:
            return ()
        found = list(_parsed(table, reward_threshold))
        steps = np.array([(each.env_steps, at) for at, each in enumerate(found)], dtype=np.float64)
        chosen = rising(steps.reshape(-1, 2))
        chosen = chosen[table.take(chosen[:, 0])]
        return tuple(found[int(at)] for at in chosen[:, 1])


def _parsed(table: "_GrowingTable", reward_threshold: float | None) -> Iterator[Evaluated]:
    for line in table.text().split("\n"):
        cells = line.rstrip("\r").split(",")
        if len(cells) == len(table.columns):
            row = dict(zip(table.columns, cells, strict=True))
            with contextlib.suppress(KeyError, ValueError, OverflowError):
                yield evaluation_of(row, reward_threshold)


class _GrowingTable:
    """The lines of one table, and the last step returned."""

    def __init__(self, path: Path) -> None:
        self._tail = Tail(path)
        self.columns: Sequence[str] = ()
        self._reached = -1.0
        self.rewritten = self.more = False

    def restart(self, after: int) -> None:
        self._tail.restart()
        self.columns, self._reached = (), after + 0.5

    def text(self) -> str:
        """Return the rows since the last call."""
        piece = self._tail.read()
        self.rewritten, self.more = piece.rewritten, piece.more
        if piece.rewritten:
            return ""
        rows = piece.text
        if rows and not self.columns:
            names, _, rows = rows.partition("\n")
            self.columns = names.rstrip("\r").split(",")
        return rows if "env_steps" in self.columns else ""

    def numbers(self, text: str, columns: Sequence[str], keys: int = 1) -> Doubles:
        """Return some columns of the new rows in a text, shape (n, len(columns)).

        With ``keys`` > 1, rows of one step that differ in one of the first ``keys`` columns all
        stay.
        """
        rows = rising(parse_numbers(text, self.columns, columns), keys)
        new: Doubles = rows[self.take(rows[:, 0], several=keys > 1)]
        return new

    def take(self, env_steps: Doubles, *, several: bool = False) -> Any:
        """Return a mask of the new rows, given their ascending steps (n,), and remember the last.

        A table that was read while it was being rewritten may repeat rows. ``several``: more rows
        of the last step may follow.
        """
        fresh = env_steps >= self._reached if several else env_steps > self._reached
        self._reached = max([self._reached, *env_steps[-1:]])
        return fresh


class GrowingJournal:
    """The entries of a run's journal, each returned once its step is reached."""

    def __init__(self, path: Path) -> None:
        self._tail = Tail(path)
        self._waiting: list[dict[str, Any]] = []
        self._taken: list[dict[str, Any]] = []
        self._known: Counter[tuple[str, ...]] = Counter()
        """Entries returned before the file was rewritten, and not read again yet."""

    def restart(self, after: int) -> None:
        """Return the live changes after a step again: the run makes them again."""
        again = [entry for entry in self.changes if entry["step"] > after]
        self._taken = [e for e in self._taken if e["step"] <= after or "field" not in e]
        self._waiting = again + self._waiting

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The live changes returned so far."""
        return [entry for entry in self._taken if "field" in entry]

    def read(self, reached: int, *, everything: bool = False) -> list[dict[str, Any]]:
        """Return the new entries up to the current step, in order of steps.

        ``everything``: also later ones, because the tables may end before the journal does; but not
        scheduled changes that are still pending.
        """
        piece = self._tail.read()
        found = [entry for entry in map(journal.parse, piece.lines) if entry is not None]
        if piece.rewritten:
            # Pending changes were struck out, or shares of schedules became steps.
            self._known.update(map(_identity, self._taken))
            self._taken, self._waiting = [], []
        for entry in found:
            known = self._known[_identity(entry)] > 0
            self._known[_identity(entry)] -= known
            (self._taken if known else self._waiting).append(entry)
        due: list[dict[str, Any]] = []
        waiting: list[dict[str, Any]] = []
        for entry in sorted(self._waiting, key=lambda entry: entry["step"]):
            at_end = everything and not journal.is_scheduled(entry)
            (due if at_end or entry["step"] <= reached else waiting).append(entry)
        self._waiting = waiting
        self._taken += due
        return due


def _identity(entry: dict[str, Any]) -> tuple[str, ...]:
    """Return what stays the same when an entry's schedule is rewritten."""
    return tuple(str(entry.get(key)) for key in ("step", "field", "event", "time", "origin"))
