"""The return from which an environment counts as solved."""

import math
from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from studio.formatting import format_number, format_share
from studio.plots.canvas import PlotCanvas
from studio.plots.layers.layer import Entry, Layer, LayerView
from studio.session.model import RunModel
from studio.session.series import nearest_within
from studio.theme.theme import Theme
from td3core.arrays import Doubles
from td3core.text import tr


class ThresholdLayer(Layer):
    """A dotted, labelled line at the threshold; hidden for an environment without one."""

    def __init__(self, model: RunModel) -> None:
        self._model = model
        # The label is at the left, away from the newest values.
        options = {"position": 0.01, "anchors": [(0, 0), (0, 1)], "movable": False}
        self._line = pg.InfiniteLine(angle=0, movable=False, label="", labelOpts=options)
        self._line.setZValue(-10)
        self._line.hide()

    def attach(self, plot: PlotCanvas) -> None:
        """Add the line to a plot."""
        plot.addItem(self._line, ignoreBounds=True)
        self._box = plot.getViewBox()
        self._box.sigYRangeChanged.connect(self._show_label)

    def draw(self, view: LayerView) -> Sequence[Doubles]:
        """Draw the line, without effect on the range of the y axis.

        A threshold far above the returns would squeeze the curves to the bottom.
        """
        threshold = self._model.record.reward_threshold
        if view.logarithmic and threshold is not None and threshold <= 0:
            threshold = None
        if threshold is not None:
            self._line.setValue(math.log10(threshold) if view.logarithmic else threshold)
            label = tr("solved at {threshold}", threshold=format_number(threshold))
            self._line.label.setFormat(label)
        self._line.setVisible(threshold is not None)
        self._show_label()
        return ()

    def _show_label(self, *_: object) -> None:
        """Show the label only with the line in view: else part of it would remain at the edge."""
        low, high = self._box.viewRange()[1]
        self._line.label.setVisible(low <= self._line.value() <= high)

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self._line.setPen(pg.mkPen(theme.muted, width=1, style=Qt.PenStyle.DotLine))
        self._line.label.setColor(theme.muted)
        self._line.label.setFont(QApplication.font())

    def read(self, x: float, reach: float) -> Sequence[Entry]:
        """Return how many episodes of the evaluation nearest to ``x`` reached the threshold."""
        record = self._model.record
        threshold, evaluations = record.reward_threshold, record.curves.evaluations
        row = nearest_within(evaluations.column("env_steps"), x, reach)
        if threshold is None or row is None:
            return ()
        success = float(evaluations.column("success")[row])
        if math.isnan(success):
            return ()
        text = tr(
            "{share} of its episodes reach {threshold}",
            share=format_share(success),
            threshold=format_number(threshold),
        )
        return [Entry(text=text)]
