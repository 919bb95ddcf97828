"""Quick ways to read the growing tables of a run: their last row, or columns of a million."""

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_TAIL_BYTES = 4096
_BLOCK_BYTES = 128 * 1024
"""Text parsed at once: about ten milliseconds, during which no other thread gets a turn."""


def read_last_row(path: Path) -> dict[str, str]:
    """Return the last whole row of a table, reading its ends only; empty if there is none."""
    try:
        with path.open("rb") as file:
            names = file.readline(_TAIL_BYTES)
            start = max(file.seek(0, 2) - _TAIL_BYTES, len(names))
            file.seek(start)
            lines = file.read().split(b"\n")[:-1]
    except OSError:
        return {}
    columns = _cells(names)
    for line in reversed(lines):
        cells = _cells(line)
        if cells and len(cells) == len(columns):
            return dict(zip(columns, cells, strict=True))
    return {}


def number(row: Mapping[str, str], name: str) -> float:
    """Return a count or a duration of a row; 0 where there is none that makes sense."""
    try:
        value = float(row[name])
    except (KeyError, ValueError):
        return 0.0
    return value if math.isfinite(value) and value > 0 else 0.0


def _cells(line: bytes) -> list[str]:
    text = line.decode("utf-8", "replace").strip("\r\n")
    return text.split(",") if text else []


def read_numbers(
    path: Path, columns: Sequence[str], stopped: Callable[[], bool] = lambda: False
) -> NDArray[np.float64]:
    """Read some columns of a table of numbers, however long it is.

    Args:
        path: the table.
        columns: names of the columns wanted.
        stopped: asked now and then; True ends the reading early.

    Returns:
        Shape (rows, len(columns)). Rows that are torn or damaged are left out; a table that is
        missing, or lacks a column, has none.
    """
    blocks = [np.empty((0, len(columns)))]
    with contextlib.suppress(OSError), path.open("rb") as file:
        names = _cells(file.readline(_TAIL_BYTES))
        if not set(columns) <= set(names):
            return blocks[0]
        wanted = [names.index(name) for name in columns]
        rest = b""
        while (data := file.read(_BLOCK_BYTES)) and not stopped():
            whole, _, rest = (rest + data).rpartition(b"\n")
            if whole:
                blocks.append(_numbers(whole, wanted, len(names)))
    return np.concatenate(blocks)


def _numbers(text: bytes, wanted: Sequence[int], width: int) -> NDArray[np.float64]:
    lines = text.decode("utf-8", "replace").splitlines()
    lines = [line for line in lines if line.count(",") == width - 1]
    if not lines:
        return np.empty((0, len(wanted)))
    with contextlib.suppress(ValueError):
        return np.loadtxt(lines, delimiter=",", comments=None, usecols=wanted, ndmin=2)
    # Somewhere in here is damage: line by line, all but the damaged ones.
    rows = []
    for line in lines:
        cells = line.split(",")
        with contextlib.suppress(ValueError):
            rows.append([float(cells[at]) for at in wanted])
    return np.array(rows, dtype=np.float64).reshape(-1, len(wanted))
