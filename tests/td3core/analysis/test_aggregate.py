"""Statistics across runs, against SciPy, enumeration and plain loops."""

import itertools
import math

import numpy as np
import pytest
import scipy  # its statistics are loaded with their first use
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from td3core.analysis import aggregate
from td3core.analysis.aggregate import (
    align,
    estimate,
    interquartile_mean,
    iqm_band,
    percentiles,
    probability_of_improvement,
    step_values,
)

NUMBERS = st.floats(-1e6, 1e6)
RUNS = arrays.arrays(np.float64, st.integers(1, 23), elements=NUMBERS)
FEW_VALUES = arrays.arrays(np.float64, st.integers(1, 9), elements=st.sampled_from([0.0, 1.0, 2.0]))

SOME_CURVES = arrays.arrays(np.float64, st.tuples(st.integers(2, 9), st.just(3)), elements=NUMBERS)


@given(RUNS)
@pytest.mark.slow
def test_the_interquartile_mean_is_scipys_trimmed_mean(values) -> None:
    assert interquartile_mean(values) == pytest.approx(
        scipy.stats.trim_mean(values, 0.25), rel=1e-9, abs=1e-9
    )


@given(arrays.arrays(np.float64, (9, 4), elements=NUMBERS))
@pytest.mark.slow
def test_the_interquartile_mean_is_taken_over_the_first_axis(values) -> None:
    assert interquartile_mean(values) == pytest.approx(scipy.stats.trim_mean(values, 0.25, axis=0))


def exact_percentiles(values: tuple[float, ...]) -> list[float]:
    """Return the interval over every resample there is, each equally likely."""
    draws = np.array(list(itertools.product(values, repeat=len(values))))
    means = sorted(scipy.stats.trim_mean(draws, 0.25, axis=1))
    return [means[math.floor(share * len(means))] for share in (0.025, 0.975)]


@pytest.mark.parametrize("values", [(1.0, 9.0), (1.0, 2.0, 30.0), (0.0, 1.0, 5.0, 6.0, 50.0)])
def test_the_interval_is_that_of_all_resamples(values) -> None:
    found = estimate(np.array(values)).interval
    low, high = exact_percentiles(values)
    assert found is not None
    assert found.low == pytest.approx(low, abs=0.6)
    assert found.high == pytest.approx(high, abs=6.0)


def test_the_band_is_that_of_a_bootstrap_written_as_a_loop() -> None:
    rng = np.random.default_rng(7)
    values = rng.normal(size=(10, 3)).cumsum(axis=1)
    means = []
    for _ in range(1500):
        drawn = values[rng.integers(0, 10, 10)]
        means.append(np.sort(drawn, axis=0)[2:8].mean(axis=0))
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    band = iqm_band(np.arange(3.0), values)
    assert band.middle == pytest.approx(scipy.stats.trim_mean(values, 0.25, axis=0))
    assert band.low == pytest.approx(low, abs=0.2)
    assert band.high == pytest.approx(high, abs=0.2)


def test_resamples_computed_a_few_at_a_time_are_those_computed_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, values = np.arange(3.0), np.random.default_rng(7).normal(size=(12, 3))
    together = iqm_band(x, values)
    monkeypatch.setattr(aggregate, "_MOST_CELLS", 700 * values.size)
    apart = iqm_band(x, values)
    assert apart.low.tolist() == together.low.tolist()
    assert apart.high.tolist() == together.high.tolist()


@given(SOME_CURVES, st.randoms(use_true_random=False))
def test_the_order_of_the_runs_changes_no_digit(values, random) -> None:
    order = random.sample(range(len(values)), len(values))
    x = np.arange(3.0)
    band, other = iqm_band(x, values), iqm_band(x, values[order])
    assert band.middle.tolist() == other.middle.tolist()
    assert band.low.tolist() == other.low.tolist()
    assert band.high.tolist() == other.high.tolist()
    assert estimate(values[:, 0]) == estimate(values[order, 0])
    first, second = probability_of_improvement, values[:2, 1]
    assert first(values[:, 0], second) == first(values[order, 0], second[::-1])


@given(FEW_VALUES, FEW_VALUES)
def test_the_interval_of_the_probability_is_mirrored_for_the_other_group(x, y) -> None:
    found, other = probability_of_improvement(x, y), probability_of_improvement(y, x)
    # Groups of equal values are the same whichever comes first.
    if found.interval is None or sorted(x) == sorted(y):
        return
    assert other.interval is not None
    mirrored = (1 - other.interval.high, 1 - other.interval.low)
    assert (found.interval.low, found.interval.high) == pytest.approx(mirrored)


