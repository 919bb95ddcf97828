"""What plots are put together from: an axis, a level line, the look of curves that coincide."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPen

from studio.session.series import Numbers
from studio.theme.theme import Theme

_MANY_DECADES = 12
"""Beyond these, lines between the decades of an axis would fill the plot."""


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

    _theme: Theme | None = None

    def set_theme(self, theme: Theme) -> None:
        """Take on the colours of a theme."""
        self._theme = theme
        self.setPen(pg.mkPen(theme.grid))
        self.setTextPen(pg.mkPen(theme.muted))

    def generateDrawSpecs(self, p: QPainter) -> Any:  # noqa: N802
        """Return what to draw: the axis, ticks and grid in opaque colours, labels."""
        specs = super().generateDrawSpecs(p)
        if specs is None or self._theme is None:
            return specs
        axis, ticks, labels = specs
        # Ticks of one level are alike.
        pens: dict[int, QPen] = {}
        for pen, _, _ in ticks:
            colour = pen.color()
            if colour.rgba() not in pens:
                pens[colour.rgba()] = pg.mkPen(self._theme.on_panel(colour, colour.alphaF()))
        return axis, [(pens[pen.color().rgba()], *ends) for pen, *ends in ticks], labels

    def tickValues(  # noqa: N802
        self,
        minVal: float,  # noqa: N803
        maxVal: float,  # noqa: N803
        size: float,
    ) -> list[tuple[float | None, list[float]]]:
        """Return ticks by level; on a logarithmic axis, label no more than there is room for."""
        if not self.logMode:
            found: list[tuple[float | None, list[float]]] = super().tickValues(minVal, maxVal, size)
            return found
        height = QFontMetricsF(self.style["tickFont"] or QFont()).height()
        return log_ticks(minVal, maxVal, height * (maxVal - minVal) / max(size, 1.0))

    def tickStrings(  # noqa: N802
        self, values: Sequence[float], scale: float, spacing: float | None
    ) -> list[str]:
        """Label these ticks; on a logarithmic axis the values are exponents."""
        if self.logMode:
            return [_power(value) if spacing else "" for value in values]
        if spacing is None:
            return [_power(value) for value in values]
        return [_short(value * scale, spacing * scale) for value in values]


def log_ticks(low: float, high: float, gap: float) -> list[tuple[float | None, list[float]]]:
    """Return ticks between two exponents: those to be labelled, and (``None``) the bare ones.

    Labelled are at least ``gap`` decades apart: decades, or every few of them, and where there is
    room, numbers between them.
    """
    decades = range(math.floor(low), math.ceil(high) + 1)
    every = max(1, math.ceil(gap))
    chosen = [float(decade) for decade in decades if decade % every == 0]
    for digits in (range(1, 10), (1, 2, 4, 6, 8), (1, 2, 5), (1, 3)):
        finer = [decade + math.log10(digit) for decade in decades for digit in digits]
        if all(after - before >= gap for before, after in pairwise(finer)):
            chosen = finer
            break
    labelled = [value for value in chosen if low <= value <= high]
    if len(labelled) < 2:
        labelled = _within_a_decade(low, high, gap)
    bare = [decade + math.log10(digit) for decade in decades for digit in range(1, 10)]
    if len(decades) > _MANY_DECADES:
        bare = [float(decade) for decade in decades]
    rest = [value for value in bare if low <= value <= high and value not in labelled]
    return [(1.0, labelled), (None, rest)]


def _within_a_decade(low: float, high: float, gap: float) -> list[float]:
    """Return round numbers, as exponents, where hardly a power of ten is in view."""
    start, end = 10.0**low, 10.0**high
    # Numbers evenly apart are closest at the upper end of a logarithmic axis.
    least = max(end - 10.0 ** (high - gap), (end - start) / 8)
    if not 0.0 < least < math.inf:
        return []
    unit = 10.0 ** math.floor(math.log10(least))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= least * (1 - 1e-9))
    first, last = math.ceil(start / step), math.floor(end / step)
    return [math.log10(number * step) for number in range(max(first, 1), last + 1)]


def _power(exponent: float) -> str:
    """Write a power of ten with as many digits as it needs: 1e-3, 2e0, 1.5e0."""
    digits, power = f"{10.0**exponent:.2e}".split("e")
    return f"{float(digits):g}e{int(power)}"


def _short(value: float, spacing: float) -> str:
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            decimals = max(0, math.ceil(-math.log10(spacing / limit) - 1e-9)) if spacing else 0
            return f"{value / limit:.{min(decimals, 3)}f}{unit}"
    return f"{value:.4g}" if spacing < 1 else f"{value:.0f}"
