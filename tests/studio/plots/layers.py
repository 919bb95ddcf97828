"""Draws plots again, and finds what is drawn on one."""

from typing import TypeVar

from studio.plots.card import PlotCard
from studio.plots.layers.layer import Layer

Kind = TypeVar("Kind", bound=Layer)


def redraw(qtbot, window) -> None:
    """Let the plots draw what a run has reported, and wait until they have."""
    window.model.curves_changed.emit()
    qtbot.waitUntil(lambda: not window.plots.redraw_pending)


def layer_of(card: PlotCard, kind: type[Kind]) -> Kind:
    """Return the one layer of this class on a plot."""
    (found,) = [layer for layer in card.layers if isinstance(layer, kind)]
    return found
