"""The lines and bands of a comparison on one plot."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from studio.formatting import format_number
from studio.plots.canvas import PlotCanvas
from studio.plots.compare.run_set import ComparedLine
from studio.plots.layers.curve_layers import make_item
from studio.plots.layers.layer import Entry, Layer, LayerView, Points
from studio.plots.layers.lines_item import DrawnLine, LinesItem
from studio.session.series import thinned
from studio.theme.theme import Theme
from td3core.arrays import Doubles
from td3core.text import tr

_BAND_OPACITY = 0.22
_FAINT = 0.55
_STYLES = {
    Qt.PenStyle.SolidLine: "●",
    Qt.PenStyle.DashLine: "╍",
    Qt.PenStyle.DotLine: "┅",
    Qt.PenStyle.DashDotLine: "┉",
}
"""Line styles for the first pass through the colours, the second, ..., with their marks."""
_AHEAD = 0.5
"""Share of the view drawn beyond either side of it: small moves need no redraw."""
_ZOOMED = 0.35
"""Smallest part of the drawn range that may fill the plot; below that it is redrawn in more detail.
"""
_LINES_IN_FULL = 12
"""Above this many lines, all share the point budget of this many."""
_LEAST_POINTS = 200
_MOST_READ = 12
"""Maximum number of lines in a readout; more would hide the curves."""


def colour_of(theme: Theme, place: int) -> str:
    """Return the colour of a group, as #rrggbb."""
    return QColor(theme.compare[place % len(theme.compare)]).name()


