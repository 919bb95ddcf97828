"""Several runs, read from their files and turned into the lines of a comparison, in the background.

Everything here is plain data and functions; what is shown belongs to ``studio/plots/compare``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from studio.session.series import Numbers
from td3core.analysis.aggregate import Band
from td3core.analysis.comparison import MOST_RUNS, Comparison, band_of, compare
from td3core.analysis.groups import BY_RUN, BY_SETTINGS
from td3core.analysis.results import Metric, RunResults, XAxis, read_results, trailing_mean
from td3core.errors import Message, RequestError
from td3core.runs.metadata import NOTES
from td3core.runs.naming import with_env
from td3core.runs.tables import read_numbers, rising

Stopped = Callable[[], bool]
Curves = Sequence[tuple[Numbers, Numbers]]

RETURN, Q, CRITIC_LOSS, ACTOR_LOSS = PLOTTED = ("return", "q", "critic_loss", "actor_loss")
"""The plots. That of the returns comes first; the others show columns of ``training.csv``."""
CHOICES = {
    Q: {"q1": "Q₁", "q2": "Q₂", "target": "Target"},
    CRITIC_LOSS: {"critic1_loss": "Q₁ loss", "critic2_loss": "Q₂ loss"},
}
"""Columns that a plot can show, with their names on screen."""
_MOST_ROWS = 32_768
"""Of a run's training statistics: all of 1.6 million steps, longer runs are averaged."""
_WATCHED = ("evaluations.csv", "episodes.csv", "training.csv", NOTES)

