"""A small picture of a quantity's course in a healthy run."""

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.formatting import format_count, format_number
from studio.theme.sizes import scaled
from studio.theme.theme import Theme
from studio.widgets.polyline import polyline
from td3core.analysis.healthy import Course
from td3core.text import Text, tr

_HEIGHT = 96
_GAP = 4
_DECADES = 100.0


class CoursePicture(QWidget):
    """The curve, its lowest and highest value, and its last step."""

    def __init__(self, course: Course, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("course_picture")
        self._course, self._theme = course, theme
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(str(caption(course)))
        low, high = map(_three_digits, self._limits)
        self.setAccessibleDescription(tr("Between {low} and {high}", low=low, high=high))

    @property
    def _limits(self) -> tuple[float, float]:
        values = self._course.values
        return float(values.min()), float(values.max())

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return a small size."""
        return QSize(scaled(200), scaled(_HEIGHT))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Draw curve and labels."""
        del event
        low, high = self._limits
        labels = [_three_digits(each) for each in (low, high)]
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics = QFontMetricsF(painter.font())
        left = max(map(metrics.horizontalAdvance, labels)) + 2 * _GAP
        line = metrics.height()
        area = QRectF(self.rect()).adjusted(left, line / 2, -_GAP, -line - _GAP)
        painter.setPen(QColor(self._theme.muted))
        for text, y in zip(labels, (area.bottom(), area.top()), strict=True):
            width = metrics.horizontalAdvance(text)
            painter.drawText(QPointF(area.left() - _GAP - width, y + metrics.ascent() / 2.5), text)
        end = tr("{steps} steps", steps=format_count(int(self._course.env_steps[-1])))
        below = QRectF(area.left(), area.bottom() + _GAP, area.width(), line)
        painter.drawText(below, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, end)
        painter.setPen(QPen(QColor(self._theme.border), 1.0))
        painter.drawLine(area.bottomLeft(), area.topLeft())
        painter.drawLine(area.bottomLeft(), area.bottomRight())
        painter.setPen(QPen(QColor(self._theme.accent), 1.5))
        values = self._course.values
        drawn = np.log10(values) if is_logarithmic(self._course) else values
        painter.drawPolyline(polyline(drawn.tolist(), area))


def _three_digits(value: float) -> str:
    return format_number(float(f"{value:.3g}"))


def is_logarithmic(course: Course) -> bool:
    """Return whether the axis is logarithmic: for values that span two decades or more."""
    low, high = float(course.values.min()), float(course.values.max())
    return low > 0.0 and high > _DECADES * low


def caption(course: Course) -> Text:
    """Return a description of the picture."""
    if is_logarithmic(course):
        return Text("{env}: the first steps of a run of the preset, logarithmic", env=course.env)
    if course.evaluated:
        return Text("{env}: evaluations of the bundled agent's run", env=course.env)
    return Text("{env}: the first steps of a run of the preset", env=course.env)
