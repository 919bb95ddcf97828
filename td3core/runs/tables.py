"""The growing tables of a run: how they are written, cut short, and read quickly."""

import contextlib
import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from td3core.arrays import Doubles
from td3core.errors import RequestError
from td3core.system.files import GrowingFile, write_atomically

_TAIL_BYTES = 4096
_BLOCK_BYTES = 128 * 1024
"""Text parsed at once: about ten milliseconds, during which no other thread gets a turn."""

_DIGITS = 16
"""No step has so many; Python refuses to read numbers of thousands of them."""


class Table:
    """A CSV file that only grows. Rows wait in memory until a flush has written them.

    One that another version began keeps the columns it has; what it has none for is left out.
    """

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self._file, self._columns = GrowingFile(path), tuple(columns)
        self._waiting = io.StringIO()
        self._written = _columns_of(path) or self._columns
        self._writer = csv.DictWriter(
            self._waiting, self._written, restval="", extrasaction="ignore", lineterminator="\n"
        )
        self._has_header = bool(_columns_of(path))

    def add(self, row: Sequence[object]) -> None:
        """Queue one row, in the order of the columns given."""
        self._writer.writerow(dict(zip(self._columns, row, strict=True)))

    def flush(self) -> None:
        """Append the queued rows, below the columns if the file is new or was deleted.

        Raises:
            OSError: nothing was lost; the rows stay queued and the file keeps whole lines only.
        """
        text, path = self._waiting.getvalue(), self._file.path
        if not (self._has_header and path.exists()):
            text = ",".join(self._written) + "\n" + text
            self._file = GrowingFile(path)
        if text:
            self._file.append(text)
            self._has_header = True
            self._waiting.seek(0)
            self._waiting.truncate()

    def sync(self) -> None:
        """See to it that what has been appended survives a power failure.

        Raises:
            OSError: it cannot be written.
        """
        self._file.sync()


def keep_rows(path: Path, env_steps: int) -> None:
    """Drop the rows after a step, and whatever is torn.

    Raises:
        OSError: the table cannot be written; it is as it was.
        RequestError: it has no column of steps.
    """
    columns = _columns_of(path)
    if not columns:
        # Torn by a crash while its first line was written: there is nothing in it yet.
        path.unlink()
        return
    if "env_steps" not in columns:
        raise RequestError(
            "{run}/{file} is damaged: its first line names no env_steps. Move the file"
            " away to resume without it.",
            run=path.parent.name,
            file=path.name,
        )
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        lines = file.readlines()
    place, kept = columns.index("env_steps"), lines[:1]
    for line in lines[1:]:
        # Only numbers precede the step in every table: no field has a comma in it.
        step = "".join(line.split(",", place + 1)[place : place + 1])
        whole = line.endswith("\n") and step.isdecimal() and len(step) < _DIGITS
        if whole and int(step) <= env_steps:
            kept.append(line)
    if len(kept) < len(lines):
        write_atomically(path, "".join(kept).encode())


def _columns_of(path: Path) -> tuple[str, ...]:
    """Return the columns that a table on disk has; none if there is no sound one."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            first = file.readline()
    except OSError:
        return ()
    # As read_last_row and read_numbers take it: no name has a comma in it.
    # A hole, read as zeros, is what a power failure leaves of text that had not been flushed.
    sound = first.endswith("\n") and "\0" not in first
    return tuple(first.rstrip("\r\n").split(",")) if sound else ()


def read_table(path: Path) -> list[dict[str, str]]:
    """Read a table; a last line torn by a crash is dropped."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    rows: list[dict[str, str]] = []
    # A damaged quote makes one endless field and ends the reading; the rows before it are good.
    with contextlib.suppress(csv.Error):
        reader = csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1], newline=""))
        rows.extend(row for row in reader if None not in row and None not in row.values())
    return rows


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
) -> Doubles:
    """Read some columns of a table of numbers, however long it is.

    Args:
        path: the table.
        columns: names of the columns wanted; the table must have the first one.
        stopped: called now and then; True ends the reading early.

    Returns:
        Shape (rows, len(columns)). A column that the table lacks, because another version wrote
        it, is NaN. Torn or damaged rows are left out; a missing table has no rows.
    """
    blocks = [np.empty((0, len(columns)))]
    with contextlib.suppress(OSError), path.open("rb") as file:
        names = _cells(file.readline(_TAIL_BYTES))
        if columns[0] not in names:
            return blocks[0]
        present = [i for i, name in enumerate(columns) if name in names]
        wanted = [names.index(columns[i]) for i in present]
        rest = b""
        while (data := file.read(_BLOCK_BYTES)) and not stopped():
            whole, _, rest = (rest + data).rpartition(b"\n")
            if whole:
                found = _numbers(whole, wanted, len(names))
                block = np.full((len(found), len(columns)), np.nan)
                block[:, present] = found
                blocks.append(block)
    return np.concatenate(blocks)


def _numbers(text: bytes, wanted: Sequence[int], width: int) -> Doubles:
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
