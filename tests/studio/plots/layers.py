"""Draws plots again, and finds what is drawn on one."""

from typing import Any, TypeVar

import pyqtgraph as pg
from PySide6.QtCore import Qt

from studio.plots.card import PlotCard
from studio.plots.layers.layer import Layer
from studio.plots.layers.lines_item import DrawnLine, LinesItem

Kind = TypeVar("Kind", bound=Layer)


def redraw(qtbot, window) -> None:
    """Let the plots draw what a run has reported, and wait until they have."""
    window.model.curves_changed.emit()
    qtbot.waitUntil(lambda: not window.plots.redraw_pending)


def layer_of(card: PlotCard, kind: type[Kind]) -> Kind:
    """Return the one layer of this class on a plot."""
    (found,) = [layer for layer in card.layers if isinstance(layer, kind)]
    return found


def curves_of(card: PlotCard) -> list[pg.PlotDataItem]:
    """Return the curves of a run on a plot, in the order of being added."""
    items = card.plot.getViewBox().addedItems
    return [item for item in items if isinstance(item, pg.PlotDataItem)]


def drawn_curves(card: PlotCard) -> list[str]:
    """Return the columns whose curves have points on a plot."""
    return [each.name() for each in curves_of(card) if each.xData is not None and len(each.xData)]


def _items(card: PlotCard, kind: type) -> list[Any]:
    return [item for item in card.plot.items() if isinstance(item, kind)]


def lines_of(card: PlotCard) -> list[DrawnLine]:
    """Return the lines of a comparison on a plot."""
    (item,) = _items(card, LinesItem)
    return list(item.lines)


def ticks_of(card: PlotCard, style: Qt.PenStyle) -> list[float]:
    """Return the marked places: dashed lines are live changes, solid ones notes."""
    (found,) = [each for each in _items(card, pg.VTickGroup) if each.pen.style() == style]
    return list(found.xvals)


def threshold_of(card: PlotCard) -> pg.InfiniteLine:
    """Return the horizontal line on a plot."""
    (found,) = [each for each in _items(card, pg.InfiniteLine) if each.angle == 0]
    return found
