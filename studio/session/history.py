"""A run as its files tell it: curves, changes and how it ended, read beside the window."""

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from studio.session.series import Numbers, Series
from td3core.checkpoint import read_header
from td3core.config import Tunables, specs
from td3core.errors import Message, RequestError
from td3core.protocol import events
from td3core.protocol.metrics import TRAINING_COLUMNS
from td3core.runs import journal
from td3core.runs.directory import RunDirectory
from td3core.runs.listing import RunSummary, summarise
from td3core.runs.tables import read_numbers, read_table
from td3core.system.regular_files import exists, open_regular

Stopped = Callable[[], bool]

SMOOTHED_EPISODES = 20
EPISODES = ("env_steps", "return", "smoothed", "length")
EVALUATIONS = ("env_steps", "mean", "std", "success")
_DONE = {
    "pause": "paused",
    "save": "saved by hand",
    "stop": "stopped",
    "resume": "resumed",
    "branch": "branched",
}
_TAIL_BYTES = 8192
_ENDINGS = {"finished": "finished", "stopped": "user", "failed": "failed"}


@dataclass(slots=True)
class RunCurves:
    """The three series of a run."""

    episodes: Series = field(default_factory=lambda: Series(EPISODES))
    training: Series = field(default_factory=lambda: Series(TRAINING_COLUMNS))
    evaluations: Series = field(default_factory=lambda: Series(EVALUATIONS))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedChange:
    """A live change on record; ``time`` is in seconds since 1970, NaN if unknown."""

    env_steps: int
    name: str
    old: float
    new: float
    time: float


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """What a person did to a run besides changing its settings; ``time`` is as in the journal."""

    env_steps: int
    event: str
    time: str

    @property
    def text(self) -> str:
        """What was done, in words."""
        return f"{_DONE.get(self.event, self.event)} at step {self.env_steps:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHistory:
    """All that is shown of a run that is opened."""

    run: RunDirectory
    summary: RunSummary
    curves: RunCurves
    past: RunCurves
    """The run's ancestors, each up to the step it was branched at; empty without any."""
    changes: tuple[RecordedChange, ...]
    notes: tuple[JournalEntry, ...]
    reward_threshold: float | None
    progress: events.Progress
    outcome: events.Ended | events.Failed | None
    """None for a run that was interrupted."""


def read_history(path: Path, smoothed: int, stopped: Stopped) -> RunHistory:
    """Read a run and the past it was branched from.

    Args:
        path: the run's folder.
        smoothed: episodes in the running mean of the returns.
        stopped: asked now and then; True ends the reading early.

    Raises:
        RequestError: it is no run, or its description is damaged.
    """
    run = RunDirectory.open(path)
    curves, past = RunCurves(), RunCurves()
    for ancestor, last_step in lineage(run):
        _read_curves(past, ancestor.path, smoothed, stopped, last_step)
    _read_curves(curves, path, smoothed, stopped)
    changes = tuple(_changes(run))
    summary = summarise(run)
    progress = _progress(run, summary, curves, changes)
    return RunHistory(
        run=run,
        summary=summary,
        curves=curves,
        past=past,
        changes=changes,
        notes=journal_entries(run.journal()),
        reward_threshold=_threshold(run),
        progress=progress,
        outcome=_outcome(run, summary, progress),
    )


def read_parent_curves(checkpoint: Path, smoothed: int, stopped: Stopped) -> RunCurves:
    """Read what came before a checkpoint: the curves of its run and of that one's ancestors.

    Empty if the checkpoint does not lie in a run.

    Raises:
        RequestError: the checkpoint cannot be read.
    """
    reached, past = read_header(checkpoint).counters.env_steps, RunCurves()
    try:
        run = RunDirectory.open(checkpoint.parent.parent)
    except RequestError:
        return past
    for ancestor, last_step in (*lineage(run), (run, reached)):
        _read_curves(past, ancestor.path, smoothed, stopped, min(last_step, reached))
    return past


def journal_entries(entries: Iterable[dict[str, Any]]) -> tuple[JournalEntry, ...]:
    """Return the lines of a journal that are no changes of settings."""
    return tuple(
        JournalEntry(entry["step"], entry["event"], str(entry.get("time")))
        for entry in entries
        if "field" not in entry
    )


def latest_entries(run: Path) -> tuple[JournalEntry, ...]:
    """Return what was noted last in a run's journal, reading its end only."""
    try:
        with open_regular(run / "journal.jsonl") as file:
            file.seek(max(file.seek(0, 2) - _TAIL_BYTES, 0))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ()
    return journal_entries(entry for entry in map(journal.parse, text.split("\n")) if entry)


def _threshold(run: RunDirectory) -> float | None:
    """Return the return from which the run's environment counts as solved, if a file says so."""
    for path in (run.last, run.best):
        with contextlib.suppress(RequestError):
            return read_header(path).env.reward_threshold
    return None