Stamp = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """One run as far as a comparison shows it."""

    results: RunResults
    training: Numbers
    """Training statistics, shape (n, len(columns)); no rows until they are read."""
    columns: tuple[str, ...] = ()
    """Of :attr:`training`: environment steps first, seconds since the start last."""
    stamp: Stamp
    """Times of change of its tables and of its name when it was read."""

    @property
    def path(self) -> Path:
        """The folder of the run."""
        return self.results.path

    def curve(self, plotted: str, metric: Metric, view: "View") -> tuple[Numbers, ...]:
        """Return x and y of one of :data:`PLOTTED`, shapes (n,), without NaN.

        There are no points until the column is read that the plot is to show.
        """
        if plotted == RETURN:
            return self.results.curve(metric, view.x, view.smoothing)
        if view.column(plotted) not in self.columns:
            return np.empty(0), np.empty(0)
        values = self.training[:, self.columns.index(view.column(plotted))]
        at = self.results.along(self.training[:, 0], self.training[:, -1], view.x)
        known = np.isfinite(values) & np.isfinite(at)
        return at[known], trailing_mean(values[known], view.smoothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSet:
    """The runs that were chosen, and what could not be read of them."""

    runs: tuple[ComparedRun, ...] = ()
    problems: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    """What is read of their training statistics; nothing at first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
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
    q: str = "q1"
    """One of :data:`CHOICES`, as is the next."""
    critic_loss: str = "critic1_loss"

    def column(self, plotted: str) -> str:
        """Return the column of the training statistics that a plot shows."""
        return {Q: self.q, CRITIC_LOSS: self.critic_loss}.get(plotted, plotted)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the training statistics that are needed."""
        return ("env_steps", *map(self.column, PLOTTED[1:]), "time_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a plot, and the colour it has in every plot."""

    label: str
    place: int
    """Of its group, in the order of the groups."""
    curve: Band
    faint: bool = False
    """True for a run that is drawn besides its group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Everything that is shown of a comparison."""

    comparison: Comparison
    view: View
    lines: Mapping[str, tuple[Line, ...]] = field(default_factory=dict)
    """For each of :data:`PLOTTED`."""
    notes: tuple[str, ...] = ()


# Reading -----------------------------------------------------------------------------------------


def read_returns(paths: Sequence[Path], stopped: Stopped) -> RunSet:
    """Read settings, evaluations and episodes of runs: what the table and the first plot need.

    Raises:
        RequestError: none of them can be read.
    """
    runs, problems = [], []
    for path in paths[:MOST_RUNS]:
        if stopped():
            break
        try:
            stamp = _stamp(path)
            results = read_results(path, stopped)
            nothing = np.empty((0, 0))
            runs.append(ComparedRun(results=results, training=nothing, stamp=stamp))
        except (RequestError, OSError) as problem:
            problems.append(str(problem))
    if len(paths) > MOST_RUNS:
        template = "{count} runs were chosen; the first {most} are compared."
        problems.insert(0, Message(template, count=len(paths), most=MOST_RUNS))
    if not runs and problems:
        raise RequestError(Message("{problem}", problem=problems[-1]))
    return RunSet(runs=tuple(runs), problems=tuple(problems))


def read_training(found: RunSet, view: View, stopped: Stopped) -> RunSet:
    """Add the training statistics of every run that a view needs, in place of others."""
    runs, columns = [], view.columns
    for run in found.runs:
        if stopped():
            return found
        training = _training(run.path, columns, stopped)
        runs.append(replace(run, training=training, columns=columns))
    return replace(found, runs=tuple(runs), columns=columns)


def read_again(found: RunSet, stopped: Stopped) -> RunSet | None:
    """Read the runs whose tables have changed; None if nothing has.

    A run that was deleted or cannot be read any more stays as it was last read.
    """
    runs, problems, changed = [], list(found.problems), False
    for run in found.runs:
        stamp = _stamp(run.path)
        if stopped() or stamp == run.stamp:
            runs.append(run)
            continue
        changed = True
        try:
            runs.append(
                ComparedRun(
                    results=read_results(run.path, stopped),
                    training=_training(run.path, found.columns, stopped),
                    columns=found.columns,
                    stamp=stamp,
                )
            )
        except (RequestError, OSError):
            title = run.results.title
            problems.append(Message("{run} can no longer be read; shown as it was.", run=title))
            runs.append(replace(run, stamp=stamp))
    return replace(found, runs=tuple(runs), problems=tuple(problems)) if changed else None


def _training(path: Path, columns: Sequence[str], stopped: Stopped) -> Numbers:
    rows = rising(read_numbers(path / "training.csv", columns, stopped))
    if len(rows) > _MOST_ROWS:
        each = -(-len(rows) // _MOST_ROWS)
        whole = len(rows) // each * each
        rows = rows[:whole].reshape(-1, each, len(columns)).mean(axis=1)
    return rows


def _stamp(path: Path) -> Stamp:
    """Return the times at which a run's files were last changed; 0 for a missing one."""
    found = []
    for name in _WATCHED:
        try:
            found.append((path / name).stat().st_mtime_ns)
        except OSError:
            found.append(0)
    return tuple(found)


# Showing -----------------------------------------------------------------------------------------


def build(found: RunSet, view: View) -> Shown:
    """Compute everything that is shown of runs in one view of them.

    Raises:
        RequestError: there are no runs, or they cannot be grouped as wanted.
    """
    by = (BY_SETTINGS if view.grouped else BY_RUN,)
    comparison = compare([run.results for run in found.runs], view.metric, by)
    runs = {run.path: run for run in found.runs}
    return Shown(
        comparison=comparison,
        view=view,
        lines={plotted: _lines(plotted, comparison, runs, view) for plotted in PLOTTED},
        notes=(*found.problems, *comparison.notes),
    )


def _lines(
    plotted: str, comparison: Comparison, runs: Mapping[Path, ComparedRun], view: View
) -> tuple[Line, ...]:
    lines = []
    several = len({each.group.env for each in comparison.groups}) > 1
    for place, each in enumerate(comparison.groups):
        members = [runs[run.path] for run in each.group.runs]
        curves = {
            run.path: run.curve(plotted, comparison.metric, view)
            for run in members
            if each.name not in view.hidden or run.path in view.single
        }
        known = {path: (x, y) for path, (x, y) in curves.items() if len(x)}
        if each.name not in view.hidden and known:
            curve = _middle(list(known.values()))
            lines.append(Line(label=each.name, place=place, curve=curve))
        for run in members:
            if run.path in view.single and run.path in known and len(members) > 1:
                alone = _alone(*known[run.path])
                label = with_env(each.group.env if several else "", run.results.title)
                lines.append(Line(label=label, place=place, curve=alone, faint=True))
    return tuple(lines)


def _middle(curves: Curves) -> Band:
    """Return the curve of a group; a single run keeps all of its points."""
    return _alone(*curves[0]) if len(curves) == 1 else band_of(curves)


def _alone(x: Numbers, y: Numbers) -> Band:
    return Band(x=x, middle=y, low=None, high=None)
