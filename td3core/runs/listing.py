"""The runs of a folder and the state of each."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from td3core.arrays import Doubles
from td3core.checkpoint import read_header
from td3core.config import title_of
from td3core.config.algorithms import ALGORITHMS, TD3
from td3core.errors import RequestError, message_of, unreadable
from td3core.protocol.run_status import RunStatus
from td3core.runs import lock
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import made_by
from td3core.runs.layout import DESCRIPTION, step_in_name
from td3core.runs.metadata import MOST_STEPS, Ending, Parent
from td3core.runs.naming import Usual, changes_in_words, describe, with_env
from td3core.runs.tables import number, read_last_row, read_means
from td3core.system.regular_files import exists
from td3core.text import NO_TEXT, Text

_MOST_BYTES = 8 * 2**20
"""Largest evaluations table that a list reads completely: some ten thousand rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """One line of the list of runs."""

    run: Path
    env: str
    preset: str
    seed: int
    created: str
    steps: int
    env_steps: int
    last_eval_return: float | None
    best_eval_return: float | None
    state: RunStatus
    wall_s: float
    """Training time in seconds, pauses included."""
    message: Text
    """Why it failed, if it did."""
    parent: Parent | None
    name: str
    """The name the user gave it; empty without one."""
    note: str
    algorithm: str = ALGORITHMS[TD3].title
    """``TD3``, ``DDPG`` or ``TQC``, by the settings it was started with."""
    group: str = ""
    """Its group of runs; empty without one."""
    changed: Text = NO_TEXT
    """The first settings that differ from its preset's, in words."""
    live_changes: int = 0
    """Number of live changes while it trained, including those it was started with."""
    curves_only: bool = False
    """Whether it was imported without an agent."""

    @property
    def own_steps(self) -> int:
        """Steps that it took itself: those of a branch begin at its parent's agent."""
        return max(self.env_steps - (self.parent.env_steps if self.parent else 0), 0)

    @property
    def description(self) -> str:
        """What distinguishes it from other runs."""
        return describe(
            seed=self.seed,
            env=self.env,
            preset=self.preset,
            algorithm=self.algorithm,
            changed=self.changed.english,
            parent=self.parent,
        )

    @property
    def title(self) -> str:
        """Name in lists of runs of its environment."""
        return self.name or self.description

    @property
    def full_title(self) -> str:
        """Name anywhere else, with the environment."""
        return with_env(self.env, self.title)


_opened: dict[Path, tuple[int, RunDirectory]] = {}


def open_once(path: Path) -> RunDirectory:
    """Open a run, reading its description again only if it has changed; for long lists.

    Raises:
        RequestError: as :meth:`RunDirectory.open`.
    """
    try:
        stamp = (path / DESCRIPTION).stat().st_mtime_ns
    except OSError:
        return RunDirectory.open(path)
    known = _opened.get(path)
    if known is None or known[0] != stamp:
        known = _opened[path] = (stamp, RunDirectory.open(path))
    return known[1]


