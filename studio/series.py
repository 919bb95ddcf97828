"""Growing tables of numbers that thin themselves out for drawing."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]


class Series:
    """Named columns that grow by rows; the first column rises and is the x axis."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self._data: Numbers = np.empty((len(columns), 256))
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, rows: ArrayLike) -> None:
        """Add rows, shape (n, columns) or (columns,)."""
        block = np.asarray(rows, dtype=np.float64).reshape(-1, len(self.columns))
        needed = self._size + len(block)
        if needed > self._data.shape[1]:
            grown = np.empty((len(self.columns), max(needed, 2 * self._data.shape[1])))
            grown[:, : self._size] = self._data[:, : self._size]
            self._data = grown
        self._data[:, self._size : needed] = block.T
        self._size = needed

    def column(self, name: str) -> Numbers:
        """Return one column; valid until the next append."""
        view = self._data[self.columns.index(name), : self._size]
        view.flags.writeable = False
        return view

    def rows(self) -> Numbers:
        """Return all rows, shape (n, columns)."""
        return self._data[:, : self._size].T.copy()

    def curve(self, name: str, low: float, high: float, points: int) -> tuple[Numbers, Numbers]:
        """Return x and y of the part between ``low`` and ``high``, at most about ``points`` long.

        Long parts keep the smallest and the largest value of each stretch, so that spikes stay
        visible. Rows without a number are left out. One row beyond either end is kept, so that the
        line runs to the edge.
        """
        x, y = self.column(self.columns[0]), self.column(name)
        first = max(int(np.searchsorted(x, low, "left")) - 1, 0)
        last = int(np.searchsorted(x, high, "right")) + 1
        x, y = x[first:last], y[first:last]
        finite = np.isfinite(y)
        if not finite.all():
            x, y = x[finite], y[finite]
        return _thinned(x, y, points)

    def nearest(self, x: float) -> int | None:
        """Return the index of the row nearest to ``x``."""
        if not self._size:
            return None
        steps = self.column(self.columns[0])
        after = min(int(np.searchsorted(steps, x)), self._size - 1)
        before = max(after - 1, 0)
        return before if abs(steps[before] - x) <= abs(steps[after] - x) else after


def _thinned(x: Numbers, y: Numbers, points: int) -> tuple[Numbers, Numbers]:
    stretch = -(-2 * len(x) // max(points, 2))
    if stretch <= 2:
        return x, y
    whole = len(x) // stretch * stretch
    blocks = y[:whole].reshape(-1, stretch)
    picks = np.stack((blocks.argmin(axis=1), blocks.argmax(axis=1)), axis=1)
    picks.sort(axis=1)
    index = (picks + np.arange(0, whole, stretch)[:, None]).ravel()
    index = np.concatenate((index, np.arange(whole, len(x))))
    return x[index], y[index]
