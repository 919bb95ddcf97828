"""A small chart that is redrawn with every picture.

Painted directly: a pyqtgraph plot takes a millisecond for each move of its cursor, and several are
shown with up to 60 pictures a second.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.formatting import format_tick
from studio.instruments.picture_cache import PictureCache
from studio.session.series import thinned
from studio.theme.sizes import scaled, sized_font
from studio.theme.theme import Theme
from td3core.arrays import Doubles
from td3core.text import Text

# With the usual font:
_FONT_PX = 11
_ENTRY_PX = 104
"""Width of a name with its value."""
_TICK_PX = 38
"""Width of the numbers on the y axis."""
_GAP_PX = 4
_KEY_PX = 14
"""Width of the line in front of a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One curve of a chart."""

    name: Text
    colour: str
    """Name of a colour of the theme: the same as in the plots of this quantity."""
    style: Qt.PenStyle = Qt.PenStyle.SolidLine
    """Distinguishes the lines of a chart without colours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subplot:
    """Curves with a common y axis. A chart stacks its subplots."""

    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Contents of a chart."""

    x: Doubles
    """Increasing, shape (n,)."""
    ys: Sequence[Doubles | None]
    """The heights of each line, (n,); None for an unknown line."""
    readings: Sequence[str]
    """Text after the name of each line."""
    subject: Hashable
    """Subject of the curves, such as an episode."""
    version: Hashable = 0
    """Changes whenever the curves do."""
    cursor: float | None = None
    """Position of the vertical line."""


class Chart(QWidget):
    """Lines over a common x axis, named in their colours, with values at the cursor."""

    def __init__(self, subplots: Sequence[Subplot]) -> None:
        super().__init__()
        self._subplots = tuple(subplots)
        self._content: Content | None = None
        self._theme: Theme | None = None
        self._cache = PictureCache(self)
        self._drawn = (0.0, 1.0)
        """The ends of the x axis in the cached picture."""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return a size at which the curves can be read."""
        return QSize(scaled(200), scaled(80) * len(self._subplots))

    @property
    def content(self) -> Content | None:
        """The displayed contents."""
        return self._content

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._theme = theme
        self.setFont(sized_font(_FONT_PX))
        self.setMinimumSize(scaled(90), scaled(44) * len(self._subplots))
        self._cache.forget()
        self.update()

    def show_content(self, content: Content | None) -> None:
        """Show curves, or none."""
        self._content = content
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draw the cached curves, and the cursor and values, which change with every picture."""
        if self._theme is None:
            return
        content = self._content
        painter = QPainter(self)
        subplots = self._painters(painter, self._theme)
        subject, version = (content.subject, content.version) if content else (None, None)
        painter.drawPixmap(0, 0, self._cache.picture(subject, version, self._draw_curves))
        first = 0
        for subplot, each in subplots:
            last = first + len(subplot.lines)
            readings = content.readings[first:last] if content else [""] * len(subplot.lines)
            each.draw_legend(subplot.lines, readings)
            first = last
            if content is not None and content.cursor is not None and len(content.x):
                each.draw_cursor(content.cursor, *self._drawn)
        painter.end()

    def _draw_curves(self, painter: QPainter) -> None:
        assert self._theme is not None
        painter.setFont(self.font())
        painter.fillRect(self.rect(), QColor(self._theme.panel))
        content = self._content
        if content is not None and len(content.x):
            self._drawn = float(content.x[0]), float(content.x[-1])
        first = 0
        for subplot, each in self._painters(painter, self._theme):
            each.draw_curves(subplot, content, first)
            first += len(subplot.lines)

    def _painters(self, painter: QPainter, theme: Theme) -> list[tuple[Subplot, "_SubplotPainter"]]:
        height = self.height() / len(self._subplots)
        areas = (QRectF(0.0, i * height, self.width(), height) for i in range(len(self._subplots)))
        return [
            (subplot, _SubplotPainter(painter, theme, area, len(subplot.lines)))
            for subplot, area in zip(self._subplots, areas, strict=True)
        ]


class _SubplotPainter:
    """Draws one subplot into its area."""

    def __init__(self, painter: QPainter, theme: Theme, area: QRectF, lines: int) -> None:
        self._painter, self._theme = painter, theme
        self._metrics = QFontMetricsF(painter.font())
        self._top, self._left = area.top(), area.left() + _GAP_PX
        # Names that do not fit side by side go one below the other.
        self._rows = lines if lines * scaled(_ENTRY_PX) > area.width() else 1
        heading = self._rows * self._metrics.height() + 2
        self._plot = area.adjusted(scaled(_TICK_PX), heading, -_GAP_PX, -_GAP_PX)

    def draw_curves(self, subplot: Subplot, content: Content | None, first: int) -> None:
        """Draw the subplot whose lines begin with the content's line ``first``."""
        self._painter.fillRect(self._plot, QColor(self._theme.window))
        if content is None or not len(content.x):
            return
        ys = content.ys[first : first + len(subplot.lines)]
        finite = [y[np.isfinite(y)] for y in ys if y is not None]
        finite = [y for y in finite if len(y)]
        if not finite:
            return
        low = float(min(y.min() for y in finite))
        high = float(max(y.max() for y in finite))
        self._draw_scale(low, high)
        for line, y in zip(subplot.lines, ys, strict=True):
            if y is not None:
                self._draw_line(line, content.x, y, (low, high))

    def draw_legend(self, lines: Sequence[Line], readings: Sequence[str]) -> None:
        """Name the lines in their colours, with their values at the cursor."""
        x, baseline = self._left, self._top + self._metrics.ascent() + 1
        for line, reading in zip(lines, readings, strict=True):
            self._painter.setPen(self._pen(line))
            middle = baseline - self._metrics.xHeight() / 2
            self._painter.drawLine(QPointF(x, middle), QPointF(x + _KEY_PX, middle))
            x += _KEY_PX + _GAP_PX
            for text, colour in ((str(line.name), self._theme.muted), (reading, self._theme.text)):
                self._painter.setPen(QColor(colour))
                self._painter.drawText(QPointF(x, baseline), text)
                x += self._metrics.horizontalAdvance(text) + _GAP_PX
            x += 2 * _GAP_PX
            if self._rows > 1:
                x, baseline = self._left, baseline + self._metrics.height()

    def draw_cursor(self, cursor: float, start: float, end: float) -> None:
        """Draw the vertical line; ``start`` and ``end`` are the ends of the x axis."""
        # The newest step may not be part of the cached picture yet.
        share = min(max((cursor - start) / ((end - start) or 1.0), 0.0), 1.0)
        x = self._plot.left() + share * self._plot.width()
        self._painter.setPen(QColor(self._theme.text))
        self._painter.drawLine(QPointF(x, self._plot.top()), QPointF(x, self._plot.bottom()))

    def _draw_scale(self, low: float, high: float) -> None:
        painter, plot = self._painter, self._plot
        if low < 0.0 < high:
            painter.setPen(QColor(self._theme.grid))
            zero = plot.bottom() - plot.height() * -low / (high - low)
            painter.drawLine(QPointF(plot.left(), zero), QPointF(plot.right(), zero))
        painter.setPen(QColor(self._theme.muted))
        ends = [(high, Qt.AlignmentFlag.AlignTop), (low, Qt.AlignmentFlag.AlignBottom)]
        area = QRectF(0.0, plot.top(), plot.left() - 3, plot.height())
        for value, place in ends if high > low else ends[:1]:
            painter.drawText(area, Qt.AlignmentFlag.AlignRight | place, format_tick(value))

    def _draw_line(self, line: Line, x: Doubles, y: Doubles, heights: tuple[float, float]) -> None:
        low, high = heights
        start, span = float(x[0]), float(x[-1] - x[0]) or 1.0
        x, y = thinned(x, y, 2 * int(self._plot.width()))
        good = np.isfinite(y)
        x, y = x[good], y[good]
        # A constant is drawn across the middle.
        share = (y - low) / (high - low) if high > low else np.full(len(y), 0.5)
        across = self._plot.left() + (x - start) / span * self._plot.width()
        down = self._plot.bottom() - share * self._plot.height()
        self._painter.setPen(self._pen(line))
        if len(x) == 1:
            self._painter.drawEllipse(QPointF(across[0], down[0]), 1.5, 1.5)
        else:
            self._painter.drawPolyline(polygon(across, down))

    def _pen(self, line: Line) -> QPen:
        # Wider lines are a hundred times as slow.
        pen = QPen(QColor(getattr(self._theme, line.colour)), 1)
        pen.setStyle(line.style)
        return pen


def polygon(x: NDArray[np.floating[Any]], y: NDArray[np.floating[Any]]) -> QPolygonF:
    """Return points for Qt to draw, without a Python object for each."""
    made: QPolygonF = pg.functions.create_qpolygonf(len(x))
    points = pg.functions.ndarray_from_qpolygonf(made)
    points[:, 0], points[:, 1] = x, y
    return made
