"""What plots are put together from: an axis, a level line, the look of curves that coincide."""

import math
from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt

from studio.series import Numbers


def stripes(x: Numbers, width: float, depth: int) -> NDArray[np.bool_]:
    """Say for each point whether it is joined to the next, for a curve above ``depth`` others.

    Of every three stripes the second curve leaves out one and the third two, so that three that
    coincide are seen in turn. A dashed pen would not do it: its pattern begins anew with every
    segment, and the segments are a pixel or two long.
    """
    joined: NDArray[np.bool_] = np.floor(x / width) % 3 >= depth
    return joined


class Level(pg.InfiniteLine):  # type: ignore[misc]
    """A thin labelled line across a plot, hidden until it is given a value."""

    def __init__(self) -> None:
        # Below the curves, and its label where the newest values are not.
        options = {"position": 0.01, "anchors": [(0, 0), (0, 1)], "movable": False}
        super().__init__(angle=0, movable=False, label="", labelOpts=options)
        self.setZValue(-10)
        self.hide()

    def show_at(self, value: float | None, word: str) -> None:
        """Show the line at ``value`` with its name and value; hide it for None."""
        if value is not None:
            self.setValue(value)
            self.label.setFormat(f"{word} {value:g}")
        self.setVisible(value is not None)

    def set_colour(self, colour: str) -> None:
        """Take on a colour of the theme."""
        self.setPen(pg.mkPen(colour, width=1, style=Qt.PenStyle.DotLine))
        self.label.setColor(colour)


class ShortAxis(pg.AxisItem):  # type: ignore[misc]
    """An axis labelled 500, 20k, 1.5M: short enough for plots side by side."""

    def tickStrings(  # noqa: N802
        self, values: Sequence[float], scale: float, spacing: float | None
    ) -> list[str]:
        """Label these ticks; on a logarithmic axis the values are exponents."""
        if self.logMode or spacing is None:
            return [f"{10**value:.0e}".replace("e-0", "e-").replace("e+0", "e") for value in values]
        return [_short(value * scale, spacing * scale) for value in values]


def _short(value: float, spacing: float) -> str:
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            decimals = max(0, math.ceil(-math.log10(spacing / limit) - 1e-9)) if spacing else 0
            return f"{value / limit:.{min(decimals, 3)}f}{unit}"
    return f"{value:.4g}" if spacing < 1 else f"{value:.0f}"
