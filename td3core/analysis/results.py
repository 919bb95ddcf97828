"""Measurements of one run: its evaluations and episodes, along any x axis."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from td3core.analysis.measured import Measured, are_few, clock_of, measured_by
from td3core.arrays import Doubles
from td3core.config import RunConfig, Tunables, default, to_dict
from td3core.config.algorithms import unused_by
from td3core.config.info_columns import PREFIX
from td3core.errors import RequestError, unknown_name
from td3core.protocol.metrics import TRAINING_COLUMNS
from td3core.protocol.run_status import RunStatus
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import Change, Entry, changes_of, gestures_of, import_of, made_by
from td3core.runs.metadata import Parent
from td3core.runs.naming import name_of
from td3core.runs.reader import RunReader
from td3core.runs.tables import read_numbers, rising
from td3core.text import SettingName

Metric = str
"""``eval``: mean return of an evaluation; ``return``: return of a training episode; ``bias``:
overestimation of the critics in an evaluation (see :mod:`td3core.evaluation.overestimation`);
``info.NAME``: a value of the environment's info in training episodes."""
METRICS = ("eval", "return", "bias")
"""Metrics that every run may have."""
XAxis = Literal["steps", "episodes", "time"]

SMOOTHED_EPISODES = 20
"""Episode returns are compared by their mean over this many episodes: a single one is too noisy."""
_MOST_ROWS = 32_768
"""Rows of a run's training statistics: enough for 1.6 million steps, longer runs are averaged."""
_MOST_LAST = {"eval": 10, "bias": 10}
_MOST_EPISODES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResults:
    """A run's settings and measured returns."""

    path: Path
    config: RunConfig
    tunables: Tunables
    """Live settings it was started with."""
    name: str = ""
    """The user's name for it."""
    title: str = ""
    """Its name among runs of its environment (see :mod:`td3core.runs.naming`)."""
    created: str = ""
    """When it was started."""
    group: str = ""
    """The group it was started in, if on record."""
    history: str = ""
    """Other distinctions: the checkpoint it was branched from, live changes."""
    parent: Parent | None = None
    """The checkpoint it was branched from."""
    imported: str = ""
    """The SHA-256 of the file it was imported from; empty for a run that was trained here."""
    curves_only: bool = False
    """Whether it was imported without an agent, so that its settings are unknown."""
    gestures: tuple[Change, ...] = ()
    """Its live changes; those of one drag of a slider are one."""
    evaluations: Doubles
    """Environment steps, mean return and seconds since the start, shape (n, 3)."""
    episodes: Doubles
    """The same columns for training episodes, shape (m, 3)."""
    bias: Doubles
    """Environment steps, bias, seconds and deviation of the bias over the states, of evaluations
    that measured it, shape (k, 4)."""
    info: Mapping[str, Doubles] = field(default_factory=dict)
    """Tables by column, such as ``info.x_velocity``: environment steps, mean over a training
    episode and seconds, of the episodes that have it, shape (n, 3)."""
    live: bool = False
    """True if it was training when it was read."""
    threshold: float | None = None
    """The return at which its environment counts as solved, if on record."""
    clock: Doubles
    """Steps and the seconds since the start at which they were reached, rising from 0, shape
    (k, 2); only 0 for a run of an early version, and for curves imported without times."""

    def rows(self, metric: Metric) -> Doubles:
        """Return the table of a metric, shape (n, 3)."""
        if is_info(metric):
            return self.info.get(metric, np.empty((0, 3)))
        tables = {"eval": self.evaluations, "return": self.episodes, "bias": self.bias[:, :3]}
        return tables[metric]

    def is_placed(self, x: XAxis) -> bool:
        """Whether positions on an x axis are on record."""
        if x == "time":
            return len(self.clock) > 1
        return x == "steps" or len(self.episodes) > 0

    def on_axis(self, env_steps: Doubles, x: XAxis) -> Doubles:
        """Return the positions on an x axis of measurements at ascending steps, shape (n,).

        On the episode axis this is the number of episodes that had ended by then, on the time axis
        the seconds since the start; NaN for a run without recorded episodes, or times.
        """
        if x == "steps":
            return env_steps
        if not self.is_placed(x):
            return np.full(len(env_steps), math.nan)
        if x == "time":
            return np.interp(env_steps, *self.clock.T)
        return np.searchsorted(self.episodes[:, 0], env_steps, side="right").astype(np.float64)

    def curve(self, metric: Metric, x: XAxis, smoothing: int = 1) -> tuple[Doubles, Doubles]:
        """Return a metric along an x axis, shapes (n,), as a trailing mean.

        Args:
            metric: the metric.
            x: the axis.
            smoothing: number of values averaged; 1 for none.
        """
        rows = self.rows(metric)
        at = self.on_axis(rows[:, 0], x)
        known = np.isfinite(at)
        return at[known], trailing_mean(rows[:, 1], smoothing)[known]

    def final(self, metric: Metric) -> float:
        """Return the mean of the last :func:`last_values`; NaN without any."""
        values = self.rows(metric)[:, 1]
        count = last_values(len(values), metric)
        return float(values[-count:].mean()) if count else math.nan

    def best(self, metric: Metric) -> float:
        """Return the best evaluation, or the best mean of 20 episodes.

        NaN without any, and for the bias: a chance minimum is no merit. Also for the environment's
        info: it is unknown whether more is better.
        """
        values = self.rows(metric)[:, 1]
        if metric == "bias" or is_info(metric) or not len(values):
            return math.nan
        if metric == "eval":
            return float(values.max())
        whole = trailing_mean(values, SMOOTHED_EPISODES)[SMOOTHED_EPISODES - 1 :]
        return float(whole.max()) if len(whole) else float(values.mean())

    def deviation(self) -> float:
        """Return the deviation of the bias, as in :meth:`final`; NaN if it was not measured."""
        count = last_values(len(self.bias), "bias")
        return float(self.bias[-count:, 3].mean()) if count else math.nan


