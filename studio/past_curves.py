"""The curves of a run's ancestors, drawn dimmed below its own."""

from collections.abc import Sequence
from typing import Any

import pyqtgraph as pg
from PySide6.QtGui import QColor

from studio.series import Series
from studio.theme import Theme

_OPACITY = 90
"""Of 255: the hue stays, and the run's own curves stand out."""


class PastCurves:
    """For every curve of a plot a fainter one of the same colour."""

    def __init__(self, plot: pg.PlotWidget, curves: Sequence[Any]) -> None:
        self._curves = tuple(curves)
        self._items = []
        self.shown = False
        """Whether there is any past to be drawn."""
        for _ in self._curves:
            item = pg.PlotDataItem(connect="all", skipFiniteCheck=True)
            item.setZValue(-1)
            plot.addItem(item)
            self._items.append(item)

    def draw(self, sources: Sequence[Series], low: float, high: float, points: int) -> None:
        """Draw what is in view, one series for each curve; none at all if ``sources`` is empty."""
        self.shown = any(map(len, sources))
        for number, (curve, item) in enumerate(zip(self._curves, self._items, strict=True)):
            if not sources or not len(sources[number]):
                item.setData([], [])
                continue
            item.setData(*sources[number].curve(curve.column, low, high, points))

    def set_theme(self, theme: Theme) -> None:
        """Take on the colours of a theme."""
        for curve, item in zip(self._curves, self._items, strict=True):
            colour = QColor(getattr(theme, curve.colour))
            colour.setAlpha(_OPACITY)
            dress(item, curve.style, colour)


def dress(item: pg.PlotDataItem, style: str, colour: QColor) -> None:
    """Draw a curve as a line, as dots or both, in a colour."""
    item.setPen(None if style == "dots" else pg.mkPen(colour, width=1))
    if style in ("dots", "line+dots"):
        item.setSymbol("o")
        item.setSymbolSize(3 if style == "dots" else 6)
        item.setSymbolBrush(colour)
        item.setSymbolPen(None)
