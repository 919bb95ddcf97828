"""Many lines as one graphics item."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QGuiApplication, QPainter, QPen, QPolygonF

from td3core.arrays import Doubles

_DOT_PX = 5


class DrawnLine(NamedTuple):
    """The points of one line, without NaN, and its look."""

    x: Doubles
    """Shape (n,)."""
    y: Doubles
    """Shape (n,)."""
    colour: QColor
    style: Qt.PenStyle = Qt.PenStyle.SolidLine


def curve_pen(colour: QColor) -> QPen:
    """Return the pen of a curve: one pixel wide, or 1.5 at a device pixel ratio of 2.

    In screen pixels, as Qt does not scale cosmetic pens. Pens wider than one pixel are much slower
    to draw.
    """
    pen: QPen = pg.mkPen(colour, width=max(1.0, 0.75 * screen_ratio()))
    return pen


def _dot_pen(colour: QColor) -> QPen:
    """Return the pen of a curve with a single point so far."""
    pen: QPen = pg.mkPen(colour, width=_DOT_PX * screen_ratio())
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    return pen


def screen_ratio() -> float:
    """Return the number of screen pixels per window pixel."""
    app = QGuiApplication.instance()
    return app.devicePixelRatio() if isinstance(app, QGuiApplication) else 1.0


class LinesItem(pg.GraphicsObject):  # type: ignore[misc]
    """Draws lines with the thin pen of a curve.

    Fifty of pyqtgraph's own items would each handle every change of the view, which costs more than
    drawing them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._logarithmic = False
        self._lines: Sequence[DrawnLine] = ()
        self._made: list[tuple[QPen, QPolygonF]] | None = None
        self._bounds = QRectF()

    @property
    def lines(self) -> Sequence[DrawnLine]:
        """The drawn lines."""
        return self._lines

    def set_lines(self, lines: Sequence[DrawnLine]) -> None:
        """Draw these lines, the last one on top."""
        self._lines, self._made = lines, None
        self.prepareGeometryChange()
        self._bounds = _bounds_of(self._shown())
        self.update()

    def setLogMode(self, x: bool, y: bool) -> None:  # noqa: N802
        """Set whether the y axis is logarithmic; pyqtgraph calls this for every item of a plot."""
        del x
        if y != self._logarithmic:
            self._logarithmic = y
            self.set_lines(self._lines)

    def boundingRect(self) -> QRectF:  # noqa: N802
        """Return the area that the lines cover."""
        return self._bounds

    def paint(self, painter: QPainter, *_: Any) -> None:
        """Draw."""
        if self._made is None:
            self._made = []
            for line in self._shown():
                pen = curve_pen(line.colour) if len(line.x) > 1 else _dot_pen(line.colour)
                if len(line.x) > 1:
                    pen.setStyle(line.style)
                self._made.append((pen, pg.functions.arrayToQPolygonF(line.x, line.y)))
        for pen, polygon in self._made:
            painter.setPen(pen)
            if polygon.size() > 1:
                painter.drawPolyline(polygon)
            else:
                painter.drawPoint(polygon.first())

    def _shown(self) -> list[DrawnLine]:
        """Return the lines in the coordinates of the plot."""
        found = []
        for line in self._lines:
            if self._logarithmic:
                known = line.y > 0
                found.append(line._replace(x=line.x[known], y=np.log10(line.y[known])))
            else:
                found.append(line)
        return [line for line in found if len(line.x)]


def _bounds_of(lines: Sequence[DrawnLine]) -> QRectF:
    if not lines:
        return QRectF()
    left, right = min(each.x[0] for each in lines), max(each.x[-1] for each in lines)
    low, high = min(each.y.min() for each in lines), max(each.y.max() for each in lines)
    area = QRectF(left, low, right - left, high - low)
    # Qt does not paint an item without extent.
    across, up = 0.0 if right > left else 0.5, 0.0 if high > low else 0.5
    return area.adjusted(-across, -up, across, up)
