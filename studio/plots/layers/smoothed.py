"""The known values of a column, smoothed, without computing them again for every redraw."""

import weakref
from collections.abc import Callable

import numpy as np

from studio.session.series import Series
from td3core.analysis.results import trailing_mean
from td3core.arrays import Doubles


class SmoothedColumn:
    """The values of a column without NaN, each averaged with those before it.

    The mouse reads every curve of every plot with each move, so the values are kept, and only those
    of new cells are computed.
    """

    def __init__(self, column: str, count: int) -> None:
        """Take the column, and how many rows to average; 1 for none."""
        self._column, self._count = column, count
        self._series: Callable[[], Series | None] = lambda: None
        """Not kept alive: the series of a closed run take a hundred megabytes."""
        self._revision = self._cells = 0
        """The state of the series, and how many of its cells are included."""
        self._x: Doubles = np.empty(0)
        self._y: Doubles = np.empty(0)
        self._recent: Doubles = np.empty(0)
        """The last values before smoothing that the means of new cells also need."""

    def of(self, series: Series) -> tuple[Doubles, Doubles]:
        """Return x and y, shapes (n,)."""
        if self._series() is not series or self._revision != series.revision:
            self._series, self._revision = weakref.ref(series), series.revision
            self._cells = 0
            self._x = self._y = self._recent = np.empty(0)
        if self._cells < len(series):
            self._extend(series)
        return self._x, self._y

    def _extend(self, series: Series) -> None:
        x, y = series.known(self._column, self._cells)
        self._cells = len(series)
        count = max(1, self._count // series.rows_each)
        raw = np.concatenate((self._recent, y))
        smoothed = trailing_mean(raw, count)[len(self._recent) :]
        self._recent = raw[max(len(raw) - count + 1, 0) :]
        self._x, self._y = np.concatenate((self._x, x)), np.concatenate((self._y, smoothed))
