"""Several runs, read or heard of, turned into the lines of a comparison, in the background.

Everything here is plain data and functions; what is shown belongs to ``studio/plots/compare``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

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
from td3core.runs.metadata import ENDING, NOTES
from td3core.text import Text

Stopped = Callable[[], bool]
Curves = Sequence[tuple[Doubles, Doubles]]

RETURN, Q, CRITIC_LOSS, ACTOR_LOSS = PLOTTED = ("return", "q", "critic_loss", "actor_loss")
"""The plots. That of the returns comes first; the others show columns of ``training.csv``."""
CHOICES = {
    Q: {"q1": Text("Q₁"), "q2": Text("Q₂"), "target": Text("Target")},
    CRITIC_LOSS: {"critic1_loss": Text("Q₁ loss"), "critic2_loss": Text("Q₂ loss")},
}
"""Columns that a plot can show, with their names on screen."""
_WATCHED = ("evaluations.csv", "episodes.csv", "training.csv", NOTES, ENDING)

Stamp = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComparedRun:
    """One run as far as a comparison shows it."""

    results: RunResults
    training: Doubles | None = None
    """Training statistics, shape (n, len(TRAINING_COLUMNS)); None until they are read."""
    stamp: Stamp
    """Times of change of its tables and of its name when it was read."""
    measured: Measured | None = None
    """What it has reported so far, if it trains from this window; its tables are not read then."""
    problem: Text | None = None
    """Why it is shown as it once was, if it is."""

    @property
    def path(self) -> Path:
        """The folder of the run."""
        return self.results.path

    def curve(self, plotted: str, metric: Metric, view: "ComparisonChoice") -> tuple[Doubles, ...]:
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
    """The runs that were chosen, and what could not be read of them."""

    runs: tuple[ComparedRun, ...] = ()
    problems: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonChoice:
    """How the user wants to see a comparison."""

    x: XAxis = "steps"
    metric: Metric = "eval"
    grouped: bool = True
    smoothing: int = 1
    """Values in the mean that a curve is made of."""
    hidden: frozenset[str] = frozenset()
    """Names of groups."""
    single: frozenset[Path] = frozenset()
    """Runs that are drawn besides their group."""
    names: Mapping[Path, str] = field(default_factory=dict)
    """What the user calls groups, by the folder of their first run."""
    q: str = "q1"
    """One of :data:`CHOICES`, as is the next."""
    critic_loss: str = "critic1_loss"

    def column(self, plotted: str) -> str:
        """Return the column of the training statistics that a plot shows."""
        return {Q: self.q, CRITIC_LOSS: self.critic_loss}.get(plotted, plotted)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedLine:
    """One line of a plot, and the colour it has in every plot."""

    label: str
    place: int
    """Of its group, in the order of the groups."""
    curve: Band
    faint: bool = False
    """True for a run that is drawn besides its group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownComparison:
    """Everything that is shown of a comparison."""

    comparison: Comparison
    view: ComparisonChoice
    lines: Mapping[str, tuple[ComparedLine, ...]] = field(default_factory=dict)
    """For each of :data:`PLOTTED`."""
    notes: tuple[Text, ...] = ()


# Reading -----------------------------------------------------------------------------------------


def read_returns(
    found: RunSet, paths: Sequence[Path], live: Mapping[Path, Measured], stopped: Stopped
) -> RunSet:
    """Read settings, evaluations and episodes of runs: what the table and the first plot need.

    Runs that were ``found`` before are read again only if their files have changed, with all that
    was read of them; one that was deleted since stays as it was. Of runs that are ``live``, that is
    report here what they measure, only the description is read.

    Returns:
        The runs of these paths; ``found`` itself if nothing is new.

    Raises:
        RequestError: none of them can be read.
    """
    known = {run.path: run for run in found.runs}
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
        most = Text(
            "{count} runs were chosen; the first {most} are compared.",
            count=len(paths),
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
    """Add the training statistics of every run that has none yet; ``found`` if none lacks them."""
    if all(run.training is not None for run in found.runs):
        return found
    runs = []
    for run in found.runs:
        missing = run.training is None and not stopped()
        runs.append(replace(run, training=read_training_of(run.path, stopped)) if missing else run)
    return replace(found, runs=tuple(runs))


def _stamp(path: Path, names: Sequence[str] = _WATCHED) -> Stamp:
    """Return the times at which a run's files were last changed; 0 for a missing one."""
    found = []
    for name in names:
        try:
            found.append((path / name).stat().st_mtime_ns)
        except OSError:
            found.append(0)
    return tuple(found)


# Showing -----------------------------------------------------------------------------------------


def build(found: RunSet, view: ComparisonChoice) -> ShownComparison:
    """Compute everything that is shown of runs in one view of them.

    Raises:
        RequestError: there are no runs, or they cannot be grouped as wanted.
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
        # One that trains has its place in the legend before its first point.
        awaited = {run.path for run in members if run.measured is not None}
        if each.name not in view.hidden and (known or awaited):
            curve = _middle(list(known.values()))
            lines.append(ComparedLine(label=each.name, place=place, curve=curve))
        for run in members:
            if run.path in view.single and len(members) > 1:
                if run.path not in known and run.path not in awaited:
                    continue
                alone = _alone(*curves[run.path])
                member = each.group.member_name(run.results)
                label = f"{each.name} · {member}" if several else member
                lines.append(ComparedLine(label=label, place=place, curve=alone, faint=True))
    return tuple(lines)


def _middle(curves: Curves) -> Band:
    """Return the curve of a group; a single run keeps all of its points."""
    if not curves:
        return _alone(np.empty(0), np.empty(0))
    return _alone(*curves[0]) if len(curves) == 1 else band_of(curves)


def _alone(x: Doubles, y: Doubles) -> Band:
    return Band(x=x, middle=y, low=None, high=None)
