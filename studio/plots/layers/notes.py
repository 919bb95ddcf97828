"""Marks for journal notes other than live changes: pauses, saves, resumes."""

from collections.abc import Sequence

import pyqtgraph as pg

from studio.plots.layers.layer import Entry
from studio.plots.layers.ticks import TickLayer
from studio.session.model import RunModel
from studio.theme.theme import Theme

_HEIGHT = 0.05
"""Share of the plot's height."""

_MOST = 4
"""Maximum number of notes in one readout; more would hide the curves."""


class NoteLayer(TickLayer):
    """A short line at the bottom for each journal note."""

    def __init__(self, model: RunModel) -> None:
        super().__init__(height=_HEIGHT)
        self._model = model
        # Above the line of a change at the same step, which spans the whole height.
        self._ticks.setZValue(1)

    def steps(self) -> list[float]:
        """Return the step of each note."""
        return [float(note.env_steps) for note in self._model.record.journal.entries]

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self._ticks.setPen(pg.mkPen(theme.muted, width=1))

    def read(self, x: float, reach: float) -> Sequence[Entry]:
        """Return the latest notes within reach of ``x``."""
        notes = self._model.record.journal.entries
        near = [note for note in notes if abs(note.env_steps - x) <= reach]
        return [Entry(text=note.text) for note in near[-_MOST:]]
