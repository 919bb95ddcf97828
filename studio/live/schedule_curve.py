"""The schedule of a live setting: a thin curve over the steps, with the run's position."""

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from studio.theme.sizes import scaled
from studio.widgets.slider_scale import to_slider
from td3core.config.piecewise import PiecewiseSchedule
from td3core.config.spec import Spec

_HEIGHT = 20
_DOT = 3.0
_TICKS = 100_000
"""The curve has the scale of the slider above it, only finer."""


class ScheduleCurve(QWidget):
    """Hidden while there is no schedule."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self._spec = spec
        self._schedule: PiecewiseSchedule | None = None
        self._step, self._steps = 0, 1
        self.setFixedHeight(scaled(_HEIGHT))
        self.hide()

    def show_schedule(self, schedule: PiecewiseSchedule | None, step: int, steps: int) -> None:
        """Draw a schedule for a run of ``steps`` that is at ``step``; hide without a schedule."""
        self._schedule, self._step, self._steps = schedule, step, max(steps, 1)
        self.setVisible(schedule is not None)
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
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        palette = self.palette()
        painter.setPen(QPen(palette.color(QPalette.ColorRole.PlaceholderText), 1.2))
        painter.drawPolyline(QPolygonF(self._corners(area)))
        here = self._place(area, self._step, self._schedule.at(self._step, self._steps))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(palette.color(QPalette.ColorRole.Highlight))
        painter.drawEllipse(here, _DOT, _DOT)
        painter.end()

    def _corners(self, area: QRectF) -> list[QPointF]:
        """Return points of the curve: before and after each jump, and enough for bends."""
        assert self._schedule is not None
        steps = {round(i * self._steps / 80) for i in range(81)}
        for step in self._schedule.steps_of_points(self._steps):
            if step < self._steps:
                steps |= {int(step), int(step) + 1}
        return [self._place(area, at, self._schedule.at(at, self._steps)) for at in sorted(steps)]

    def _place(self, area: QRectF, step: int, value: float) -> QPointF:
        x = area.left() + area.width() * min(step / self._steps, 1.0)
        return QPointF(x, area.bottom() - area.height() * self._share(value))

    def _share(self, value: float) -> float:
        """Return the height of a value as a share: the schedule's values use the whole height."""
        assert self._schedule is not None
        heights = [to_slider(self._spec, each, _TICKS) for each in self._schedule.values]
        low, high = min(heights), max(heights)
        if low == high:
            return 0.5
        return (to_slider(self._spec, value, _TICKS) - low) / (high - low)