def style_of(theme: Theme, place: int) -> Qt.PenStyle:
    """Return the line style of a group, which distinguishes groups of one colour."""
    return list(_STYLES)[place // len(theme.compare) % len(_STYLES)]


class _DrawnBand:
    """The graphics items of the area between two curves."""

    def __init__(self, plot: PlotCanvas) -> None:
        self._plot = plot
        self._edges = (make_item(), make_item())
        for edge in self._edges:
            plot.addItem(edge)
            # Only the area between them is visible; showing them would cost as much as lines.
            edge.hide()
        self._band = pg.FillBetweenItem(*self._edges)
        self._band.setZValue(-5)
        plot.addItem(self._band)

    def remove(self) -> None:
        """Remove the items from the plot."""
        for item in (*self._edges, self._band):
            self._plot.removeItem(item)

    def draw(self, x: Doubles, ends: tuple[Doubles, Doubles], colour: QColor) -> None:
        """Fill the area between two curves."""
        shade = QColor(colour)
        shade.setAlphaF(_BAND_OPACITY)
        self._band.setBrush(pg.mkBrush(shade))
        for edge, end in zip(self._edges, ends, strict=True):
            edge.setData(x, end)


class ComparedLayer(Layer):
    """One line and band per group, and additional single runs."""

    def __init__(self, lines: Callable[[], Sequence[ComparedLine]]) -> None:
        """Take a function that returns the current lines to draw."""
        self._lines = lines
        self._item = LinesItem()
        self._bands: list[_DrawnBand] = []
        self._plot: PlotCanvas | None = None
        self._theme: Theme | None = None
        self._shown: Sequence[ComparedLine] | None = None
        self._range = (0.0, 0.0)
        self._heights: list[Doubles] = []

    def attach(self, plot: PlotCanvas) -> None:
        """Add the lines to a plot; bands are added when they appear."""
        self._plot = plot
        plot.addItem(self._item)

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme at the next redraw."""
        self._theme, self._shown = theme, None

    def draw(self, view: LayerView) -> Sequence[Doubles]:
        """Draw the part in view of every line."""
        lines = self._lines()
        if lines is self._shown and self._covers(view):
            return self._heights
        ahead = _AHEAD * (view.high - view.low)
        share = min(1.0, _LINES_IN_FULL / max(len(lines), 1))
        points = max(int(view.points * share * (1 + 2 * _AHEAD)), _LEAST_POINTS)
        wider = LayerView(low=view.low - ahead, high=view.high + ahead, points=points)
        self._shown, self._range = lines, (wider.low, wider.high)
        # The mean of a group is drawn on top of its runs.
        known = [line for line in lines if len(line.curve.x)]
        drawn = [self._part(line, wider) for line in sorted(known, key=lambda line: not line.faint)]
        self._item.set_lines(drawn)
        self._heights = [line.y for line in drawn] + self._draw_bands(lines, wider)
        return self._heights

    def _part(self, line: ComparedLine, view: LayerView) -> DrawnLine:
        curve, part = line.curve, _in_view(line.curve.x, view)
        x, y = thinned(curve.x[part], curve.middle[part], view.points)
        return DrawnLine(x, y, QColor(self._colour(line)), self._style(line))

    def _draw_bands(self, lines: Sequence[ComparedLine], view: LayerView) -> list[Doubles]:
        """Draw the part in view of every band and return its heights."""
        assert self._plot is not None
        heights: list[Doubles] = []
        count = 0
        for line in lines:
            curve, part = line.curve, _in_view(line.curve.x, view)
            if curve.low is None or curve.high is None:
                continue
            if count == len(self._bands):
                self._bands.append(_DrawnBand(self._plot))
            ends = (curve.low[part], curve.high[part])
            self._bands[count].draw(curve.x[part], ends, QColor(self._colour(line)))
            heights += ends
            count += 1
        while len(self._bands) > count:
            self._bands.pop().remove()
        return heights

    def _covers(self, view: LayerView) -> bool:
        """Return whether the drawn range covers a view in enough detail."""
        low, high = self._range
        return (
            low <= view.low and view.high <= high and view.high - view.low > _ZOOMED * (high - low)
        )

    def last_step(self) -> float:
        """Return the end of the longest line."""
        return max(
            (float(line.curve.x[-1]) for line in self._lines() if len(line.curve.x)), default=0.0
        )

    def legend(self) -> Sequence[Entry]:
        """Return the lines drawn."""
        return [self._entry(line, line.label) for line in self._lines()]

    def _entry(self, line: ComparedLine, text: str) -> Entry:
        return Entry(text=text, colour=self._colour(line), mark=_STYLES[self._style(line)])

    def read(self, x: float, reach: float) -> Sequence[Entry]:
        """Return the value of every line at ``x``, highest first, with its band."""
        found = []
        for line in self._lines():
            at = int(np.searchsorted(line.curve.x, x, side="right")) - 1
            # A value holds until the next one is measured, but not beyond the last.
            if at < 0 or x > line.curve.x[-1] + reach or not math.isfinite(line.curve.middle[at]):
                continue
            value, ends = float(line.curve.middle[at]), ""
            if line.curve.low is not None and line.curve.high is not None:
                ends = (
                    f" [{format_number(line.curve.low[at])}, {format_number(line.curve.high[at])}]"
                )
            text = f"{line.label} {format_number(value)}{ends}"
            found.append((value, self._entry(line, text)))
        found.sort(key=lambda each: each[0], reverse=True)
        entries = [entry for _, entry in found[:_MOST_READ]]
        if len(found) > _MOST_READ:
            entries.append(Entry(text=tr("and {count} more", count=len(found) - _MOST_READ)))
        return entries

    def readable(self) -> Sequence[Points]:
        """Return the shown line of every group and run."""
        found = []
        for line in self._lines():
            known = np.isfinite(line.curve.middle)
            if not known.any():
                continue
            found.append(Points(line.label, line.curve.x[known], line.curve.middle[known]))
        return found

    def _style(self, line: ComparedLine) -> Qt.PenStyle:
        assert self._theme is not None
        return style_of(self._theme, line.place)

    def _colour(self, line: ComparedLine) -> str:
        assert self._theme is not None
        colour = colour_of(self._theme, line.place)
        return self._theme.on_panel(QColor(colour), _FAINT).name() if line.faint else colour


def _in_view(x: Doubles, view: LayerView) -> slice:
    """Return the points in view, and one beyond either end."""
    first = max(int(np.searchsorted(x, view.low, "left")) - 1, 0)
    return slice(first, int(np.searchsorted(x, view.high, "right")) + 1)
