"""Growing tables of numbers, downsampled for drawing."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from td3core.arrays import Doubles

_MEAN, _LOW, _HIGH = range(3)


CAPACITY = 65_536
"""Cells of a series. Its three tables of 34 columns take 53 MB, however long the run."""


class Series:
    """Named columns that grow by rows; the first column rises and is the x axis.

    Once ``capacity`` cells are full, neighbours are merged in pairs, and a cell stands for twice as
    many rows from then on. It keeps their mean, smallest and largest value, so that spikes stay
    visible; the full data is on disk.
    """

    def __init__(self, columns: Sequence[str], capacity: int = CAPACITY) -> None:
        self.columns = tuple(columns)
        self.rows_each = 1
        """Rows that one cell stands for."""
        self.revision = 0
        """Rises when known cells are merged or dropped; cells only added at the end leave it."""
        self._capacity = capacity
        self._cells: Doubles = np.empty((3, len(columns), 256))
        self._size = 0
        self._waiting: Doubles = np.empty((3, len(columns), 0))
        """The rows of a cell that is not full yet, shape (3, columns, rows)."""

    def __len__(self) -> int:
        return self._size

    def add_columns(self, names: Sequence[str]) -> None:
        """Add columns at the end; they are NaN in earlier rows."""
        self.columns += tuple(names)
        self._cells, self._waiting = (
            np.concatenate((cells, np.full((3, len(names), cells.shape[2]), np.nan)), axis=1)
            for cells in (self._cells, self._waiting)
        )

    def append(self, rows: ArrayLike) -> None:
        """Add rows, shape (n, columns) or (columns,)."""
        block = np.asarray(rows, dtype=np.float64).reshape(-1, len(self.columns))
        # In pieces: each merge frees only half the capacity.
        for begin in range(0, len(block), self._capacity):
            self._take(block[begin : begin + self._capacity])

    def _take(self, rows: Doubles) -> None:
        new = np.broadcast_to(rows.T, (3, *rows.T.shape))
        self._waiting = np.concatenate((self._waiting, new), axis=2)
        while self._size + self._waiting.shape[2] // self.rows_each > self._capacity:
            self._merge()
        whole = self._waiting.shape[2] // self.rows_each * self.rows_each
        grouped = self._waiting[:, :, :whole].reshape(3, len(self.columns), -1, self.rows_each)
        # A copy: a view would keep all of the new rows in memory.
        self._waiting = self._waiting[:, :, whole:].copy()
        self._add(_merged(grouped))

    def _add(self, cells: Doubles) -> None:
        needed = self._size + cells.shape[2]
        if needed > self._cells.shape[2]:
            room = min(max(needed, 2 * self._cells.shape[2]), self._capacity)
            grown = np.empty((3, len(self.columns), room))
            grown[:, :, : self._size] = self._cells[:, :, : self._size]
            self._cells = grown
        self._cells[:, :, self._size : needed] = cells
        self._size = needed

    def _merge(self) -> None:
        """Let every cell stand for twice as many rows."""
        even = self._size // 2 * 2
        pairs = self._cells[:, :, :even].reshape(3, len(self.columns), -1, 2)
        merged = _merged(pairs)
        # An odd cell is half of the next one: it waits as the rows that it stands for.
        odd = self._cells[:, :, even : self._size].repeat(self.rows_each, axis=2)
        self._waiting = np.concatenate((odd, self._waiting), axis=2)
        self._size = merged.shape[2]
        self._cells[:, :, : self._size] = merged
        self.rows_each *= 2
        self.revision += 1

    def keep_to(self, last: float) -> None:
        """Drop the rows after this x, and the whole cell that contains the first of them."""
        self._size = int(np.searchsorted(self._cells[_HIGH, 0, : self._size], last, "right"))
        self._waiting = self._waiting[:, :, self._waiting[_HIGH, 0] <= last]
        self.revision += 1

    def column(self, name: str) -> Doubles:
        """Return the cells' means of a column, for x their last; valid until the next append."""
        index = self.columns.index(name)
        view = self._cells[_HIGH if index == 0 else _MEAN, index, : self._size]
        view.flags.writeable = False
        return view

    def known(self, name: str, first: int = 0) -> tuple[Doubles, Doubles]:
        """Return x and y of a column from the cell ``first`` on, shapes (n,), without NaN."""
        x, y = self.column(self.columns[0])[first:], self.column(name)[first:]
        finite = np.isfinite(y)
        return x[finite], y[finite]

    def rows(self) -> Doubles:
        """Return all cells as rows of means, shape (n, columns)."""
        return self._cells[_MEAN, :, : self._size].T.copy()

    def curve(self, name: str, low: float, high: float, points: int) -> tuple[Doubles, Doubles]:
        """Return x and y of the part between ``low`` and ``high``, at most about ``points`` long.

        Long parts keep the smallest and the largest value of each stretch, so that spikes stay
        visible. Non-finite values are left out. One row beyond either end is kept, so that the
        line reaches the edge.
        """
        x = self.column(self.columns[0])
        first = max(int(np.searchsorted(x, low, "left")) - 1, 0)
        last = int(np.searchsorted(x, high, "right")) + 1
        x = x[first:last]
        cells = self._cells[:, self.columns.index(name), first : min(last, self._size)]
        if self.rows_each == 1:
            y = cells[_MEAN]
        else:
            x, y = x.repeat(2), cells[(_LOW, _HIGH), :].T.ravel()
        finite = np.isfinite(y)
        if not finite.all():
            x, y = x[finite], y[finite]
        return thinned(x, y, points)


def _merged(groups: Doubles) -> Doubles:
    """Reduce mean, smallest and largest, shape (3, columns, cells, rows), over the rows."""
    known = np.isfinite(groups[_MEAN])
    if groups.shape[-1] == 1:
        # The usual case: most series are short.
        cells = groups[..., 0].copy()
        cells[_MEAN][~known[..., 0]] = np.nan
        return cells
    count = known.sum(axis=-1)
    total = np.where(known, groups[_MEAN], 0.0).sum(axis=-1)
    mean = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return np.stack((mean, np.fmin.reduce(groups[_LOW], -1), np.fmax.reduce(groups[_HIGH], -1)))


def thinned(x: Doubles, y: Doubles, points: int) -> tuple[Doubles, Doubles]:
    """Return the smallest and the largest value of each stretch, about ``points`` in total."""
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


def nearest(steps: Doubles, x: float) -> int:
    """Return the index of the value nearest to ``x`` in rising steps, shape (n,), n > 0."""
    after = min(int(np.searchsorted(steps, x)), len(steps) - 1)
    before = max(after - 1, 0)
    return before if abs(steps[before] - x) <= abs(steps[after] - x) else after


def nearest_within(steps: Doubles, x: float, reach: float) -> int | None:
    """Return :func:`nearest`; None without steps, or further than ``reach`` beyond their ends."""
    if not len(steps) or not steps[0] - reach <= x <= steps[-1] + reach:
        return None
    return nearest(steps, x)
