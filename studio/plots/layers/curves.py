"""The curves of a run."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtGui import QColor

from studio.plots.curve import Curve, HasCurves
from studio.plots.layers.layer import Entry, Layer, Points, View
from studio.session.series import Numbers
from studio.theme.theme import Theme

_STRIPES = 24
"""Stripes across a plot in which curves that coincide take turns."""


class CurveLayer(Layer):
    """The curves of one plot. The last one listed lies on top."""

    def __init__(self, curves: Iterable[Curve], source: HasCurves) -> None:
        self._source = source
        self._items = {curve: make_item(curve.label) for curve in curves}
        self._drawn: list[Curve] = []

    def attach(self, plot: pg.PlotWidget) -> None:
        """Add the curves to a plot."""
        for item in self._items.values():
            plot.addItem(item)

    def draw(self, view: View) -> Sequence[Numbers]:
        """Draw the part in view; a column that the run lacks draws nothing."""
        heights, self._drawn = [], []
        for depth, (curve, item) in enumerate(self._items.items()):
            x, y = points_in_view(curve, self._source, view)
            striped = curve.style == "stripes" and len(x) > 2 * _STRIPES
            joined = _stripes(x, (view.high - view.low) / _STRIPES, depth) if striped else "all"
            item.setData(x, y, connect=joined)
            heights.append(y)
            if len(x):
                self._drawn.append(curve)
        return heights

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        for curve, item in self._items.items():
            style_item(item, curve.style, QColor(getattr(theme, curve.colour)))

    def last_step(self) -> float:
        """Return the last step of any curve."""
        return last_step_of(self._items, self._source)

    def legend(self) -> Sequence[Entry]:
        """Return the curves that have points in view."""
        return [Entry(text=curve.label, colour=curve.colour) for curve in self._drawn]

    def read(self, x: float, reach: float) -> Sequence[Entry]:
        """Return the value of each curve in the row nearest to ``x``."""
        del reach
        found = []
        for curve in self._items:
            series = curve.series_in(self._source)
            row = None if series is None else series.nearest(x)
            if series is None or row is None:
                continue
            value = float(series.column(curve.column)[row])
            if math.isfinite(value):
                found.append(Entry(text=f"{curve.label} {value:.4g}", colour=curve.colour))
        return found

    def points(self) -> Sequence[Points]:
        """Return every point of every curve."""
        pairs = [(curve, curve.series_in(self._source)) for curve in self._items]
        return [
            Points(curve.label, series.column("env_steps"), series.column(curve.column))
            for curve, series in pairs
            if series is not None
        ]


def make_item(name: str | None = None) -> pg.PlotDataItem:
    """Make the graphics item of a curve whose points are all finite."""
    return pg.PlotDataItem(name=name, connect="all", skipFiniteCheck=True)


def style_item(item: pg.PlotDataItem, style: str, colour: QColor) -> None:
    """Draw a curve as a line, as dots or as both."""
    item.setPen(None if style == "dots" else pg.mkPen(colour, width=1))
    if style in ("dots", "line+dots"):
        item.setSymbol("o")
        item.setSymbolSize(3 if style == "dots" else 6)
        item.setSymbolBrush(colour)
        item.setSymbolPen(None)


def points_in_view(curve: Curve, source: HasCurves, view: View) -> tuple[Numbers, Numbers]:
    """Return x and y of the part of a curve in view, thinned to what the screen can show.

    Both have shape (n,) and no NaN; n is 0 if the run lacks the column.
    """
    series = curve.series_in(source)
    if series is None:
        return np.empty(0), np.empty(0)
    return series.curve(curve.column, view.low, view.high, view.points)


def last_step_of(curves: Iterable[Curve], source: HasCurves) -> float:
    """Return the last step of the series that these curves are columns of; 0 if all are empty."""
    found = [series_of(source) for series_of in {curve.source for curve in curves}]
    ends = [float(series.column("env_steps")[-1]) for series in found if series]
    return max(ends, default=0.0)


def _stripes(x: Numbers, width: float, depth: int) -> NDArray[np.bool_]:
    """Return for each point whether it is joined to the next, for a curve above ``depth`` others.

    Of every three stripes the second curve leaves out one and the third two, so three curves that
    coincide show in turn. A dashed pen would not do: its pattern restarts with every segment, and
    segments are a pixel or two long.
    """
    joined: NDArray[np.bool_] = np.floor(x / width) % 3 >= depth
    return joined
