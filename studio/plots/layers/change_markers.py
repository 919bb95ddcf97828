"""Markers of live changes."""

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import Qt

from studio.plots.layers.layer import Entry
from studio.plots.layers.ticks import TickLayer
from studio.session.model import RunModel
from studio.theme.theme import Theme


class ChangeMarkerLayer(TickLayer):
    """Dashed lines where settings were changed while the run was learning."""

    def __init__(self, model: RunModel) -> None:
        super().__init__(height=1.0)
        self._model = model

    def steps(self) -> list[float]:
        """Return the step of each change."""
        return [float(marker.env_steps) for marker in self._model.record.journal.markers]

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self._ticks.setPen(pg.mkPen(theme.marker, width=1, style=Qt.PenStyle.DashLine))

    def read(self, x: float, reach: float) -> Sequence[Entry]:
        """Return the change nearest to ``x``, if one is within reach."""
        markers = self._model.record.journal.markers
        near = [each for each in markers if abs(each.env_steps - x) <= reach]
        if not near:
            return ()
        nearest = min(near, key=lambda each: abs(each.env_steps - x))
        return [Entry(text=nearest.text, colour="marker", mark="┊")]
