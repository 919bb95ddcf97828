"""The curves of a run."""

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtGui import QColor

from studio.formatting import format_number
from studio.plots.canvas import PlotCanvas
from studio.plots.curve import SMOOTHED, Curve, in_free_colour, info_curve, logged, training_of
from studio.plots.layers.layer import Entry, Layer, LayerView, Points
from studio.plots.layers.lines_item import curve_pen
from studio.plots.layers.smoothed import SmoothedColumn
from studio.session.curves import RunCurves
from studio.session.model import RunModel
from studio.session.series import nearest_within, thinned
from studio.theme.theme import Theme
from td3core.analysis.results import SMOOTHED_EPISODES
from td3core.arrays import Doubles
from td3core.config.info_columns import PREFIX
from td3core.text import Text

_STRIPES = 24
"""Number of stripes across a plot in which coinciding curves take turns."""


class CurveLayer(Layer):
    """The curves of one plot. The last one listed is on top."""

    def __init__(self, curves: Iterable[Curve], model: RunModel) -> None:
        self._model = model
        self._items = {curve: make_item(curve.column) for curve in curves}
        self._added: dict[str, Curve] = {}
        self._plot: PlotCanvas | None = None
        self._theme: Theme | None = None
        self._drawn: list[Curve] = []
        self._hidden: set[Curve] = set()
        self._smoothing, self._episodes = 1, SMOOTHED_EPISODES
        self._known: dict[Curve, SmoothedColumn] = {}

    @property
    def smoothing(self) -> int:
        """Number of values averaged for each value of a curve of the updates."""
        return self._smoothing

    @property
    def episodes(self) -> int:
        """Number of episodes averaged in the smoothed curve of the returns."""
        return self._episodes

    def smooth_over(self, *, values: int | None = None, episodes: int | None = None) -> None:
        """Change :attr:`smoothing` or :attr:`episodes`."""
        self._smoothing = self._smoothing if values is None else values
        self._episodes = self._episodes if episodes is None else episodes
        self._known.clear()

    def attach(self, plot: PlotCanvas) -> None:
        """Add the curves to a plot."""
        self._plot = plot
        for item in self._items.values():
            plot.addItem(item)

    def draw(self, view: LayerView) -> Sequence[Doubles]:
        """Draw the part in view; nothing for a column that the run lacks."""
        heights, self._drawn = [], []
        for depth, (curve, item) in enumerate(self._items.items()):
            x, y = view.drawable(*self._points(curve, view))
            if len(x):
                self._drawn.append(curve)
            if curve in self._hidden:
                item.clear()
                continue
            striped = curve.style == "stripes" and len(x) > 2 * _STRIPES
            joined = _stripes(x, (view.high - view.low) / _STRIPES, depth) if striped else "all"
            draw_points(item, curve.style, view.step_map.places_of(x), y, joined)
            heights.append(y)
        return heights

    def addable(self) -> Iterator[Curve]:
        """Yield a curve for every recorded quantity that the plot does not show by default."""
        shown = self.shown_columns - self.added_columns
        return (each for each in logged(self._model.record.curves) if each.column not in shown)

    @property
    def shown_columns(self) -> frozenset[str]:
        """The columns that have a curve, including hidden ones."""
        return frozenset(curve.column for curve in self._items)

    @property
    def added_columns(self) -> frozenset[str]:
        """The columns added by the user."""
        return frozenset(self._added)

    def add(self, columns: Collection[str]) -> None:
        """Also draw these quantities of the run, each in a new colour.

        A number of the environment's info is drawn for runs that recorded it.
        """
        info = [info_curve(column) for column in columns if column.startswith(PREFIX)]
        for curve in (*logged(), *info):
            if curve.column in columns and curve.column not in self.shown_columns:
                self._add(in_free_colour(curve, self._items))

    def _add(self, curve: Curve) -> None:
        assert self._plot is not None
        self._added[curve.column] = curve
        self._items[curve] = item = make_item(curve.column)
        self._plot.addItem(item)
        if self._theme is not None:
            self.set_theme(self._theme)

    def remove(self, column: str) -> None:
        """Remove an added quantity."""
        assert self._plot is not None
        curve = self._added.pop(column)
        self._plot.removeItem(self._items.pop(curve))
        self._hidden.discard(curve)
        self._known.pop(curve, None)
        self._drawn = [each for each in self._drawn if each != curve]

    def show_curve(self, name: str, shown: bool) -> None:
        """Show or hide a curve."""
        for curve in self._items:
            if curve.column == name:
                (self._hidden.discard if shown else self._hidden.add)(curve)

    def _points(self, curve: Curve, view: LayerView) -> tuple[Doubles, Doubles]:
        if self._smoothed_over(curve) is None:
            return points_in_view(curve, self._model.record.curves, view)
        x, y = self._values(curve)
        first = max(int(np.searchsorted(x, view.low, "left")) - 1, 0)
        last = int(np.searchsorted(x, view.high, "right")) + 1
        return thinned(x[first:last], y[first:last], view.points)

    def _values(self, curve: Curve) -> tuple[Doubles, Doubles]:
        """Return x and y of a whole curve as shown, without NaN."""
        series = curve.series_in(self._model.record.curves)
        if series is None:
            return np.empty(0), np.empty(0)
        if curve not in self._known:
            count = self._smoothed_over(curve)
            column = curve.column if count is None else _raw(curve)
            self._known[curve] = SmoothedColumn(column, count or 1)
        return self._known[curve].of(series)

    def _smoothed_over(self, curve: Curve) -> int | None:
        """Return over how many values to take the mean; None if stored values are shown."""
        if curve.column == SMOOTHED:
            return None if self._episodes == SMOOTHED_EPISODES else self._episodes
        smooth = self._smoothing > 1 and curve.source is training_of
        return self._smoothing if smooth else None

    def _label(self, curve: Curve) -> Text:
        if curve.column == SMOOTHED:
            return Text("mean of {count}", count=self._episodes)
        return curve.label

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self._theme = theme
        for curve, item in self._items.items():
            style_item(item, curve.style, QColor(getattr(theme, curve.colour)))

    def last_step(self) -> float:
        """Return the last step of any curve."""
        return last_step_of(self._items, self._model.record.curves)

    def legend(self) -> Sequence[Entry]:
        """Return the curves that have points in view."""
        return [
            Entry(
                text=str(self._label(curve)),
                colour=curve.colour,
                switch=curve.column,
                hidden=curve in self._hidden,
            )
            for curve in self._drawn
        ]

    def read(self, x: float, reach: float) -> Sequence[Entry]:
        """Return the value of each curve nearest to ``x``; none beyond its ends."""
        found = []
        for curve in self._items:
            value = None if curve in self._hidden else self._value_at(curve, x, reach)
            if value is not None:
                text = f"{self._label(curve)} {format_number(value)}"
                found.append(Entry(text=text, colour=curve.colour))
        return found

    def _value_at(self, curve: Curve, x: float, reach: float) -> float | None:
        steps, values = self._values(curve)
        at = nearest_within(steps, x, reach)
        return None if at is None else float(values[at])

    def readable(self) -> Sequence[Points]:
        """Return the visible curves, the topmost first."""
        shown = [curve for curve in self._items if curve not in self._hidden]
        return [Points(str(self._label(curve)), *self._values(curve)) for curve in reversed(shown)]

    def points(self) -> Sequence[Points]:
        """Return every point of every curve as recorded, and the mean of the returns as shown."""
        found = []
        for curve in self._items:
            series = curve.series_in(self._model.record.curves)
            if series is not None:
                mean = curve.column == SMOOTHED
                values = self._values(curve) if mean else series.known(curve.column)
                # Files name the curves in English, whatever the window's language.
                found.append(Points(self._label(curve).english, *values))
        return found