@given(arrays.arrays(np.float64, st.tuples(st.integers(2, 8), st.just(2)), elements=NUMBERS))
def test_an_interval_lies_within_the_values_and_is_the_same_again(values) -> None:
    first, again = iqm_band(np.arange(2.0), values), iqm_band(np.arange(2.0), values)
    slack = 1e-9 * max(1.0, float(np.abs(values).max()))
    assert (first.low <= first.high + slack).all()
    assert (first.low >= values.min(axis=0) - slack).all()
    assert (first.high <= values.max(axis=0) + slack).all()
    assert (first.low == again.low).all()
    assert (first.high == again.high).all()


def test_one_run_has_a_value_and_no_interval() -> None:
    assert estimate(np.array([3.0])) == aggregate.Estimate(value=3.0, interval=None)
    band = iqm_band(np.arange(2.0), np.array([[1.0, 2.0]]))
    assert band.low is None
    assert band.high is None
    assert list(band.middle) == [1.0, 2.0]


def test_the_interval_of_two_runs_is_the_two_runs() -> None:
    assert estimate(np.array([1.0, 5.0])).interval == aggregate.Interval(low=1.0, high=5.0)


# Who is better ----------------------------------------------------------------------------------


@given(FEW_VALUES, FEW_VALUES)
def test_the_probability_of_improvement_is_mann_whitneys_u(x, y) -> None:
    wins = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a in x for b in y)
    found = probability_of_improvement(x, y)
    assert found.value == pytest.approx(wins / (len(x) * len(y)))
    u = scipy.stats.mannwhitneyu(x, y, method="asymptotic").statistic
    assert found.value == pytest.approx(u / (len(x) * len(y)))
    assert (found.interval is None) == (min(len(x), len(y)) < 2)
    other = probability_of_improvement(y, x)
    assert found.value + other.value == pytest.approx(1.0)


def test_the_interval_of_the_probability_is_that_of_a_loop() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(0.5, 1.0, 8), rng.normal(0.0, 1.0, 6)
    means = []
    for _ in range(1500):
        u, v = x[rng.integers(0, 8, 8)], y[rng.integers(0, 6, 6)]
        means.append(np.mean([(a > b) + 0.5 * (a == b) for a in u for b in v]))
    low, high = np.quantile(means, [0.025, 0.975])
    found = probability_of_improvement(x, y).interval
    assert found is not None
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.05)


def test_groups_without_overlap_are_certain() -> None:
    found = probability_of_improvement(np.array([3.0, 4.0]), np.array([1.0, 2.0]))
    assert found.value == 1.0
    assert found.interval == aggregate.Interval(low=1.0, high=1.0)


# Curves on one axis ------------------------------------------------------------------------------

RISING = st.lists(st.integers(0, 50), min_size=1, max_size=12, unique=True).map(sorted)


@given(st.lists(RISING, min_size=1, max_size=4), st.integers(2, 60))
def test_aligned_curves_hold_their_latest_value(steps, most) -> None:
    curves = [(np.array(x, np.float64), np.array(x, np.float64) * 10) for x in steps]
    grid, values = align(curves, most)
    assert values.shape == (len(curves), len(grid))
    assert len(grid) <= most
    for (x, _), row in zip(curves, values, strict=True):
        for at, value in zip(grid, row, strict=True):
            assert value == 10 * max(each for each in x if each <= at)
    if len(grid):
        assert grid[0] >= max(x[0] for x, _ in curves)
        assert grid[-1] <= min(x[-1] for x, _ in curves)


def test_a_long_curve_is_drawn_at_some_of_its_steps_from_first_to_last() -> None:
    x = np.arange(0.0, 2000.0, 10.0)
    grid, _ = align([(x, x), (x, x)], 128)
    assert len(grid) == 128
    assert set(grid) <= set(x)
    assert (grid[0], grid[-1]) == (x[0], x[-1])


def test_curves_that_share_no_range_have_no_points() -> None:
    early, late = np.array([1.0, 2.0]), np.array([5.0, 6.0])
    grid, values = align([(early, early), (late, late)], 10)
    assert len(grid) == 0
    assert values.shape == (2, 0)
    assert align([(np.empty(0), np.empty(0)), (late, late)], 10)[1].shape == (2, 0)


def test_a_grid_before_the_curve_is_an_error() -> None:
    with pytest.raises(ValueError, match="begins before"):
        step_values(np.array([2.0]), np.array([1.0]), np.array([1.0]))


def test_percentiles_are_two_sided() -> None:
    assert percentiles(np.arange(1001.0)[:, None])[:, 0] == pytest.approx([25.0, 975.0])
