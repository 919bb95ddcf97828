"""Curves of any length in bounded memory, with their extremes."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from studio.session.series import CAPACITY, Series, nearest, nearest_within


@given(st.lists(st.floats(-1e6, 1e6) | st.just(float("nan")), min_size=1, max_size=2000))
def test_a_thinned_curve_keeps_the_extremes_and_the_order(values):
    series = Series(("x", "y"))
    series.append(np.column_stack((np.arange(len(values)), values)))
    x, y = series.curve("y", -np.inf, np.inf, 100)
    known = [v for v in values if np.isfinite(v)]
    assert len(x) == len(y) <= 110
    assert np.all(np.diff(x) > 0)
    if known:
        assert y.min() == min(known)
        assert y.max() == max(known)
    assert all(values[int(i)] == v for i, v in zip(x, y, strict=True))


def test_a_zoomed_curve_runs_to_both_edges_of_the_view():
    series = Series(("x", "y"))
    series.append([(i * 10, i) for i in range(100)])
    x, _ = series.curve("y", 105, 195, 1000)
    assert x[0] == 100
    assert x[-1] == 200


def test_rows_appended_one_by_one_or_at_once_are_the_same():
    one, many = Series(("x", "y")), Series(("x", "y"))
    rows = [(i, i * i) for i in range(1000)]
    for row in rows:
        one.append(row)
    many.append(rows)
    assert np.array_equal(one.rows(), many.rows())


def test_the_nearest_step_is_found_up_to_the_reach_beyond_the_ends():
    steps = np.array([10.0, 20.0, 40.0])
    found = [nearest(steps, x) for x in (-50.0, 14.0, 15.0, 16.0, 30.0, 31.0, 90.0)]
    assert found == [0, 0, 0, 1, 1, 2, 2]
    within = [nearest_within(steps, x, 5.0) for x in (4.0, 5.0, 31.0, 45.0, 46.0)]
    assert within == [None, 0, 2, 2, None]
    assert nearest_within(np.empty(0), 0.0, np.inf) is None


@given(
    st.lists(st.floats(-1e6, 1e6) | st.just(float("nan")), min_size=1, max_size=500),
    st.integers(1, 70),
)
@example(values=list(range(500)), piece=3)
def test_a_series_beyond_its_capacity_keeps_the_extremes_of_all_it_was_given(values, piece):
    series = Series(("x", "y"), capacity=16)
    rows = np.column_stack((np.arange(len(values)), values))
    for begin in range(0, len(values), piece):
        series.append(rows[begin : begin + piece])
    assert len(series) <= 16
    # The last few wait until their cell is full.
    whole = len(values) // series.rows_each * series.rows_each
    assert len(series) == whole // series.rows_each
    known = [v for v in values[:whole] if np.isfinite(v)]
    _, y = series.curve("y", -np.inf, np.inf, 1000)
    if known:
        assert (y.min(), y.max()) == (min(known), max(known))
    assert list(series.column("x")) == list(range(series.rows_each - 1, whole, series.rows_each))


def test_a_series_that_is_full_at_an_odd_size_keeps_the_extremes_of_its_last_cell():
    series = Series(("x", "y"), capacity=8)
    heights = [0.0] * 15
    # At both merges its size is 7; the odd cell of the second one stands for these rows.
    heights[12:14] = 100.0, -100.0
    for begin in (0, 7, 14):
        series.append([(x, heights[x]) for x in range(begin, min(begin + 7, 15))])
    series.append([(x, 0.0) for x in range(15, 32)])
    assert series.rows_each == 4
    _, y = series.curve("y", -np.inf, np.inf, 1000)
    assert (y.min(), y.max()) == (-100, 100)
    np.testing.assert_array_equal(series.column("x"), range(3, 32, 4))


@pytest.mark.parametrize("last", [35, 39, 40, 41])
def test_what_follows_dropped_rows_is_as_if_they_had_never_been(last):
    """Four rows are a cell; those after row 39 wait for more."""
    straight, cut = Series(("x", "y"), capacity=16), Series(("x", "y"), capacity=16)
    rows = [(x, x * x) for x in range(43)]
    straight.append(rows[: last + 1])
    cut.append(rows)
    cut.keep_to(last)
    for series in (straight, cut):
        series.append([(x, -x) for x in range(last + 1, 50)])
    assert cut.rows_each == straight.rows_each == 4
    assert np.array_equal(cut.rows(), straight.rows())
    assert np.array_equal(cut.curve("y", 0, 50, 100), straight.curve("y", 0, 50, 100))


def test_the_memory_of_a_series_is_bounded_and_its_means_are_those_of_its_rows():
    tracemalloc.start()
    series = Series(("x", "y"))
    for begin in range(0, 1_000_000, 50_000):
        x = np.arange(begin, begin + 50_000)
        series.append(np.column_stack((x, np.sin(x / 1e5))))
    del x
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(series) <= CAPACITY
    assert taken <= 1.01 * 3 * 2 * 8 * CAPACITY
    assert series.rows_each == 16
    mean = np.sin(np.arange(1_000_000) / 1e5).reshape(-1, 16).mean(axis=1)
    np.testing.assert_allclose(series.column("y"), mean, atol=1e-9)
