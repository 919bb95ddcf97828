"""The bar below the picture: position in the episode, and access to any drawn step."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QSlider, QStyle, QStyleOptionSlider

from studio.replay.renderer.protocol import Frame
from studio.widgets.controls import enable
from td3core.text import tr

_SHORTEST = 50


class ScrubBar(QSlider):
    """Follows the picture; a click or a drag requests a step, the arrow keys the next one."""

    wanted = Signal(int)
    """The user requests this step."""
    stepped = Signal(bool)
    """The user requests the next step; True for the previous one."""
    held = Signal(bool)
    """The user has grabbed the bar, or released it."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._shown = self._reached = 0
        """The step of the picture, and the latest one of the episode."""
        self.setRange(0, _SHORTEST)
        self.setEnabled(False)

    def show_frame(self, frame: Frame) -> None:
        """Show the position of a picture in its episode."""
        if not self.isEnabled():
            enable(self, "")
        end = frame.latest if frame.complete else _reach(frame.latest)
        if end != self.maximum():
            self.setMaximum(end)
        self._shown, self._reached = frame.step.number, frame.latest
        if not self.isSliderDown():
            self.setValue(self._shown)

    def clear(self) -> None:
        """Show no episode."""
        self.setValue(0)
        enable(self, tr("choose an agent first"))

    def _at(self, event: QMouseEvent) -> int:
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        style = self.style()
        control, part = QStyle.ComplexControl.CC_Slider, QStyle.SubControl.SC_SliderHandle
        handle = style.subControlRect(control, option, part, self).width()
        along = round(event.position().x()) - handle // 2
        span = self.width() - handle
        return QStyle.sliderValueFromPosition(self.minimum(), self.maximum(), along, span)

    def _point(self, event: QMouseEvent) -> None:
        step = self._at(event)
        # Steps beyond it do not exist yet.
        self.setSliderPosition(min(step, self._reached))
        self.wanted.emit(step)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Grab the bar where it is pressed."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.setSliderDown(True)
            self.held.emit(True)
            self._point(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Request the step under the mouse."""
        if self.isSliderDown():
            self._point(event)

    def mouseReleaseEvent(self, _event: QMouseEvent) -> None:  # noqa: N802
        """Release the bar."""
        if self.isSliderDown():
            self.setSliderDown(False)
            # The requested step may not have been drawn.
            self.setValue(self._shown)
            self.held.emit(False)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Step with the arrow keys, and jump to either end."""
        match event.key():
            case Qt.Key.Key_Left:
                self.stepped.emit(True)
            case Qt.Key.Key_Right:
                self.stepped.emit(False)
            case Qt.Key.Key_Home:
                self.wanted.emit(0)
            case Qt.Key.Key_End:
                self.wanted.emit(self.maximum())
            case _:
                event.ignore()


def _reach(step: int) -> int:
    """Return a range that grows by doubling, so that the handle seldom jumps."""
    length = _SHORTEST
    while length <= step:
        length *= 2
    return length
