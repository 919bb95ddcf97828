"""Writes the curves of a figure as a table."""

import csv
import io
from pathlib import Path

from td3core.analysis.figure_data import EPISODES, STEPS, FigureData
from td3core.system.files import write_atomically
from td3core.text import Text

_NAMES = {STEPS: "env_steps", EPISODES: "episodes"}
"""Programs read the table: its head does not depend on the language."""


def export(figure: FigureData, target: Path) -> None:
    """Write a row per point: the line's label, x, y, and the ends of its band where it has one."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("curve", _head(figure.x_label), _head(figure.y_label), "low", "high"))
    for line in figure.lines:
        for at in range(len(line.x)):
            ends = ("", "") if line.low is None or line.high is None else (line.low, line.high)
            low, high = (end if isinstance(end, str) else float(end[at]) for end in ends)
            writer.writerow((line.label, float(line.x[at]), float(line.y[at]), low, high))
    write_atomically(target, text.getvalue().encode())


def _head(label: Text | str) -> str:
    if not isinstance(label, Text):
        return label
    return _NAMES.get(label, label.english)
