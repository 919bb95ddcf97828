"""Turns several runs, read from disk or reporting live, into the lines of a comparison.

Only plain data and functions, called in the background; the other files show the results.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from studio.tasks.background_task import Stopped
from td3core.analysis.aggregate import Band
from td3core.analysis.comparison import MOST_RUNS, Comparison, band_of, compare
from td3core.analysis.groups import BY_RUN, BY_SETTINGS
from td3core.analysis.measured import Measured
from td3core.analysis.results import (
    Metric,
    RunResults,
    XAxis,
    read_results,
    results_of,
    trailing_mean,
    training_of,
    with_measured,
)
from td3core.analysis.results import read_training as read_training_of
from td3core.arrays import Doubles
from td3core.config import sign_of
from td3core.errors import RequestError, message_of
from td3core.protocol.metrics import TRAINING_COLUMNS
from td3core.runs.directory import RunDirectory
from td3core.runs.layout import distinct
from td3core.runs.metadata import ENDING, NOTES
from td3core.text import Text

RETURN, Q, CRITIC_LOSS, ACTOR_LOSS = PLOTTED = ("return", "q", "critic_loss", "actor_loss")
"""The plots: returns first; the others show columns of ``training.csv``."""
CHOICES = {
    Q: {"q1": Text("Q₁"), "q2": Text("Q₂"), "target": Text("Target")},
    CRITIC_LOSS: {"critic1_loss": Text("Q₁ loss"), "critic2_loss": Text("Q₂ loss")},
}
"""Columns that a plot can show, with their names on screen."""
_WATCHED = ("evaluations.csv", "episodes.csv", "training.csv", NOTES, ENDING)

Stamp = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComparedRun:
    """One run with the data of a comparison."""

    results: RunResults
    training: Doubles | None = None
    """Training statistics, shape (n, len(TRAINING_COLUMNS)); None until they are read."""
    stamp: Stamp
    """Modification times of its tables and of its name when it was read."""
    measured: Measured | None = None
    """Its reports so far, if it trains from this window; then its tables are not read."""
    problem: Text | None = None
    """Why its data may be out of date; None if it is current."""

    @property
    def path(self) -> Path:
        """The folder of the run."""
        return self.results.path

    def curve(
        self, plotted: str, metric: Metric, view: "ComparisonChoice"
    ) -> tuple[Doubles, Doubles]:
        """Return x and y of one of :data:`PLOTTED`, shapes (n,), without NaN.

        There are no points until the training statistics are read.
        """
        if plotted == RETURN:
            return self.results.curve(metric, view.x, view.smoothing)
        if self.training is None:
            return np.empty(0), np.empty(0)
        values = self.training[:, TRAINING_COLUMNS.index(view.column(plotted))]
        at = self.results.on_axis(self.training[:, 0], view.x)
        known = np.isfinite(values) & np.isfinite(at)
        return at[known], trailing_mean(values[known], view.smoothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSet:
    """The chosen runs, and the problems with reading them."""

    runs: tuple[ComparedRun, ...] = ()
    problems: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonChoice:
    """The user's view options for a comparison."""

    x: XAxis = "steps"
    metric: Metric = "eval"
    grouped: bool = True
    smoothing: int = 1
    """Number of values averaged for a point of a curve."""
    hidden: frozenset[str] = frozenset()
    """Names of hidden groups."""
    single: frozenset[Path] = frozenset()
    """Runs that are drawn in addition to their group."""
    names: Mapping[Path, str] = field(default_factory=dict)
    """The user's names for groups, by the folder of their first run."""
    q: str = "q1"
    """One of :data:`CHOICES`, as is the next field."""
    critic_loss: str = "critic1_loss"

    def column(self, plotted: str) -> str:
        """Return the column of the training statistics that a plot shows."""
        return {Q: self.q, CRITIC_LOSS: self.critic_loss}.get(plotted, plotted)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedLine:
    """One line of a plot, and its colour in every plot."""

    label: str
    place: int
    """Index of its group in the order of groups."""
    curve: Band
    faint: bool = False
    """True for a run that is drawn in addition to its group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownComparison:
    """Everything shown of a comparison."""

    comparison: Comparison
    view: ComparisonChoice
    lines: Mapping[str, tuple[ComparedLine, ...]] = field(default_factory=dict)
    """Lines by plot of :data:`PLOTTED`."""
    problems: Mapping[Path, Text] = field(default_factory=dict)
    """Runs whose data may be out of date, and why."""
    notes: tuple[Text, ...] = ()


# Reading -----------------------------------------------------------------------------------------


def read_returns(
    found: RunSet, paths: Sequence[Path], live: Mapping[Path, Measured], stopped: Stopped
) -> RunSet:
    """Read settings, evaluations and episodes of runs, for the table and the first plot.

    Runs ``found`` before are read again, in full, only if their files have changed; a run deleted
    since keeps its earlier data. Of ``live`` runs, which report their measurements here, only the
    description is read.

    Returns:
        The runs of these paths; ``found`` itself if nothing is new.

    Raises:
        RequestError: no run can be read.
    """
    known = {run.path: run for run in found.runs}
    paths = distinct(paths)
    runs, problems = [], []
    for path in paths[:MOST_RUNS]:
        if stopped():
            return found
        before, measured = known.get(path), live.get(path)
        stamp = _stamp(path) if measured is None else (measured.changes, *_stamp(path, (NOTES,)))
        if before is not None and before.stamp == stamp and before.measured is measured:
            runs.append(before)
            continue
        try:
            if measured is None:
                runs.append(_read_run(path, before, stamp, stopped))
            else:
                runs.append(_live_run(path, before, stamp, measured))
        except (RequestError, OSError) as problem:
            if before is None:
                problems.append(message_of(problem))
                continue
            title = before.results.title
            gone = Text("{run} can no longer be read; shown as it was.", run=title)
            runs.append(replace(before, stamp=stamp, problem=gone))
    if len(paths) > MOST_RUNS:
        most = Text.counted(
            "{n} run was chosen; the first {most} are compared.",
            "{n} runs were chosen; the first {most} are compared.",
            n=len(paths),
            most=MOST_RUNS,
        )
        problems.insert(0, most)
    if not runs and problems:
        raise RequestError(problems[-1])
    problems += [run.problem for run in runs if run.problem]
    fresh = RunSet(runs=tuple(runs), problems=tuple(problems))
    return found if fresh == found else fresh


def _read_run(
    path: Path, before: ComparedRun | None, stamp: Stamp, stopped: Stopped
) -> ComparedRun:
    results = read_results(path, stopped)
    again = before is not None and before.training is not None
    training = read_training_of(path, stopped) if again else None
    return ComparedRun(results=results, training=training, stamp=stamp)


def _live_run(
    path: Path, before: ComparedRun | None, stamp: Stamp, measured: Measured
) -> ComparedRun:
    if before is not None and before.stamp == stamp:
        results = with_measured(before.results, measured)
    else:
        results = results_of(RunDirectory.open(path), measured, live=True)
    training = training_of(measured)
    return ComparedRun(results=results, training=training, stamp=stamp, measured=measured)


def read_training(found: RunSet, stopped: Stopped) -> RunSet:
    """Add missing training statistics of runs; return ``found`` if none are missing."""
    if all(run.training is not None for run in found.runs):
        return found
    runs = []
    for run in found.runs:
        missing = run.training is None and not stopped()
        runs.append(replace(run, training=read_training_of(run.path, stopped)) if missing else run)
    return replace(found, runs=tuple(runs))


def _stamp(path: Path, names: Sequence[str] = _WATCHED) -> Stamp:
    """Return the modification times of a run's files; 0 for a missing one."""
    found = []
    for name in names:
        try:
            found.append((path / name).stat().st_mtime_ns)
        except OSError:
            found.append(0)
    return tuple(found)


