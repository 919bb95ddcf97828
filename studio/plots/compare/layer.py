"""The lines and bands of a comparison on one plot."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QColor

from studio.plots.layers.curves import make_item
from studio.plots.layers.layer import Entry, Layer, View
from studio.session.run_set import Line
from studio.session.series import Numbers, thinned
from studio.theme.theme import Theme

_BAND_OPACITY = 0.22
_FAINT = 0.55
_REPEATED = 0.6
"""Opacity of the second round of colours."""
_MOST_READ = 12
"""Lines of a readout; more would hide the curves."""


def colour_of(theme: Theme, place: int) -> str:
    """Return the colour of a group, as #rrggbb."""
    plain = QColor(theme.compare[place % len(theme.compare)])
    rounds = place // len(theme.compare)
    return theme.on_panel(plain, _REPEATED).name() if rounds % 2 else plain.name()


class _Drawn:
    """The graphics items of one line."""

    def __init__(self, plot: pg.PlotWidget) -> None:
        self._plot = plot
        self.line = make_item()
        self._edges = (make_item(), make_item())
        self._band = pg.FillBetweenItem(*self._edges)
        self._band.setZValue(-5)
        for item in (*self._edges, self._band, self.line):
            plot.addItem(item)

    def remove(self) -> None:
        for item in (self._band, *self._edges, self.line):
            self._plot.removeItem(item)

    def paint(self, colour: QColor) -> None:
        self.line.setPen(pg.mkPen(colour, width=1))
        shade = QColor(colour)
        shade.setAlphaF(_BAND_OPACITY)
        self._band.setBrush(pg.mkBrush(shade))
        for edge in self._edges:
            edge.setPen(None)

    def draw(self, line: Line, view: View) -> list[Numbers]:
        """Draw the part in view and return its heights."""
        curve, heights = line.curve, []
        part = _in_view(curve.x, view)
        x, y = thinned(curve.x[part], curve.middle[part], view.points)
        self.line.setData(x, y)
        heights.append(y)
        has_band = curve.low is not None and curve.high is not None
        self._band.setVisible(has_band)
        if curve.low is not None and curve.high is not None:
            for edge, end in zip(self._edges, (curve.low, curve.high), strict=True):
                edge.setData(curve.x[part], end[part])
                heights.append(end[part])
        return heights


class ComparedLayer(Layer):
    """One line and band per group, and the runs that are drawn besides."""

    def __init__(self, lines: Callable[[], Sequence[Line]]) -> None:
        """Take a function that returns the lines to draw at present."""
        self._lines = lines
        self._drawn: list[_Drawn] = []
        self._plot: pg.PlotWidget | None = None
        self._theme: Theme | None = None
        self._painted: list[tuple[str, int, bool]] = []

    def attach(self, plot: pg.PlotWidget) -> None:
        """Note the plot; lines are added as they come."""
        self._plot = plot

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme at the next redraw."""
        self._theme, self._painted = theme, []

    def draw(self, view: View) -> Sequence[Numbers]:
        """Draw the part in view of every line."""
        lines, heights = self._lines(), []
        self._provide(len(lines))
        self._paint(lines)
        for line, drawn in zip(lines, self._drawn, strict=True):
            heights += drawn.draw(line, view)
        return heights

    def last_step(self) -> float:
        """Return the end of the longest line."""
        return max(
            (float(line.curve.x[-1]) for line in self._lines() if len(line.curve.x)), default=0.0
        )

    def legend(self) -> Sequence[Entry]:
        """Return the lines drawn."""
        return [Entry(text=line.label, colour=self._colour(line)) for line in self._lines()]

    def read(self, x: float, reach: float) -> Sequence[Entry]:
        """Return the value of every line at ``x``, the highest first, with its band."""
        del reach
        found = []
        for line in self._lines():
            at = int(np.searchsorted(line.curve.x, x, side="right")) - 1
            if at < 0 or not math.isfinite(line.curve.middle[at]):
                continue
            value, ends = float(line.curve.middle[at]), ""
            if line.curve.low is not None and line.curve.high is not None:
                ends = f" [{line.curve.low[at]:.4g}, {line.curve.high[at]:.4g}]"
            text = f"{line.label} {value:.4g}{ends}"
            found.append((value, Entry(text=text, colour=self._colour(line))))
        found.sort(key=lambda each: each[0], reverse=True)
        entries = [entry for _, entry in found[:_MOST_READ]]
        if len(found) > _MOST_READ:
            entries.append(Entry(text=f"and {len(found) - _MOST_READ} more"))
        return entries

    @property
    def drawn_lines(self) -> list[tuple[Numbers, Numbers]]:
        """What is drawn at present, thinned, for each line."""
        return [drawn.line.getOriginalDataset() for drawn in self._drawn]

    def _provide(self, count: int) -> None:
        assert self._plot is not None
        while len(self._drawn) < count:
            self._drawn.append(_Drawn(self._plot))
        while len(self._drawn) > count:
            self._drawn.pop().remove()
            self._painted = []

    def _paint(self, lines: Sequence[Line]) -> None:
        wanted = [(line.label, line.place, line.faint) for line in lines]
        if self._theme is None or wanted == self._painted:
            return
        self._painted = wanted
        for line, drawn in zip(lines, self._drawn, strict=True):
            drawn.paint(QColor(self._colour(line)))

    def _colour(self, line: Line) -> str:
        assert self._theme is not None
        colour = colour_of(self._theme, line.place)
        return self._theme.on_panel(QColor(colour), _FAINT).name() if line.faint else colour


def _in_view(x: Numbers, view: View) -> slice:
    """Return the points between the ends of the x axis, and one beyond either end."""
    first = max(int(np.searchsorted(x, view.low, "left")) - 1, 0)
    return slice(first, int(np.searchsorted(x, view.high, "right")) + 1)
