"""Writes the curves of a figure as a table."""

from collections.abc import Iterator
from pathlib import Path

from td3core.analysis.figure_data import EPISODES, STEPS, FigureData
from td3core.system.files import write_csv
from td3core.text import Text

_NAMES = {STEPS: "env_steps", EPISODES: "episodes"}
"""Column names, independent of the language, since programs read them."""


def export(figure: FigureData, target: Path) -> None:
    """Write a row per point: the line's label, x, y, and the ends of its band where it has one."""
    head = ("curve", _head(figure.x_label), _head(figure.y_label), "low", "high")
    write_csv(target, head, _rows(figure))


def _rows(figure: FigureData) -> Iterator[tuple[object, ...]]:
    for line in figure.lines:
        for at in range(len(line.x)):
            ends = ("", "") if line.low is None or line.high is None else (line.low, line.high)
            low, high = (end if isinstance(end, str) else float(end[at]) for end in ends)
            yield (line.label, float(line.x[at]), float(line.y[at]), low, high)


def _head(label: Text | str) -> str:
    if not isinstance(label, Text):
        return label
    return _NAMES.get(label, label.english)
