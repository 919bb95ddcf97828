"""Writes a plot as a picture, or its points as a table."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyqtgraph as pg
from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QImage, QPainter
from PySide6.QtSvg import QSvgGenerator

from studio.plots.layers.layer import Entry, Points
from studio.theme.theme import Theme

KINDS = ("png", "svg", "csv")

_PRINT_SCALE = 2
"""Pixels of a picture per pixel on screen."""
_CAPTION = 46
"""Height of title and legend in a picture."""
_MARGIN = 10


def with_suffix(path: Path, kind: str) -> Path:
    """Append the suffix of a kind unless present; ``tau_0.005`` has none."""
    return path if path.suffix.lower() == f".{kind}" else path.with_name(f"{path.name}.{kind}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caption:
    """What a picture says above the plot."""

    title: str
    """Quantity, environment and run."""
    legend: Sequence[Entry]
    theme: Theme


def write_picture(plot: pg.PlotWidget, path: Path, caption: Caption) -> None:
    """Write a plot, as on screen and with a caption, as .png or .svg.

    Raises:
        OSError: the file cannot be written.
    """
    # Qt's writers report no error for a file that cannot be written; this raises it.
    path.touch()
    size = plot.size() + QSize(0, _CAPTION)
    target: QSvgGenerator | QImage
    if path.suffix.lower() == ".svg":
        target = QSvgGenerator()
        target.setFileName(str(path))
        target.setSize(size)
        target.setViewBox(QRect(QPoint(), size))
        target.setTitle(caption.title)
    else:
        target = QImage(_PRINT_SCALE * size, QImage.Format.Format_RGB32)
        target.setDevicePixelRatio(_PRINT_SCALE)
    painter = QPainter(target)
    painter.fillRect(QRect(QPoint(), size), QColor(caption.theme.panel))
    _draw_caption(painter, caption, size.width())
    plot.render(painter, QRectF(0, _CAPTION, plot.width(), plot.height()))
    painter.end()
    if isinstance(target, QImage) and not target.save(str(path)):
        raise OSError(0, "the picture could not be written")


def _draw_caption(painter: QPainter, caption: Caption, width: int) -> None:
    """Draw the title, and the legend in the colours of the curves below it."""
    theme, room = caption.theme, width - 2 * _MARGIN
    font = QFont(painter.font())
    font.setPixelSize(13)
    font.setBold(True)
    painter.setFont(font)
    painter.setPen(QColor(theme.text))
    mode = Qt.TextElideMode.ElideRight
    painter.drawText(_MARGIN, 18, QFontMetrics(font).elidedText(caption.title, mode, room))
    font.setPixelSize(11)
    font.setBold(False)
    painter.setFont(font)
    left, metrics = _MARGIN, QFontMetrics(font)
    for entry in caption.legend:
        if entry.hidden:
            continue
        mark = f"{entry.mark} " if entry.colour else ""
        colour = entry.colour or "muted"
        painter.setPen(QColor(colour if colour[0] == "#" else getattr(theme, colour)))
        painter.drawText(left, 36, mark)
        left += metrics.horizontalAdvance(mark)
        painter.setPen(QColor(theme.muted))
        painter.drawText(left, 36, entry.text)
        left += metrics.horizontalAdvance(entry.text) + 2 * _MARGIN


def write_numbers(curves: Iterable[Points], path: Path) -> None:
    """Write every point of every curve as .csv.

    A series longer than its capacity holds means; the run's own tables hold every row.

    Raises:
        OSError: the file cannot be written.
    """
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("curve", "env_steps", "value"))
        for label, steps, values in curves:
            pairs = zip(steps, values, strict=True)
            writer.writerows((label, int(step), float(value)) for step, value in pairs)
