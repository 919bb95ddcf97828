"""Writes the curves of a figure as a table."""

import csv
import io
from pathlib import Path

from td3core.analysis.figure_data import FigureData
from td3core.system.files import write_atomically

_NAMES = {"Environment steps": "env_steps", "Episodes": "episodes"}


def export(figure: FigureData, target: Path) -> None:
    """Write a row per point: the line's label, x, y, and the ends of its band where it has one."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ("curve", _NAMES.get(figure.x_label, figure.x_label), figure.y_label, "low", "high")
    )
    for line in figure.lines:
        for at in range(len(line.x)):
            ends = ("", "") if line.low is None or line.high is None else (line.low, line.high)
            low, high = (end if isinstance(end, str) else float(end[at]) for end in ends)
            writer.writerow((line.label, float(line.x[at]), float(line.y[at]), low, high))
    write_atomically(target, text.getvalue().encode())
