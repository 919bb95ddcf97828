"""A smoothed column that grows with its series is the one computed from the whole series."""

import gc
import weakref

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from studio.plots.layers.smoothed import SmoothedColumn
from studio.session.series import Series
from td3core.analysis.results import trailing_mean

VALUES = st.lists(st.floats(-1e6, 1e6) | st.just(float("nan")), min_size=1, max_size=200)


def assert_smoothed(column: SmoothedColumn, series: Series, count: int) -> None:
    x, y = column.of(series)
    known, values = series.known("y")
    np.testing.assert_array_equal(x, known)
    expected = trailing_mean(values, max(1, count // series.rows_each))
    np.testing.assert_allclose(y, expected, rtol=1e-9, atol=1e-6)


@given(VALUES, st.integers(1, 40), st.integers(1, 30), st.integers(0, 200))
@example([*map(float, range(200))], 3, 7, 100)
def test_growth_merges_and_dropped_rows_leave_the_mean_of_what_is_there(
    values: list[float], piece: int, count: int, last: int
) -> None:
    series, column = Series(("x", "y"), capacity=64), SmoothedColumn("y", count)
    rows = np.column_stack((np.arange(len(values)), values))
    for begin in range(0, len(rows), piece):
        series.append(rows[begin : begin + piece])
        assert_smoothed(column, series, count)
    series.keep_to(last)
    assert_smoothed(column, series, count)
    series.append([(201.0 + i, i) for i in range(30)])
    assert_smoothed(column, series, count)


def test_another_series_is_smoothed_anew_and_the_previous_one_is_not_kept() -> None:
    column = SmoothedColumn("y", 2)
    series = Series(("x", "y"))
    series.append([(0, 1.0), (1, 2.0)])
    assert list(column.of(series)[1]) == [1.0, 1.5]
    gone = weakref.ref(series)
    series = Series(("x", "y"))
    series.append([(0, 5.0), (1, 7.0)])
    assert list(column.of(series)[1]) == [5.0, 6.0]
    gc.collect()
    assert gone() is None
