"""Reads a run from its files, in the background: curves, changes and how it ended."""

import contextlib
import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from studio.session.agents import SavedAgents, read_agents
from studio.session.curves import EVALUATIONS, RunCurves
from studio.session.journal import JournalEntry, RunJournal
from studio.session.record import RunRecord
from studio.session.series import Numbers, Series
from td3core.checkpoint import read_header
from td3core.config import Tunables
from td3core.errors import Message, RequestError
from td3core.protocol import events
from td3core.protocol.metrics import TRAINING_COLUMNS
from td3core.runs import lock
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import is_scheduled
from td3core.runs.listing import RunSummary, summarise
from td3core.runs.metadata import RunStatus
from td3core.runs.tables import read_numbers, read_table, rising
from td3core.system.regular_files import exists

Stopped = Callable[[], bool]

_ENDINGS = {"finished": "finished", "stopped": "user", "failed": "failed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHistory:
    """A run as its files describe it."""

    record: RunRecord
    agents: SavedAgents
    live: bool = False
    """True if another process trains it, as far as that can be told at once."""


def read_history(path: Path, stopped: Stopped) -> RunHistory:
    """Read a run, and the curves of the runs it was branched from.

    Args:
        path: the run's folder.
        stopped: asked now and then; True ends the reading early.

    Raises:
        RequestError: it is no run, or its description is damaged.
    """
    run = RunDirectory.open(path)
    summary = summarise(run)
    record = RunRecord(
        run=path,
        config=run.config,
        name=summary.title,
        reward_threshold=_threshold(run),
        first_tunables=run.first_tunables,
    )
    for ancestor, last_step in lineage(run):
        _read_curves(record.parent_curves, ancestor.path, stopped, last_step)
    _read_curves(record.curves, path, stopped)
    _read_journal(record.journal, run, summary.env_steps)
    record.progress = _progress(run, summary, record)
    record.outcome = _outcome(run, summary, record.progress)
    return RunHistory(record=record, agents=read_agents(run), live=_is_live(path, summary))


def _is_live(path: Path, summary: RunSummary) -> bool:
    if summary.state is RunStatus.RUNNING:
        return True
    # The lock of another machine may be invisible here; following it will show.
    holder = lock.recorded(path) if lock.left_behind(path) else None
    return holder is not None and holder.host not in ("", platform.node())


def read_parent_curves(checkpoint: Path, stopped: Stopped) -> RunCurves:
    """Read what came before a checkpoint: the curves of its run and of that one's ancestors.

    Empty if the checkpoint does not lie in a run.

    Raises:
        RequestError: the checkpoint cannot be read.
    """
    reached, curves = read_header(checkpoint).counters.env_steps, RunCurves()
    try:
        run = RunDirectory.open(checkpoint.parent.parent)
    except RequestError:
        return curves
    for ancestor, last_step in (*lineage(run), (run, reached)):
        _read_curves(curves, ancestor.path, stopped, min(last_step, reached))
    return curves


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


# Tables -----------------------------------------------------------------------------------------


def _read_curves(
    curves: RunCurves, path: Path, stopped: Stopped, last_step: float = np.inf
) -> None:
    """Add what a run's tables hold, up to a step."""

    def read(name: str, columns: tuple[str, ...]) -> Numbers:
        rows = rising(read_numbers(path / f"{name}.csv", columns, stopped))
        return rows[rows[:, 0] <= last_step]

    curves.add_training(read("training", TRAINING_COLUMNS))
    curves.add_episodes(read("episodes", ("env_steps", "return", "length")))
    # Every run has episodes, also before it learns; the time of a row may be missing.
    times = read("episodes", ("env_steps", "time_s"))
    curves.add_times(times[np.isfinite(times[:, 1])])
    evaluations = rising(_evaluations(path / "evaluations.csv"))
    curves.add_evaluations(evaluations[evaluations[:, 0] <= last_step])


def _evaluations(path: Path) -> Numbers:
    """Read the evaluations, shape (n, len(EVALUATIONS)); what is missing or empty is NaN."""
    rows = [[_number(row.get(name)) for name in EVALUATIONS] for row in read_table(path)]
    return np.array(rows, dtype=np.float64).reshape(-1, len(EVALUATIONS))


def _number(text: str | None) -> float:
    try:
        return float(text) if text else float("nan")
    except ValueError:
        return float("nan")


# Records ----------------------------------------------------------------------------------------


def _threshold(run: RunDirectory) -> float | None:
    """Return the return at which the environment counts as solved, if a checkpoint has it."""
    for path in (run.last, run.best):
        with contextlib.suppress(RequestError):
            return read_header(path).env.reward_threshold
    return None


def _read_journal(journal: RunJournal, run: RunDirectory, reached: int) -> None:
    """Add the lines of a run's journal, but for the scheduled changes still to come."""
    for line in sorted(run.journal(), key=lambda line: line["step"]):
        scheduled = is_scheduled(line)
        if scheduled and line["step"] > reached:
            continue
        if "field" not in line:
            journal.add_entry(JournalEntry(line["step"], line["event"], str(line.get("time"))))
            continue
        with contextlib.suppress(KeyError, TypeError, ValueError, OverflowError):
            journal.add_change(
                line["step"],
                line["field"],
                _live_value(line["field"], line["old"]),
                _live_value(line["field"], line["new"]),
                time=seconds_of(line.get("time")),
                scheduled=scheduled,
            )


def _live_value(name: str, value: Any) -> Any:
    """Return the value of a live setting in the setting's own type.

    Raises:
        RequestError: the setting cannot have this value.
    """
    return getattr(Tunables(**{name: value}), name)


def seconds_of(time: Any) -> float:
    """Return a time of the journal in seconds since 1970; NaN if there is none."""
    try:
        return datetime.fromisoformat(str(time)).timestamp()
    except (ValueError, OverflowError):
        return float("nan")


def _progress(run: RunDirectory, summary: RunSummary, record: RunRecord) -> events.Progress:
    """Return where the run stands, as its last report would."""
    tunables = _last_tunables(run.first_tunables, record.journal)
    updates, episodes = record.curves.training.column("updates"), record.curves.episodes
    warm = summary.env_steps <= run.config.learning_starts
    return events.Progress(
        phase=events.Phase.WARM_UP if warm else events.Phase.LEARNING,
        env_steps=summary.env_steps,
        updates=int(updates[-1]) if len(updates) and np.isfinite(updates[-1]) else 0,
        episodes=len(episodes) * episodes.rows_each + _inherited_episodes(run, episodes),
        steps_per_s=summary.env_steps / summary.wall_s if summary.wall_s else 0.0,
        wall_s=summary.wall_s,
        exploration_noise=tunables.exploration_noise,
        revision=0,
        tunables=tunables,
        training=np.empty((0, len(TRAINING_COLUMNS))),
    )


def _inherited_episodes(run: RunDirectory, own: Series) -> int:
    """Return how many episodes a branch counts that are in its parent's table."""
    if run.parent is None:
        return 0
    with contextlib.suppress(RequestError):
        counters = read_header(run.last).counters
        counted = own.rows_each * int((own.column("env_steps") <= counters.env_steps).sum())
        return max(counters.episodes - counted, 0)
    return 0


def _last_tunables(first: Tunables, journal: RunJournal) -> Tunables:
    tunables = first
    for marker in journal.markers:
        with contextlib.suppress(RequestError):
            tunables = replace(tunables, **{marker.name: marker.new})
    return tunables


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
