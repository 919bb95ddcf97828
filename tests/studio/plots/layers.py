"""Finds what is drawn on a plot."""

from typing import TypeVar

from studio.plots.card import PlotCard
from studio.plots.layers.layer import Layer

Kind = TypeVar("Kind", bound=Layer)


def layer_of(card: PlotCard, kind: type[Kind]) -> Kind:
    """Return the one layer of this class on a plot."""
    (found,) = [layer for layer in card.layers if isinstance(layer, kind)]
    return found
