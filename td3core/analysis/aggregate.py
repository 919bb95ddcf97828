"""Statistics across runs: interquartile mean, bootstrap intervals, probability of improvement.

All sort the runs by their values first: the order in which runs are given changes no digit.

Definitions as in Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical
Precipice", NeurIPS 2021, arXiv:2108.13264, and its library rliable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Doubles

RESAMPLES = 2000
"""Bootstrap resamples; rliable's own examples use as many."""
CONFIDENCE = 0.95
PERCENT = 100 * CONFIDENCE
"""The same, for texts."""
FEW_RUNS = 5
"""With fewer runs, the coverage of a bootstrap interval is clearly below its nominal level."""
SEED = 0
"""Seed of the bootstrap, so that the same runs give the same interval."""

_MOST_CELLS = 2**20
"""Numbers resampled at once: 8 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A 95 % percentile interval."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A statistic over runs."""

    value: float
    interval: Interval | None
    """None from a single run: one run says nothing about the spread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """A curve across runs with its pointwise 95 % band; all arrays have shape (points,)."""

    x: Doubles
    middle: Doubles
    low: Doubles | None
    """None from a single run."""
    high: Doubles | None


def step_values(x: Doubles, y: Doubles, grid: Doubles) -> Doubles:
    """Return a curve at the points of a grid: the latest value at or before each of them.

    A value holds until the next one is measured; nothing is interpolated from the future.

    Args:
        x: where the curve was measured, shape (n,), non-decreasing, n > 0.
        y: shape (n,).
        grid: shape (points,); none of it before ``x[0]``.

    Raises:
        ValueError: the grid begins before the curve.
    """
    at = np.searchsorted(x, grid, side="right") - 1
    if len(grid) and at.min() < 0:
        raise ValueError("the grid begins before the curve")
    return y[at]


def align(curves: Sequence[tuple[Doubles, Doubles]], most_points: int) -> tuple[Doubles, Doubles]:
    """Bring curves to one x axis, over the range in which all of them have values.

    The grid is every x at which any curve was measured, or ``most_points`` of these, evenly chosen,
    if there are more. Between measurements a curve keeps its latest value, see :func:`step_values`.

    Returns:
        The grid, shape (points,), and the values, shape (curves, points); no points if a curve is
        empty or the curves share no range.
    """
    if not curves or any(len(x) == 0 for x, _ in curves):
        return np.empty(0), np.empty((len(curves), 0))
    low, high = max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves)
    grid = np.unique(np.concatenate([x for x, _ in curves]))
    grid = grid[(grid >= low) & (grid <= high)]
    if len(grid) > most_points:
        grid = grid[np.linspace(0, len(grid) - 1, most_points).round().astype(int)]
    return grid, np.stack([step_values(x, y, grid) for x, y in curves])


def interquartile_mean(values: Doubles) -> Doubles:
    """Return the mean of the middle half of the values, over the first axis.

    A quarter is cut off at either end, rounded down to whole values; so with three runs or fewer
    this is the mean. The same as ``scipy.stats.trim_mean(values, 0.25)``, which rliable uses.
    """
    cut = len(values) // 4
    middle: Doubles = np.sort(values, axis=0)[cut : len(values) - cut].mean(axis=0)
    return middle


def bootstrapped_iqm(values: Doubles) -> tuple[Doubles, Doubles | None]:
    """Return the interquartile mean over runs, and its bootstrap interval.

    The bootstrap draws as many runs as there are, with replacement, and takes their interquartile
    mean. The interval is between the 2.5th and the 97.5th percentile of 2,000 such means, at each
    point by itself.

    Args:
        values: shape (runs, points).

    Returns:
        The means, shape (points,), and the ends of the intervals, shape (2, points); ``None`` of
        a single run.
    """
    middle, runs = interquartile_mean(values), len(values)
    if runs < 2:
        return middle, None
    ordered, cut = np.sort(values, axis=0), runs // 4

    def drawn(rng: np.random.Generator, count: int) -> Doubles:
        # Counting how often each value is drawn, from the lowest up, replaces sorting.
        upto = np.cumsum(_times_drawn(rng, runs, count), axis=1).clip(cut, runs - cut)
        kept = np.diff(upto, axis=1, prepend=cut)
        means: Doubles = (kept[:, :, None] * ordered).sum(axis=1) / (runs - 2 * cut)
        return means

    return middle, percentiles(_resampled(drawn, values.size))


def estimate(values: Doubles) -> Estimate:
    """Return the interquartile mean of one value per run, shape (runs,), with its interval."""
    middle, ends = bootstrapped_iqm(values[:, None])
    return Estimate(value=float(middle[0]), interval=_interval(ends))


def iqm_band(x: Doubles, values: Doubles) -> Band:
    """Return the interquartile mean of aligned curves, shape (runs, points), with its band."""
    middle, ends = bootstrapped_iqm(values)
    low, high = (None, None) if ends is None else (ends[0], ends[1])
    return Band(x=x, middle=middle, low=low, high=high)


def probability_of_improvement(x: Doubles, y: Doubles) -> Estimate:
    """Return P(X > Y): how likely a run of X is better than a run of Y, ties counted half.

    The mean over all pairs of runs, which is the Mann-Whitney statistic U / (n m). The interval is
    a bootstrap over the runs of both, drawn independently. None unless both have two runs. The
    interval of P(Y > X) is that of P(X > Y) mirrored.

    Args:
        x: one value per run, shape (n,), n > 0.
        y: shape (m,), m > 0.
    """
    x, y = np.sort(x), np.sort(y)
    mirrored = x.tolist() > y.tolist()
    wins = (x[:, None] > y[None, :]) + 0.5 * (x[:, None] == y[None, :])
    if min(len(x), len(y)) < 2:
        return Estimate(value=float(wins.mean()), interval=None)

    def drawn(rng: np.random.Generator, count: int) -> Doubles:
        if mirrored:
            of_y, of_x = _times_drawn(rng, len(y), count), _times_drawn(rng, len(x), count)
        else:
            of_x, of_y = _times_drawn(rng, len(x), count), _times_drawn(rng, len(y), count)
        means: Doubles = ((of_x @ wins) * of_y).sum(axis=1, keepdims=True) / wins.size
        return means

    ends = percentiles(_resampled(drawn, len(x) + len(y)))
    return Estimate(value=float(wins.mean()), interval=_interval(ends))


def _times_drawn(rng: np.random.Generator, runs: int, count: int) -> NDArray[np.int64]:
    """Return how often each run is drawn in ``count`` resamples, shape (count, runs)."""
    return rng.multinomial(runs, np.full(runs, 1 / runs), count)


def percentiles(statistics: Doubles) -> Doubles:
    """Return the ends of the 95 % percentile intervals, shape (2, points).

    Args:
        statistics: the statistic of every resample, shape (resamples, points).
    """
    tail = (1 - CONFIDENCE) / 2
    ends: Doubles = np.quantile(statistics, [tail, 1 - tail], axis=0)
    return ends


def _resampled(drawn: Callable[[np.random.Generator, int], Doubles], cells: int) -> Doubles:
    """Return the statistic of all resamples, computed a few at a time to bound the memory.

    ``cells`` is the number of values in one resample.
    """
    rng = np.random.default_rng(SEED)
    batch = max(1, min(RESAMPLES, _MOST_CELLS // max(cells, 1)))
    done = [drawn(rng, min(batch, RESAMPLES - at)) for at in range(0, RESAMPLES, batch)]
    return np.concatenate(done)


def _interval(ends: Doubles | None) -> Interval | None:
    return None if ends is None else Interval(low=float(ends[0, 0]), high=float(ends[1, 0]))