def is_info(metric: Metric) -> bool:
    """Return whether a metric is a value of the environment's info."""
    return metric.startswith(PREFIX)


def of_episodes(metric: Metric) -> bool:
    """Return whether a metric is measured in training episodes, which are noisy individually."""
    return metric == "return" or is_info(metric)


def recorded_info(runs: Iterable[RunResults]) -> tuple[str, ...]:
    """Return the columns of the environments' info that any run recorded."""
    return tuple(sorted({column for run in runs for column in run.info}))


def require_recorded(metric: Metric, runs: Sequence[RunResults]) -> None:
    """Refuse a value of the environment's info that no run recorded.

    Raises:
        RequestError: with the recorded ones.
    """
    recorded = recorded_info(runs)
    if not is_info(metric) or metric in recorded:
        return
    if recorded:
        raise unknown_name("There is no info column called {name}.", metric, recorded)
    raise RequestError(
        "None of the runs recorded {column}; choose what to record with {key}.",
        key=SettingName("info_columns"),
        column=metric,
    )


def last_values(count: int, metric: Metric) -> int:
    """Return how many of a run's last values it is judged by.

    A tenth of them, at least one and at most 10 evaluations or 100 episodes.
    """
    return min(math.ceil(count / 10), _MOST_LAST.get(metric, _MOST_EPISODES))


def trailing_mean(values: Doubles, count: int) -> Doubles:
    """Return the mean of each value and of up to ``count - 1`` before it, shape (n,).

    Values that are not finite are left out; where there are no others, the mean is NaN.
    """
    if count <= 1 or not len(values):
        return values
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - count, 0)
    finite = np.isfinite(values)
    # Relative to the mean: sums of large returns would lose digits.
    middle = values[finite].mean() if finite.any() else 0.0
    sums = np.concatenate(([0.0], np.cumsum(np.where(finite, values - middle, 0.0))))
    counts = np.concatenate(([0], np.cumsum(finite)))
    found = counts[ends] - counts[starts]
    means: Doubles = np.full(len(values), math.nan)
    np.divide(sums[ends] - sums[starts], found, out=means, where=found > 0)
    return middle + means


def read_results(path: Path, stopped: Callable[[], bool] = lambda: False) -> RunResults:
    """Read the measurements of a run, without its checkpoints.

    Args:
        path: the run's folder.
        stopped: polled; True ends the reading early.

    Raises:
        RequestError: it is no run, or its description is damaged.
    """
    reader = RunReader(path, tables=("evaluations", "episodes"))
    measured = measured_by(reader, stopped).measured
    if are_few(measured.episodes[:, (0, 2)]):
        reader = RunReader(path)
        measured = measured_by(reader, stopped).measured
    return results_of(reader.directory, measured, live=reader.state is RunStatus.RUNNING)


