"""Writes a plot as a picture, or its points as a table."""

import csv
from collections.abc import Iterable
from pathlib import Path

import pyqtgraph as pg
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgGenerator

from studio.plots.layers.layer import Points

KINDS = ("png", "svg", "csv")

_PRINT_SCALE = 2
"""Pixels of a picture per pixel on screen."""


def with_suffix(path: Path, kind: str) -> Path:
    """Append the suffix of a kind unless present; ``tau_0.005`` has none."""
    return path if path.suffix.lower() == f".{kind}" else path.with_name(f"{path.name}.{kind}")


def write_picture(plot: pg.PlotWidget, path: Path, title: str) -> None:
    """Write a plot, as on screen, as .png or .svg.

    Raises:
        OSError: the file cannot be written.
    """
    # Qt's writers report no error for a file that cannot be written; this raises it.
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
