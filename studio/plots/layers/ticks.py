"""Vertical lines at some steps of a run."""

from abc import abstractmethod
from collections.abc import Sequence

import pyqtgraph as pg

from studio.plots.canvas import PlotCanvas
from studio.plots.layers.layer import Layer, LayerView
from td3core.arrays import Doubles


class TickLayer(Layer):
    """Lines of the same look, from the bottom of the plot up to a share of its height."""

    def __init__(self, height: float) -> None:
        """Take the share of the plot's height, 0 to 1."""
        self._ticks = pg.VTickGroup(yrange=(0.0, height))

    @abstractmethod
    def steps(self) -> list[float]:
        """Return the steps to mark."""

    def attach(self, plot: PlotCanvas) -> None:
        """Add the lines to a plot."""
        plot.addItem(self._ticks, ignoreBounds=True)

    def draw(self, view: LayerView) -> Sequence[Doubles]:
        """Mark the steps, without effect on the range of the y axis."""
        steps = [float(view.step_map.places_of(step)) for step in self.steps()]
        if self._ticks.xvals != steps:
            self._ticks.setXVals(steps)
        return ()