# Showing -----------------------------------------------------------------------------------------


def build(found: RunSet, view: ComparisonChoice) -> ShownComparison:
    """Compute everything shown of runs with these view options.

    Raises:
        RequestError: there are no runs, or they cannot be grouped as requested.
    """
    by = (BY_SETTINGS if view.grouped else BY_RUN,)
    names = view.names if view.grouped else {}
    results = [run.results for run in found.runs]
    comparison = compare(results, view.metric, by, names, view.x, called=sign_of)
    runs = {run.path: run for run in found.runs}
    return ShownComparison(
        comparison=comparison,
        view=view,
        lines={plotted: _lines(plotted, comparison, runs, view) for plotted in PLOTTED},
        problems={run.path: run.problem for run in found.runs if run.problem},
        notes=(*found.problems, *comparison.notes),
    )


def _lines(
    plotted: str, comparison: Comparison, runs: Mapping[Path, ComparedRun], view: ComparisonChoice
) -> tuple[ComparedLine, ...]:
    lines = []
    several = len(comparison.groups) > 1
    for place, each in enumerate(comparison.groups):
        members = [runs[run.path] for run in each.group.runs]
        curves = {
            run.path: run.curve(plotted, comparison.metric, view)
            for run in members
            if each.name not in view.hidden or run.path in view.single
        }
        known = {path: (x, y) for path, (x, y) in curves.items() if len(x)}
        # A training run has its place in the legend before its first point.
        awaited = {run.path for run in members if run.measured is not None}
        if each.name not in view.hidden and (known or awaited):
            counted = [known[run.path] for run in each.counted if run.path in known]
            lines.append(ComparedLine(label=each.name, place=place, curve=band_of(counted)))
        for run in members:
            if run.path in view.single and len(members) > 1:
                if run.path not in known and run.path not in awaited:
                    continue
                alone = band_of([curves[run.path]])
                member = each.group.member_name(run.results)
                label = f"{each.name} · {member}" if several else member
                lines.append(ComparedLine(label=label, place=place, curve=alone, faint=True))
    return tuple(lines)
