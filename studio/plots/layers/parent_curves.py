"""The dimmed curves of a run's ancestors."""

from collections.abc import Iterable, Sequence

import pyqtgraph as pg
from PySide6.QtGui import QColor

from studio.plots.canvas import PlotCanvas
from studio.plots.curve import Curve
from studio.plots.layers.curve_layers import (
    draw_points,
    last_step_of,
    make_item,
    points_in_view,
    style_item,
)
from studio.plots.layers.layer import Entry, Layer, LayerView
from studio.session.model import RunModel
from studio.theme.theme import Theme
from td3core.arrays import Doubles
from td3core.text import Text

_OPACITY = 0.35
"""The hue is still recognisable, and the run's own curves stand out."""

_LEGEND = Text("parent")


class ParentCurveLayer(Layer):
    """A dimmed curve of the same colour below each curve of the run."""

    def __init__(self, curves: Iterable[Curve], model: RunModel) -> None:
        self._model, self._curves = model, tuple(curves)
        self._items: dict[Curve, pg.PlotDataItem] = {}
        """Made for the first run with ancestors."""
        self._plot: PlotCanvas | None = None
        self._theme: Theme | None = None
        self._shown = False

    def attach(self, plot: PlotCanvas) -> None:
        """Store the plot; the curves are added when first needed."""
        self._plot = plot

    def _make_items(self) -> None:
        assert self._plot is not None
        for curve in self._curves:
            item = self._items[curve] = make_item()
            item.setZValue(-1)
            self._plot.addItem(item)
        self._colour()

    def draw(self, view: LayerView) -> Sequence[Doubles]:
        """Draw the part in view; nothing if the run has no ancestors."""
        shown_before, self._shown = self._shown, self.last_step() > 0.0
        if not self._shown:
            if shown_before:
                for item in self._items.values():
                    item.clear()
            return ()
        if not self._items:
            self._make_items()
        heights = []
        for curve, item in self._items.items():
            x, y = view.drawable(*points_in_view(curve, self._model.record.parent_curves, view))
            draw_points(item, curve.style, view.step_map.places_of(x), y)
            heights.append(y)
        return heights

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self._theme = theme
        self._colour()

    def _colour(self) -> None:
        theme = self._theme
        if theme is None:
            return
        for curve, item in self._items.items():
            colour = theme.on_panel(QColor(getattr(theme, curve.colour)), _OPACITY)
            style_item(item, curve.style, colour)

    def last_step(self) -> float:
        """Return the last step of any ancestor's curve."""
        return last_step_of(self._curves, self._model.record.parent_curves)

    def legend(self) -> Sequence[Entry]:
        """Return one entry for all dimmed curves."""
        return [Entry(text=str(_LEGEND))] if self._shown else []