def _raw(curve: Curve) -> str:
    """Return the column from which a smoothed curve is computed."""
    return "return" if curve.column == SMOOTHED else curve.column


def make_item(name: str | None = None) -> pg.PlotDataItem:
    """Make the graphics item of a curve whose points are all finite."""
    return pg.PlotDataItem(name=name, connect="all", skipFiniteCheck=True)


def style_item(item: pg.PlotDataItem, style: str, colour: QColor) -> None:
    """Draw a curve as a line, as dots or as both."""
    item.setPen(None if style == "dots" else curve_pen(colour))
    item.setSymbolSize(3 if style == "dots" else 6)
    item.setSymbolBrush(colour)
    item.setSymbolPen(None)


def draw_points(
    item: pg.PlotDataItem,
    style: str,
    x: Doubles,
    y: Doubles,
    joined: str | NDArray[np.bool_] = "all",
) -> None:
    """Draw the points of a curve; a single one as a dot, as there is no line yet."""
    dotted = style in ("dots", "line+dots") or len(x) == 1
    item.setData(x, y, connect=joined, symbol="o" if dotted else None)


def points_in_view(curve: Curve, source: RunCurves, view: LayerView) -> tuple[Doubles, Doubles]:
    """Return x and y of the part of a curve in view, thinned to the screen's resolution.

    Both have shape (n,) and no NaN; n is 0 if the run lacks the column.
    """
    series = curve.series_in(source)
    if series is None:
        return np.empty(0), np.empty(0)
    return series.curve(curve.column, view.low, view.high, view.points)


def last_step_of(curves: Iterable[Curve], source: RunCurves) -> float:
    """Return the last step of the series with these curves' columns; 0 if all are empty."""
    found = [series_of(source) for series_of in {curve.source for curve in curves}]
    ends = [float(series.column("env_steps")[-1]) for series in found if series]
    return max(ends, default=0.0)


def _stripes(x: Doubles, width: float, depth: int) -> NDArray[np.bool_]:
    """Return for each point whether it is joined to the next, for a curve above ``depth`` others.

    Of every three stripes the second curve leaves out one and the third two, so three coinciding
    curves show in turn. A dashed pen would not work: its pattern restarts with every segment, and
    segments are a pixel or two long.
    """
    joined: NDArray[np.bool_] = np.floor(x / width) % 3 >= depth
    return joined
