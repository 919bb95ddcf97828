"""The curves of a run's ancestors, drawn dimmed below its own."""

from collections.abc import Sequence
from typing import Any

import pyqtgraph as pg
from PySide6.QtGui import QColor

from studio.session.series import Numbers, Series
from studio.theme.theme import Theme

_OPACITY = 0.35
"""The hue stays, and the run's own curves stand out."""


class ParentCurves:
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

    def draw(
        self, sources: Sequence[Series], low: float, high: float, points: int
    ) -> list[Numbers]:
        """Draw what is in view, one series for each curve; none at all if ``sources`` is empty.

        Returns the y values drawn, an array for each curve.
        """
        shown_before, self.shown = self.shown, any(map(len, sources))
        if not self.shown:
            if shown_before:
                for item in self._items:
                    item.clear()
            return []
        heights = []
        for curve, item, source in zip(self._curves, self._items, sources, strict=True):
            x, y = source.curve(curve.column, low, high, points)
            item.setData(x, y)
            heights.append(y)
        return heights

    def set_theme(self, theme: Theme) -> None:
        """Take on the colours of a theme."""
        for curve, item in zip(self._curves, self._items, strict=True):
            colour = theme.on_panel(QColor(getattr(theme, curve.colour)), _OPACITY)
            dress(item, curve.style, colour)


def dress(item: pg.PlotDataItem, style: str, colour: QColor) -> None:
    """Draw a curve as a line, as dots or both, in a colour."""
    item.setPen(None if style == "dots" else pg.mkPen(colour, width=1))
    if style in ("dots", "line+dots"):
        item.setSymbol("o")
        item.setSymbolSize(3 if style == "dots" else 6)
        item.setSymbolBrush(colour)
        item.setSymbolPen(None)