def list_runs(runs_dir: Path) -> Iterator[RunDirectory]:
    """Yield the readable runs of a folder, newest first; others are skipped."""
    runs = []
    for folder in run_folders(runs_dir):
        try:
            runs.append(open_once(folder))
        except RequestError:
            continue
    yield from sorted(runs, key=lambda run: (run.created, run.path.name), reverse=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableRun:
    """A run that cannot be opened, such as one of a newer version."""

    run: Path
    message: Text
    """Reason."""


def unreadable_runs(runs_dir: Path) -> Iterator[UnreadableRun]:
    """Yield the runs of a folder that cannot be opened, by name."""
    for folder in sorted(run_folders(runs_dir)):
        try:
            open_once(folder)
        except RequestError as problem:
            yield UnreadableRun(run=folder, message=message_of(problem))


def run_folders(runs_dir: Path) -> list[Path]:
    """Return the folders that hold a ``run.toml``, those with the newest one first.

    Even a dangling link to it marks a run, which is reported as unreadable.

    Raises:
        RequestError: the folder of runs cannot be read.
    """
    found = []
    try:
        with os.scandir(runs_dir) as entries:
            for entry in entries:
                # For a long list, creating Paths would cost more than the call itself.
                with contextlib.suppress(OSError):
                    stamp = os.lstat(f"{entry.path}/{DESCRIPTION}").st_mtime_ns
                    found.append((stamp, entry.path))
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise unreadable(runs_dir, problem) from problem
    return [Path(path) for _, path in sorted(found, reverse=True)]


def summarise(run: RunDirectory, usual: Usual | None = None) -> RunSummary:
    """Summarise a run from its records and the ends of its tables.

    ``usual`` caches the settings of presets for the next run.
    """
    state, ending = state_of(run)
    label = run.label()
    evaluations, complete = np.empty((0, 2)), True
    # The record of an ending holds these numbers, unless the run was resumed since.
    if ending is None or ending.best_eval_return is None or state is not ending.state:
        evaluations, complete = _evaluations(run.path / "evaluations.csv")
    evaluations = evaluations[np.isfinite(evaluations).all(axis=1)]
    means = [float(mean) for mean in evaluations[:, 1]]
    rows = [read_last_row(run.path / f"{name}.csv") for name in ("training", "episodes")]
    saved = steps_saved(run)
    seen = [int(number(row, "env_steps")) for row in rows]
    evaluated = (int(step) for step in evaluations[-1:, 0] if 0 <= step < MOST_STEPS)
    env_steps = max(saved, *seen, *evaluated)
    wall_s = max(number(row, "time_s") for row in rows)
    last = means[-1] if means else None
    best = max(means, default=None) if complete else _mean_of_best(run)
    if ending is not None:
        env_steps, wall_s = max(env_steps, ending.env_steps), max(wall_s, ending.wall_s)
        last = ending.last_eval_return if last is None else last
        best = ending.best_eval_return if best is None else best
    return RunSummary(
        run=run.path,
        env=run.config.env,
        preset=run.config.preset,
        seed=run.config.seed,
        created=run.created,
        steps=run.config.steps,
        env_steps=env_steps,
        last_eval_return=last,
        best_eval_return=best,
        state=state,
        wall_s=wall_s,
        message=ending.message if ending else NO_TEXT,
        parent=run.parent,
        name=label.name,
        note=label.note,
        algorithm=title_of(run.config, run.first_tunables),
        group=run.group,
        changed=changes_in_words(run, usual),
        live_changes=len(made_by(run.journal(), env_steps)),
        curves_only=run.has_curves_only(),
    )


def _evaluations(path: Path) -> tuple[Doubles, bool]:
    """Return step and mean return (n, 2) of evaluations, and whether these are all.

    For a very long table, only the last row is read.
    """
    found = read_means(path, _MOST_BYTES)
    if len(found):
        return found, True
    row = read_last_row(path)
    with contextlib.suppress(KeyError, ValueError):
        return np.array([[float(row["env_steps"]), float(row["mean"])]]), False
    return np.empty((0, 2)), True


def _mean_of_best(run: RunDirectory) -> float | None:
    """Return the mean return in the file of the best agent; None without one."""
    if exists(run.best):
        with contextlib.suppress(RequestError):
            evaluation = read_header(run.best).evaluation
            return evaluation.mean if evaluation else None
    return None


def has_reached(run: RunDirectory, last_step: int) -> bool:
    """True if a run of this length has nothing left to do; it may have been given more steps.

    A run that was killed in its last evaluation has taken its last step, but has not ended.
    """
    ending = run.ending()
    taken = max(ending.env_steps if ending else 0, steps_saved(run))
    finished = ending is not None and ending.stopped == "finished"
    return taken > last_step or (finished and taken == last_step)


def steps_saved(run: RunDirectory) -> int:
    """Return the last step with a checkpoint, by file names and by the header of ``last``."""
    named = (step_in_name(path) for path in run.step_files())
    return max(steps_of_last(run), *(step for step in named if step is not None), 0)


def steps_of_last(run: RunDirectory) -> int:
    """Return the step of the agent in ``last``; 0 without one that can be read."""
    if not exists(run.last):
        return 0
    with contextlib.suppress(RequestError):
        return read_header(run.last).counters.env_steps
    return 0


def state_of(run: RunDirectory) -> tuple[RunStatus, Ending | None]:
    """Return the state of a run, correct even while it starts or ends, and its ending."""
    was_left = lock.left_behind(run.path)
    held = lock.holder(run.path)
    # After the lock: a run records its ending before it releases the lock.
    ending = run.ending()
    # The record of an ending belongs to an earlier session: the run was resumed since.
    if held:
        return RunStatus.RUNNING, ending
    if was_left and lock.left_behind(run.path):
        # A run killed right after its last step was recorded has finished all the same.
        if ending and ending.stopped == "finished" and ending.env_steps >= run.config.steps:
            return RunStatus.FINISHED, ending
        return RunStatus.INTERRUPTED, ending
    if ending is not None:
        return ending.state, ending
    # Runs made before endings were recorded are judged by their last checkpoint.
    finished = steps_of_last(run) >= run.config.steps
    return RunStatus.FINISHED if finished else RunStatus.INTERRUPTED, ending
