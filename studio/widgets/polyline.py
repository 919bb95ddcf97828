"""The line through a few values: in lists, hints and other places too small for a plot."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF


def polyline(
    values: Sequence[float], area: QRectF, limits: tuple[float, float] | None = None
) -> QPolygonF:
    """Return the line through values from the left of an area to its right.

    Bottom and top of the area are the ``limits``, by default the lowest and the highest value.
    """
    low, high = limits or (min(values), max(values))
    height = (high - low) or 1.0
    step = area.width() / max(len(values) - 1, 1)
    return QPolygonF(
        [
            QPointF(area.left() + at * step, area.bottom() - (value - low) / height * area.height())
            for at, value in enumerate(values)
        ]
    )


def paint_sparkline(
    painter: QPainter, values: Sequence[float], area: QRectF, colour: QColor
) -> None:
    """Draw the line through values in a cell; nothing for fewer than two."""
    if len(values) >= 2:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colour, 1.2))
        painter.drawPolyline(polyline(values, area))
        painter.restore()