def lineage(run: RunDirectory) -> list[tuple[RunDirectory, int]]:
    """Return a run's ancestors that still exist, oldest first, each with its last shared step."""
    found: list[tuple[RunDirectory, int]] = []
    seen = {run.path}
    limit = float("inf")
    while run.parent is not None and (path := run.path.with_name(run.parent.run)) not in seen:
        seen.add(path)
        limit = min(limit, run.parent.env_steps)
        try:
            run = RunDirectory.open(path)
        except RequestError:
            break
        found.append((run, int(limit)))
    return found[::-1]


def _read_curves(
    curves: RunCurves, path: Path, smoothed: int, stopped: Stopped, last_step: float = np.inf
) -> None:
    """Append what a run's tables hold, up to a step."""

    def read(name: str, columns: tuple[str, ...]) -> Numbers:
        rows = _rising(read_numbers(path / f"{name}.csv", columns, stopped))
        return rows[rows[:, 0] <= last_step]

    curves.training.append(read("training", TRAINING_COLUMNS))
    evaluations = read("evaluations", EVALUATIONS[:-1])
    success = _success_rates(path / "evaluations.csv")
    rates = [success.get(int(step), np.nan) for step in evaluations[:, 0]]
    curves.evaluations.append(np.column_stack((evaluations, rates)))
    episodes = read("episodes", ("env_steps", "return", "length"))
    smooth = _running_mean(episodes[:, 1], smoothed)
    curves.episodes.append(np.column_stack((episodes[:, :2], smooth, episodes[:, 2])))


def _success_rates(path: Path) -> dict[int, float]:
    """Return the share of episodes that reached the threshold, by step, where there is one."""
    found: dict[int, float] = {}
    for row in read_table(path):
        with contextlib.suppress(KeyError, ValueError):
            found[int(row["env_steps"])] = float(row["success"])
    return found


def _rising(rows: Numbers) -> Numbers:
    """Return rows whose first column rises; where a resumed run took steps again, the later ones.

    Shape (n, columns) in and out, perhaps with fewer rows.
    """
    rows = rows[np.isfinite(rows[:, 0])]
    steps = rows[:, 0]
    lowest_after = np.minimum.accumulate(steps[::-1])[::-1]
    keep = steps <= lowest_after
    keep[:-1] &= steps[:-1] < lowest_after[1:]
    return rows[keep]


def _running_mean(values: Numbers, count: int) -> Numbers:
    """Return the mean of each value and up to ``count - 1`` before it."""
    sums = np.concatenate(([0.0], np.cumsum(values)))
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - count, 0)
    means: Numbers = (sums[ends] - sums[starts]) / (ends - starts)
    return means


def _changes(run: RunDirectory) -> list[RecordedChange]:
    known = {name for name, _ in specs(Tunables)}
    found = []
    for entry in run.journal():
        try:
            values: dict[str, Any] = {key: float(entry[key]) for key in ("old", "new")}
            step, name = int(entry["step"]), str(entry["field"])
        except (KeyError, TypeError, ValueError, OverflowError):
            continue
        if name in known:
            time = _seconds(entry.get("time"))
            found.append(RecordedChange(env_steps=step, name=name, time=time, **values))
    return found


def _seconds(time: object) -> float:
    try:
        return datetime.fromisoformat(str(time)).timestamp()
    except (ValueError, OverflowError):
        return float("nan")


def _progress(
    run: RunDirectory, summary: RunSummary, curves: RunCurves, changes: tuple[RecordedChange, ...]
) -> events.Progress:
    tunables = run.first_tunables
    for change in changes:
        kind = type(getattr(tunables, change.name))
        try:
            tunables = replace(tunables, **{change.name: kind(change.new)})
        except (RequestError, ValueError, OverflowError):
            continue
    updates = curves.training.column("updates")
    warm = summary.env_steps <= run.config.learning_starts
    return events.Progress(
        phase=events.Phase.WARM_UP if warm else events.Phase.LEARNING,
        env_steps=summary.env_steps,
        updates=int(updates[-1]) if len(updates) and np.isfinite(updates[-1]) else 0,
        episodes=len(curves.episodes) * curves.episodes.rows_each,
        steps_per_s=summary.env_steps / summary.wall_s if summary.wall_s else 0.0,
        wall_s=summary.wall_s,
        exploration_noise=tunables.exploration_noise,
        revision=0,
        tunables=tunables,
        training=np.empty((0, len(TRAINING_COLUMNS))),
    )


def _outcome(
    run: RunDirectory, summary: RunSummary, progress: events.Progress
) -> events.Ended | events.Failed | None:
    stopped = _ENDINGS.get(summary.state)
    if stopped is None:
        return None
    ended = events.Ended(
        run=run.path,
        stopped=stopped,
        env_steps=progress.env_steps,
        updates=progress.updates,
        episodes=progress.episodes,
        wall_s=progress.wall_s,
        steps_per_s=progress.steps_per_s,
        last_eval_return=summary.last_eval_return,
        best_eval_return=summary.best_eval_return,
        best_checkpoint=run.best if exists(run.best) else None,
        last_checkpoint=run.last if exists(run.last) else None,
    )
    if stopped == "failed":
        return events.Failed(message=Message(summary.message), details="", ending=ended)
    return ended
