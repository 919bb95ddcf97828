"""Writes the points of a plot as a table."""

import csv
from collections.abc import Iterable
from pathlib import Path

from studio.plots.layers.layer import Points


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
