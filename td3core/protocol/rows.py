"""Episodes and evaluations as rows of a run's tables, and back.

A quantity of an evaluation is declared here once: its column in ``evaluations.csv``, reading it
back, and its plot follow by name. Quantities that follow from the returns are properties of
:class:`~td3core.protocol.events.Evaluated`; the result of an evaluation names the others (see
:mod:`td3core.evaluation.result`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from td3core.arrays import Doubles
from td3core.config import RunConfig
from td3core.config.info_columns import MOST as MOST_INFO
from td3core.config.info_columns import PREFIX as INFO_PREFIX
from td3core.config.info_columns import columns_of
from td3core.protocol.events import EpisodeEnded, Episodes, Evaluated
from td3core.text import Text


@dataclass(frozen=True, slots=True)
class EvaluationMetric:
    """One quantity of an evaluation."""

    name: str
    """Its column in tables and plots."""
    meaning: Text


EVALUATION_METRICS = (
    EvaluationMetric("mean", Text("mean return")),
    EvaluationMetric("std", Text("standard deviation of the returns (population)")),
    EvaluationMetric(
        "success", Text("share of episodes that reach the environment's reward threshold")
    ),
    EvaluationMetric(
        "q_expected",
        Text("mean of min(Q₁, Q₂), or of the quantiles kept, at the states of the episodes"),
    ),
    EvaluationMetric("q_obtained", Text("mean discounted return obtained from these states")),
    EvaluationMetric(
        "bias", Text("mean of min(Q₁, Q₂) − G over the states, relative to max(|mean G|, 1)")
    ),
    EvaluationMetric(
        "bias_low", Text("lower end of its 95 % interval, bootstrap over the episodes")
    ),
    EvaluationMetric("bias_high", Text("upper end")),
    EvaluationMetric("bias_std", Text("standard deviation of the bias over the states")),
    EvaluationMetric("bias_q1", Text("bias of Q₁")),
    EvaluationMetric("bias_q2", Text("bias of Q₂; absent with one critic")),
    EvaluationMetric("bias_target", Text("bias of the target critics' value in the TD target")),
    EvaluationMetric("bias_open", Text("mean weight of the bootstrapped value in the returns")),
)
EVALUATION_COLUMNS = (
    "env_steps",
    *(metric.name for metric in EVALUATION_METRICS),
    "best",
    "returns",
    "lengths",
    "seed",
    "time_s",
)
"""Metrics that an evaluation lacks are empty."""

EPISODE_COLUMNS = (
    "episode",
    "env_steps",
    "return",
    "shaped_return",
    "length",
    "terminated",
    "time_s",
)
"""Columns of every run; those of the environment's info follow (see ``info_columns``)."""

_MOST = 10**15
_MEASURED = [each.name for each in EVALUATION_METRICS if not hasattr(Evaluated, each.name)]


def evaluation_numbers(event: Evaluated) -> tuple[float, ...]:
    """Return the values of :data:`EVALUATION_METRICS`; NaN for missing ones."""
    return tuple(math.nan if value is None else float(value) for value in _values(event))


def _values(event: Evaluated) -> list[float | None]:
    """Return the values of :data:`EVALUATION_METRICS`; None for missing ones."""
    found = event.measured
    return [found.get(m.name, getattr(event, m.name, None)) for m in EVALUATION_METRICS]


def evaluation_row(event: Evaluated) -> tuple[object, ...]:
    """Return the row of ``evaluations.csv``, in the order of :data:`EVALUATION_COLUMNS`."""
    return (
        event.env_steps,
        *("" if value is None else value for value in _values(event)),
        int(event.is_best),
        " ".join(map(str, event.returns)),
        " ".join(map(str, event.lengths)),
        event.seed,
        f"{event.wall_s:.3f}",
    )


def evaluation_of(row: Mapping[str, str], reward_threshold: float | None) -> Evaluated:
    """Return the evaluation of a row.

    Raises:
        KeyError: a column is missing that every version has written.
        ValueError: a value is invalid, or the mean is not finite.
        OverflowError: a count is infinite.
    """
    measured = {name: float(row[name]) for name in _MEASURED if row.get(name)}
    mean = float(row["mean"])
    if not math.isfinite(mean):
        raise ValueError(f"a mean of {mean}")
    # A row without single returns still has their mean.
    returns = tuple(map(float, row.get("returns", "").split())) or (mean,)
    return Evaluated(
        env_steps=int(float(row["env_steps"])),
        returns=returns,
        lengths=tuple(int(float(value)) for value in row.get("lengths", "").split()),
        seed=int(row.get("seed") or 0),
        is_best=row.get("best") == "1",
        wall_s=float(row.get("time_s") or math.nan),
        reward_threshold=reward_threshold,
        measured=measured,
    )


def episode_columns(config: RunConfig) -> tuple[str, ...]:
    """Return the columns of ``episodes.csv`` of a run."""
    return (*EPISODE_COLUMNS, *columns_of(config.info_columns))


def info_columns_in(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of an ``episodes.csv`` that hold the environment's info."""
    found = dict.fromkeys(name for name in columns if name.startswith(INFO_PREFIX))
    return tuple(found)[:MOST_INFO]


def episode_row(event: EpisodeEnded) -> tuple[object, ...]:
    """Return the row of ``episodes.csv``, in the order of :func:`episode_columns`."""
    return (
        event.episode,
        event.env_steps,
        event.episode_return,
        event.shaped_return,
        event.length,
        int(event.terminated),
        f"{event.wall_s:.3f}",
        # Missing values are NaN, not empty text: a row is parsed as numbers.
        *event.info.values(),
    )


def episodes_of(rows: Doubles, info_columns: Sequence[str] = ()) -> Episodes:
    """Return the episodes of rows (n, len(EPISODE_COLUMNS) + len(info_columns)).

    Values not on record are NaN.
    """
    rows = rows.copy()
    for count in (0, 1, 4):
        rows[:, count] = np.trunc(np.nan_to_num(rows[:, count]).clip(0, _MOST))
    return Episodes(rows, info_columns)
