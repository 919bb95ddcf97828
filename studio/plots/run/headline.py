"""The numbers above the plots: last and best evaluation, speed and time left."""

import math

import numpy as np
from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QFontMetricsF, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from studio.formatting import format_count, format_duration, format_return
from studio.session.model import RunModel
from studio.widgets.controls import set_styled
from studio.widgets.labels import SteadyLabels
from td3core.protocol.events import Phase
from td3core.text import Text, tr

_NONE = "–"
_GAP, _MARGIN = 2, 5
"""Pixels."""
_WIDE, _WIDE_MARGIN = 420, 10
"""From this width in pixels, the numbers begin where the titles of the plots do."""
_CAPTIONS = {
    "last": (Text("Last evaluation"), Text("Last eval")),
    "best": (Text("Best evaluation"), Text("Best eval")),
    "speed": (Text("Steps/s"), Text("Steps/s")),
    "left": (Text("Time left"), Text("Time left")),
}
"""Captions of the numbers, full and short."""
_LONG_RETURN, _LONG_SPEED, _LONG_TIME = -10_000.0, 10_000, 36_000.0
"""The longest usual values, for which space is reserved, so that no number moves when it changes.
"""


class Headline(QWidget):
    """Four numbers at fixed positions."""

    def __init__(self, model: RunModel) -> None:
        super().__init__()
        self.setObjectName("headline")
        self._model = model
        self._cells = layout = QHBoxLayout(self)
        layout.setSpacing(_GAP)
        self._values: dict[str, QLabel] = {}
        self._places: dict[str, SteadyLabels] = {}
        self._captions: dict[str, QLabel] = {}
        self._narrow = False
        for name, (about, _) in _CAPTIONS.items():
            layout.addWidget(self._make_cell(name, str(about)))
        for changed in (
            model.run_started,
            model.run_opened,
            model.run_ended,
            model.status_changed,
            model.evaluated,
        ):
            changed.connect(self.refresh)
        self.refresh()

    def _make_cell(self, name: str, about: str) -> QWidget:
        cell, value, caption = QWidget(), QLabel(_NONE), QLabel(about)
        value.setObjectName(f"headline_{name}")
        value.setAccessibleName(about)
        value.setProperty("role", "figure")
        caption.setToolTip(about)
        caption.setProperty("role", "caption")
        for label in (value, caption):
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            label.setTextFormat(Qt.TextFormat.PlainText)
        layout = QVBoxLayout(cell)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        place = self._places[name] = SteadyLabels({value: 1})
        layout.addWidget(place)
        layout.addWidget(caption)
        self._values[name] = value
        self._captions[name] = caption
        return cell

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Use a smaller font if space is short: a truncated number is a different number."""
        super().resizeEvent(event)
        self._write(narrow=False)
        margin = _MARGIN if event.size().width() < _WIDE else _WIDE_MARGIN
        self._cells.setContentsMargins(margin, 6, margin, 2)
        room = event.size().width() - 2 * margin - _GAP * (len(self._values) - 1)
        if sum(self._widths()) > room:
            self._write(narrow=True)
        for place, width in enumerate(self._widths()):
            self._cells.setStretch(place, width)
        self._cells.activate()

    def _widths(self) -> list[int]:
        """Return the largest width of each number."""
        longest = {
            "last": format_return(_LONG_RETURN),
            "best": format_return(_LONG_RETURN),
            "speed": format_count(_LONG_SPEED),
            "left": format_duration(_LONG_TIME),
        }
        return [
            max(
                self._captions[name].sizeHint().width(),
                math.ceil(QFontMetricsF(value.font()).horizontalAdvance(longest[name])),
            )
            for name, value in self._values.items()
        ]

    def _write(self, *, narrow: bool) -> None:
        if narrow == self._narrow:
            return
        self._narrow = narrow
        for value in self._values.values():
            set_styled(value, "role", "figure_narrow" if narrow else "figure")
        for place in self._places.values():
            place.updateGeometry()
        for name, caption in self._captions.items():
            caption.setText(str(_CAPTIONS[name][narrow]))

    @Slot()
    def refresh(self) -> None:
        """Show the numbers of the current run."""
        model, means = self._model, self._model.record.curves.evaluations.column("mean")
        means = means[np.isfinite(means)]
        now, running = model.record.progress, self._runs
        texts = {
            "last": format_return(float(means[-1])) if len(means) else "",
            "best": format_return(float(means.max())) if len(means) else "",
            "speed": format_count(now.steps_per_s) if now is not None and running else "",
            "left": self._time_left(),
        }
        for name, text in texts.items():
            self._values[name].setText(text or _NONE)

    @property
    def _runs(self) -> bool:
        """Whether the current run is in progress and not paused."""
        now = self._model.record.progress
        paused = now is not None and now.phase is Phase.PAUSED
        return self._model.in_progress and not paused

    def _time_left(self) -> str:
        model = self._model
        if model.preparing:
            return tr("preparing")
        if not self._runs:
            return ""
        left = model.record.seconds_left
        return tr("estimating") if left is None else format_duration(left)
