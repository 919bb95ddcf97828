"""Writes a plot as a picture, or the numbers behind it."""

import csv
from collections.abc import Sequence
from pathlib import Path

import pyqtgraph as pg
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgGenerator

from studio.session.series import Series

KINDS = ("png", "svg", "csv")

_PRINT_SCALE = 2
"""Pictures are written at twice the size on screen."""


def with_suffix(path: Path, kind: str) -> Path:
    """Add the ending of a kind unless it is there: ``tau_0.005`` is a name without one."""
    return path if path.suffix.lower() == f".{kind}" else path.with_name(f"{path.name}.{kind}")


def write_picture(plot: pg.PlotWidget, path: Path, title: str) -> None:
    """Write what a plot shows as .png or .svg.

    Raises:
        OSError: the file cannot be written.
    """
    # Qt's writers keep silent about a file that cannot be written.
    path.touch()
    target: QSvgGenerator | QImage
    if path.suffix.lower() == ".svg":
        target = QSvgGenerator()
        target.setFileName(str(path))
        target.setSize(plot.size())
        target.setViewBox(plot.rect())
        target.setTitle(title)
    else:
        target = QImage(_PRINT_SCALE * plot.size(), QImage.Format.Format_RGB32)
        target.setDevicePixelRatio(_PRINT_SCALE)
    painter = QPainter(target)
    plot.render(painter, QRectF(plot.rect()))
    painter.end()
    if isinstance(target, QImage) and not target.save(str(path)):
        raise OSError(0, "the picture could not be written")


def write_numbers(curves: Sequence[tuple[str, str, Series]], path: Path) -> None:
    """Write every point of every curve (label, column, series), not the thinned ones on screen.

    Of a series longer than its capacity these are means; the run's own tables hold every row.

    Raises:
        OSError: the file cannot be written.
    """
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("curve", "env_steps", "value"))
        for label, column, series in curves:
            pairs = zip(series.column("env_steps"), series.column(column), strict=True)
            writer.writerows((label, int(step), float(value)) for step, value in pairs)
