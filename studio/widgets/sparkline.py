"""A curve so small that it fits into a row."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPolygonF


def polyline(values: Sequence[float], area: QRectF) -> QPolygonF:
    """Return the line through values in an area, from its lowest to its highest."""
    low, high = min(values), max(values)
    height = (high - low) or 1.0
    step = area.width() / max(len(values) - 1, 1)
    return QPolygonF(
        [
            QPointF(area.left() + at * step, area.bottom() - (value - low) / height * area.height())
            for at, value in enumerate(values)
        ]
    )
