"""The schedule of a live setting: a thin curve over the steps, with the run's position."""

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QPen, QPolygonF, QTransform
from PySide6.QtWidgets import QWidget

from studio.theme.sizes import scaled
from studio.widgets.slider_scale import to_slider
from td3core.config.piecewise import PiecewiseSchedule
from td3core.config.spec import Spec

_HEIGHT = 20
_DOT = 3.0
_TICKS = 100_000
"""The curve has the scale of the slider above it, only finer."""
_POINTS = 81
_PIXEL = 0.5
"""In pixels: the dot is redrawn once it has moved this far; a run reports far more often."""


class ScheduleCurve(QWidget):
    """Hidden while there is no schedule."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self._spec = spec
        self._schedule: PiecewiseSchedule | None = None
        self._steps = 1
        self._low, self._high = 0, 0
        """Positions of the schedule's lowest and highest value on the scale."""
        self._curve, self._dot = QPolygonF(), QPointF()
        """Both in fractions of the drawn area's width and height, from its lower left corner."""
        self.setFixedHeight(scaled(_HEIGHT))
        self.hide()

    def show_schedule(self, schedule: PiecewiseSchedule | None, step: int, steps: int) -> None:
        """Draw a schedule for a run of ``steps`` that is at ``step``; hide without a schedule."""
        steps = max(steps, 1)
        changed = schedule is not self._schedule or steps != self._steps
        self._schedule, self._steps = schedule, steps
        self.setVisible(schedule is not None)
        if schedule is None:
            return
        if changed:
            heights = [to_slider(self._spec, value, _TICKS) for value in schedule.values]
            self._low, self._high = min(heights), max(heights)
            self._curve = QPolygonF([self._place(schedule, at) for at in self._corners(schedule)])
        dot = self._place(schedule, step)
        moved = dot - self._dot
        if changed or abs(moved.x()) * self.width() + abs(moved.y()) * self.height() >= _PIXEL:
            self._dot = dot
            self.update()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        """Keep the height in proportion to the font."""
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.setFixedHeight(scaled(_HEIGHT))
        super().changeEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draw the curve, and a dot at the step of the run."""
        if self._schedule is None:
            return
        area = QRectF(self.rect()).adjusted(_DOT + 1, _DOT + 1, -_DOT - 1, -_DOT - 1)
        drawn = QTransform.fromTranslate(area.left(), area.bottom())
        drawn.scale(area.width(), -area.height())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        palette = self.palette()
        painter.setPen(QPen(palette.color(QPalette.ColorRole.PlaceholderText), 1.2))
        painter.drawPolyline(drawn.map(self._curve))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(palette.color(QPalette.ColorRole.Highlight))
        painter.drawEllipse(drawn.map(self._dot), _DOT, _DOT)
        painter.end()

    def _corners(self, schedule: PiecewiseSchedule) -> list[int]:
        """Return the steps at which to draw the curve: evenly spaced, and around each jump."""
        steps = {round(i * self._steps / (_POINTS - 1)) for i in range(_POINTS)}
        for step in schedule.steps_of_points(self._steps):
            if step < self._steps:
                steps |= {int(step), int(step) + 1}
        return sorted(steps)

    def _place(self, schedule: PiecewiseSchedule, step: int) -> QPointF:
        """Return the position of a step; the schedule's values use the whole height."""
        x = min(step / self._steps, 1.0)
        if self._low == self._high:
            return QPointF(x, 0.5)
        height = to_slider(self._spec, schedule.at(step, self._steps), _TICKS)
        return QPointF(x, (height - self._low) / (self._high - self._low))
