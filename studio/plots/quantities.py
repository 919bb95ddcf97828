"""The menu of further quantities for a plot: any recorded quantity."""

from collections.abc import Callable
from functools import partial

from PySide6.QtWidgets import QMenu

from studio.plots.curve import Curve
from studio.plots.layers.curve_layers import CurveLayer


def fill_quantities(menu: QMenu, layer: CurveLayer, changed: Callable[[], object]) -> None:
    """Offer every quantity that the plot does not show by default; added ones are checked.

    Args:
        menu: the menu.
        layer: the curves of the plot.
        changed: called when a quantity was added or removed.
    """
    added = layer.added_columns

    def switch(curve: Curve, on: bool) -> None:
        if on:
            layer.add(curve)
        else:
            layer.remove(curve.column)
        changed()

    for curve in layer.addable():
        if curve.column in layer.shown_columns - added:
            continue
        action = menu.addAction(str(curve.label))
        action.setCheckable(True)
        action.setChecked(curve.column in added)
        action.toggled.connect(partial(switch, curve))