def results_of(run: RunDirectory, measured: Measured, *, live: bool) -> RunResults:
    """Return the measurements of a run and the facts in its folder; ``live`` while it trains."""
    reached = int(measured.reached[-1, 0]) if len(measured.reached) else 0
    journal = run.journal()
    entries = made_by(journal, reached)
    return RunResults(
        path=run.path,
        config=run.config,
        tunables=run.first_tunables,
        name=run.label().name,
        title=name_of(run),
        created=run.created,
        group=run.group,
        history=_history(run, entries),
        parent=run.parent,
        imported=str((import_of(journal) or {}).get("sha256", "")),
        curves_only=run.has_curves_only(),
        gestures=tuple(gestures_of(entries)),
        live=live,
        **_tables(measured),
    )


def with_measured(results: RunResults, measured: Measured) -> RunResults:
    """Return the results of the same run at another moment."""
    return replace(results, **_tables(measured))


def _tables(measured: Measured) -> dict[str, Any]:
    tables = (measured.evaluations, measured.episodes, measured.bias)
    evaluations, episodes, bias = map(_known, tables)
    clock = clock_of(
        measured.episodes[:, (0, 2)],
        measured.training_times,
        measured.evaluations[:, (0, 2)],
        measured.reached,
    )
    return {
        "evaluations": evaluations,
        "episodes": episodes,
        "bias": bias,
        "info": {column: _known(rows) for column, rows in measured.info.items()},
        "threshold": measured.threshold,
        "clock": clock,
    }


def _known(rows: Doubles) -> Doubles:
    return rows[np.isfinite(rows[:, 1])]


def read_training(
    path: Path,
    stopped: Callable[[], bool] = lambda: False,
    columns: Sequence[str] = TRAINING_COLUMNS,
) -> Doubles:
    """Read training statistics of a run, as :func:`training_of` returns them.

    ``columns`` begin with ``env_steps``; a table of millions of rows has room for a few only.

    Raises:
        RequestError: it is no run, or its description is damaged.
    """
    run = RunDirectory.open(path)
    rows = rising(read_numbers(run.path / "training.csv", columns, stopped))
    begun = run.parent.env_steps if run.parent else 0
    return _averaged(rows[rows[:, 0] > begun])


def training_of(measured: Measured) -> Doubles:
    """Return the training statistics of a run, averaged if it is very long.

    Returns:
        Shape (n, len(TRAINING_COLUMNS)); a column that the run did not measure is NaN.
    """
    return _averaged(measured.training)


def _averaged(rows: Doubles) -> Doubles:
    if len(rows) > _MOST_ROWS:
        each = -(-len(rows) // _MOST_ROWS)
        whole = len(rows) // each * each
        rows = _mean_of_known(rows[:whole].reshape(-1, each, rows.shape[1]))
    return rows


def _mean_of_known(blocks: Doubles) -> Doubles:
    """Return the mean over the second axis, ignoring NaN; NaN if nothing is known."""
    counts = np.isfinite(blocks).sum(axis=1)
    sums = np.nansum(blocks, axis=1)
    means: Doubles = np.full_like(sums, math.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


_OF_CURVES = ("env", "env_args")


def settings_of(run: RunResults) -> dict[str, Any]:
    """Return everything that distinguishes a run from others, except the seed.

    A setting that only other algorithms use counts as its default. The settings of imported curves
    are None, except those of the environment.
    """
    values = to_dict(run.config) | to_dict(run.tunables)
    if run.curves_only:
        values = {name: values[name] if name in _OF_CURVES else None for name in values}
        del values["seed"]
        return values | {"history": run.history}
    values |= {name: default(name) for name in unused_by(run.config.algorithm)}
    del values["seed"]
    found = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    return found | {"history": run.history}


def _history(run: RunDirectory, entries: Sequence[Entry]) -> str:
    """Return what a run has besides training with its settings, as a key; usually empty."""
    parts = []
    if run.parent is not None:
        parts.append(f"branched from {run.parent.run} at {run.parent.env_steps}")
    changes = changes_of(entries)
    return ", ".join([*parts, *(f"{c.name}={c.new} at {c.env_steps}" for c in changes)])
