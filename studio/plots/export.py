"""Writes the points of a plot as a table."""

from collections.abc import Iterable
from pathlib import Path

from studio.plots.layers.layer import Points
from td3core.system.files import write_csv


def write_numbers(curves: Iterable[Points], path: Path) -> None:
    """Write every point of every curve as .csv.

    A series longer than its capacity holds means; only the run's own tables hold every row.

    Raises:
        OSError: the file cannot be written.
    """
    rows = (
        (label, int(step), float(value))
        for label, steps, values in curves
        for step, value in zip(steps, values, strict=True)
    )
    write_csv(path, ("curve", "env_steps", "value"), rows)
