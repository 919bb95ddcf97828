"""Reading and zooming a plot with the keyboard. Readings are announced to screen readers."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QObject, QPointF, Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QKeyEvent

from studio.formatting import format_number
from studio.plots.canvas import PlotCanvas
from studio.plots.layers.layer import Layer, Points
from studio.plots.x_axis import StepToX
from studio.session.series import nearest
from studio.theme.theme import Theme
from td3core.text import tr

_PRESSES = 200
"""Presses of an arrow key from one end of the view to the other: a long run has thousands of
points."""
_FAST = 10
_ZOOM = 0.8
_MARK_PX = 9
_ABOVE = 20


class PlotToRead(Protocol):
    """The part of a plot that the keys need."""

    plot: PlotCanvas
    layers: tuple[Layer, ...]
    step_map: StepToX
    heading: Callable[[float], str]

    @property
    def readout(self) -> str:
        """Text of the readout."""

    def height_of(self, value: float) -> float:
        """Return the position of a value on the y axis."""


class PlotKeys(QObject):
    """Moves a mark along the curves of one plot, and signals readings and requests."""

    read = Signal(object)
    """The point of the plot under the mark, a QPointF; None once the mark is removed."""
    view_moved = Signal()
    """The user is about to move or zoom the plot."""
    range_wanted = Signal(float, float)
    """Requested range of the x axis."""
    everything_wanted = Signal()
    maximise_wanted = Signal()

    def __init__(self, card: PlotToRead) -> None:
        super().__init__(card.plot)
        self._card, self._plot = card, card.plot
        self._label = ""
        self._step: float | None = None
        """Step of the mark; None without a mark."""
        self._mark = pg.ScatterPlotItem(size=_MARK_PX, pxMode=True)
        self._mark.setZValue(_ABOVE)
        self._mark.hide()
        self._plot.addItem(self._mark, ignoreBounds=True)
        self._plot.installEventFilter(self)
        key = Qt.Key
        self._actions: dict[int, Callable[[bool], None]] = {
            key.Key_Left: lambda fast: self._move(-_FAST if fast else -1),
            key.Key_Right: lambda fast: self._move(_FAST if fast else 1),
            key.Key_Up: lambda _: self._switch(-1),
            key.Key_Down: lambda _: self._switch(1),
            key.Key_Plus: lambda along_y: self._zoom(_ZOOM, along_y=along_y),
            key.Key_Equal: lambda along_y: self._zoom(_ZOOM, along_y=along_y),
            key.Key_Minus: lambda along_y: self._zoom(1 / _ZOOM, along_y=along_y),
            key.Key_0: lambda _: self._show_everything(),
            key.Key_Home: lambda _: self._show_everything(),
            key.Key_Return: lambda _: self.maximise_wanted.emit(),
            key.Key_Enter: lambda _: self.maximise_wanted.emit(),
        }

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self._mark.setPen(pg.mkPen(theme.text, width=2))
        self._mark.setBrush(pg.mkBrush(theme.panel))

    def clear(self) -> None:
        """Remove the mark."""
        if self._step is not None:
            self._step = None
            self._mark.hide()
            self.read.emit(None)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Handle the keys of the plot, and remove the mark when it loses the focus."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            modifier = Qt.KeyboardModifier
            action = self._actions.get(event.key())
            if action is not None and not event.modifiers() & modifier.AltModifier:
                action(bool(event.modifiers() & modifier.ControlModifier))
                return True
        elif event.type() == QEvent.Type.FocusOut:
            self.clear()
        return super().eventFilter(watched, event)

    # Reading ------------------------------------------------------------------------------------

    def _curves(self) -> list[Points]:
        layers = () if self._card.step_map.missing else self._card.layers
        shown = (points for layer in layers for points in layer.readable())
        return [points for points in shown if len(points.steps)]

    def _move(self, by: int) -> None:
        """Move along the curve; the first press moves to the last point in view."""
        curves = self._curves()
        if not curves:
            self._say(tr("There is nothing to read yet."))
            return
        curve = next((each for each in curves if each.label == self._label), curves[0])
        places = self._card.step_map.places_of(curve.steps)
        low, high = self._plot.getViewBox().viewRange()[0]
        first, last = np.searchsorted(places, (low, high), "left")
        if self._step is None:
            at = int(np.searchsorted(places, high, "right")) - 1
        else:
            stride = max(int(last - first) // _PRESSES, 1)
            at = nearest(curve.steps, self._step) + by * stride
        self._read(curve, min(max(at, 0), len(curve.steps) - 1))

    def _switch(self, by: int) -> None:
        """Read another curve at the mark."""
        curves = self._curves()
        if self._step is None or not curves:
            self._move(0)
            return
        labels = [each.label for each in curves]
        at = labels.index(self._label) + by if self._label in labels else 0
        curve = curves[at % len(curves)]
        self._read(curve, nearest(curve.steps, self._step))

    def _read(self, curve: Points, at: int) -> None:
        self._label, self._step = curve.label, float(curve.steps[at])
        place = float(self._card.step_map.places_of(self._step))
        value = float(curve.values[at])
        self._bring_into_view(place)
        self._mark.setData([place], [self._card.height_of(value)])
        self._mark.show()
        self.read.emit(QPointF(place, value))
        # The curve being read comes first; the readout also has the others.
        read = f"{curve.label} {format_number(value)}"
        _, *others = self._card.readout.splitlines() or [""]
        rest = [text for each in others if (text := each.lstrip("●■ \xa0")) != read]
        self._say(", ".join((f"{self._card.heading(place)}: {read}", *rest)))

    def _bring_into_view(self, place: float) -> None:
        low, high = self._plot.getViewBox().viewRange()[0]
        if not low <= place <= high:
            middle = place - (high - low) / 2
            self.view_moved.emit()
            self.range_wanted.emit(middle, middle + high - low)

    # Zooming ------------------------------------------------------------------------------------

    def _zoom(self, factor: float, *, along_y: bool) -> None:
        box = self._plot.getViewBox()
        self.view_moved.emit()
        if along_y:
            box.scaleBy(y=factor)
        else:
            places = box.viewRange()[0]
            middle = sum(places) / 2
            if self._step is not None:
                middle = float(self._card.step_map.places_of(self._step))
            box.scaleBy(x=factor, center=(middle, 0.0))
        low, high = box.viewRange()[1 if along_y else 0]
        name = format_number if along_y else self._card.heading
        first = name(max(low, 0.0) if not along_y else low)
        self._say(tr("From {first} to {last}", first=first, last=name(high)))

    def _show_everything(self) -> None:
        self.everything_wanted.emit()
        self._say(tr("Everything is shown."))

    # Announcing ---------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        """Make a screen reader speak; a later query returns the same text."""
        self._plot.setAccessibleDescription(text)
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self._plot, text))
