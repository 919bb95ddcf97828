"""The growing tables of a run: writing, truncating and fast reading."""

import contextlib
import csv
import io
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from td3core.arrays import Doubles
from td3core.errors import RequestError
from td3core.runs.metadata import MOST_STEPS
from td3core.system.files import GrowingFile, write_atomically
from td3core.system.regular_files import open_regular, read_text, require_own

MOST_BYTES = 64 * 2**20
"""The largest table that is read into memory as a whole."""

_TAIL_BYTES = 4096
_BLOCK_BYTES = 128 * 1024
"""Text parsed at once: about ten milliseconds, during which the GIL is held."""

_LONGEST_LINE = 1024 * 1024
"""Bytes; far longer than any row. An endless line would be copied again with every block."""
MOST_EVALUATIONS = 250_000
_MOST_SKIPPED = 512 * 2**20
_LARGEST = 1e15
"""Larger than any number of steps or seconds of a run."""

_DIGITS = 16
"""Most digits accepted in a step number; Python refuses to parse integers with thousands of digits.
"""


class Table:
    """A CSV file that only grows. Rows wait in memory until a flush has written them.

    A file begun by another version keeps its columns; values without a column are dropped.
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
        """Ensure that the appended rows survive a power failure.

        Raises:
            OSError: the file cannot be written.
        """
        self._file.sync()


def keep_rows(path: Path, env_steps: int) -> None:
    """Drop the rows after a step, and incomplete ones.

    Raises:
        OSError: the table cannot be written; it is unchanged.
        RequestError: it has no column of steps.
    """
    require_own(path)
    columns = _columns_of(path)
    if not columns:
        # A crash truncated the header: there are no rows yet.
        path.unlink()
        return
    if "env_steps" not in columns:
        raise RequestError(
            "{run}/{file} is damaged: its first line names no env_steps. Move the file"
            " away to resume without it.",
            run=path.parent.name,
            file=path.name,
        )
    kept, dropped = _split(path, columns.index("env_steps"), env_steps)
    if dropped:
        write_atomically(path, b"".join(kept))


def _split(path: Path, place: int, env_steps: int) -> tuple[list[bytes], bool]:
    """Return the first line and the rows up to a step, and whether any rows were left out."""
    with open_regular(path) as file:
        kept, dropped = [file.readline()], False
        while line := file.readline(_LONGEST_LINE + 1):
            if len(line) > _LONGEST_LINE:
                raise RequestError(
                    "{run}/{file} is damaged: it has a line longer than {most} KiB. Move the file"
                    " away to resume without it.",
                    run=path.parent.name,
                    file=path.name,
                    most=_LONGEST_LINE // 1024,
                )
            # Only numbers precede the step in every table: no field contains a comma.
            step = b"".join(line.split(b",", place + 1)[place : place + 1])
            whole = line.endswith(b"\n") and step.isdigit() and len(step) < _DIGITS
            if whole and int(step) <= env_steps:
                kept.append(line)
            else:
                dropped = True
    return kept, dropped


def _columns_of(path: Path) -> tuple[str, ...]:
    """Return the columns of a table on disk; none if there is no valid one."""
    try:
        with open_regular(path) as file:
            first = file.readline(_LONGEST_LINE + 1).decode("utf-8", "replace")
    except OSError:
        return ()
    # As in read_last_row and read_numbers: no name contains a comma.
    # A power failure turns text that was not flushed into a hole, read as zeros.
    sound = first.endswith("\n") and "\0" not in first
    return tuple(first.rstrip("\r\n").split(",")) if sound else ()


def read_table(
    path: Path, most_rows: int | None = None, *, largest: int | None = MOST_BYTES
) -> list[dict[str, str]]:
    """Read a table, or its first rows; an incomplete last line is dropped.

    Returns no rows if it is no regular file or has more than ``largest`` bytes.
    """
    try:
        text = read_text(path, largest, "replace")
    except OSError:
        return []
    rows: list[dict[str, str]] = []
    # An unbalanced quote starts an endless field and ends the reading; earlier rows are valid.
    with contextlib.suppress(csv.Error):
        reader = csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1], newline=""))
        whole = (row for row in reader if None not in row and None not in row.values())
        rows.extend(itertools.islice(whole, most_rows))
    return rows


def read_last_row(path: Path) -> dict[str, str]:
    """Return the last complete row of a table, reading only its ends; empty if there is none."""
    with contextlib.suppress(OSError), open_regular(path) as file:
        names = file.readline(_LONGEST_LINE + 1)
        columns, first, end = _cells(names), len(names), file.seek(0, 2)
        length = _TAIL_BYTES
        # A row of evaluations holds the return of every episode, and may be long.
        while length <= _LONGEST_LINE:
            start = max(end - length, first)
            file.seek(start)
            # The text before the first newline may be a partial row.
            lines = file.read(end - start).split(b"\n")[int(start > first) : -1]
            for line in reversed(lines):
                cells = _cells(line)
                if cells and len(cells) == len(columns):
                    return dict(zip(columns, cells, strict=True))
            if start == first:
                break
            length *= 4
    return {}


def number(row: Mapping[str, str], name: str) -> float:
    """Return a count or a duration of a row; 0 if missing or invalid."""
    try:
        value = float(row[name])
    except (KeyError, ValueError):
        return 0.0
    return value if 0 < value < _LARGEST else 0.0


def _cells(line: bytes) -> list[str]:
    text = line.decode("utf-8", "replace").strip("\r\n")
    return text.split(",") if text else []


def read_means(
    table: Path, largest: int = MOST_BYTES, stopped: Callable[[], bool] = lambda: False
) -> Doubles:
    """Read step and mean return of the evaluations in a table, by ascending steps.

    Shape (n, 2); empty if the table has more than ``largest`` bytes.
    """
    with contextlib.suppress(OSError):
        if table.stat().st_size <= largest:
            columns = ("env_steps", "mean")
            return rising(read_numbers(table, columns, stopped, most_rows=MOST_EVALUATIONS))
    return np.empty((0, 2))


def read_numbers(
    path: Path,
    columns: Sequence[str],
    stopped: Callable[[], bool] = lambda: False,
    *,
    most_rows: float = math.inf,
) -> Doubles:
    """Read some columns of a table of numbers, however long it is.

    Args:
        path: the table.
        columns: names of the wanted columns; the table must have the first one.
        stopped: polled; True ends the reading early.
        most_rows: reading ends after about this many rows.

    Returns:
        Shape (rows, len(columns)). A column that the table lacks, because another version wrote
        it, is NaN. Incomplete or damaged rows are left out; a missing table has no rows.
    """
    blocks = [np.empty((0, len(columns)))]
    with contextlib.suppress(OSError), open_regular(path) as file:
        names = _cells(file.readline(_LONGEST_LINE + 1))
        if columns[0] not in names:
            return blocks[0]
        rest, count = b"", 0
        while count < most_rows and (data := file.read(_BLOCK_BYTES)) and not stopped():
            whole, _, rest = (rest + data).rpartition(b"\n")
            if len(rest) > _LONGEST_LINE:
                rest = b""
                _skip_line(file)
            if whole:
                blocks.append(parse_numbers(whole.decode("utf-8", "replace"), names, columns))
                count += len(blocks[-1])
    return np.concatenate(blocks)


def parse_numbers(text: str, names: Sequence[str], columns: Sequence[str]) -> Doubles:
    """Return some columns of the rows in a text; ``names`` are all its columns.

    Shape (rows, len(columns)), as :func:`read_numbers` returns them.
    """
    present = [i for i, name in enumerate(columns) if name in names]
    wanted = [names.index(columns[i]) for i in present]
    blocks = [_numbers(block, wanted, len(names)) for block in _blocks(text)]
    found = np.concatenate(blocks) if blocks else np.empty((0, len(wanted)))
    rows = np.full((len(found), len(columns)), np.nan)
    rows[:, present] = found
    return rows


def _blocks(text: str) -> Iterator[str]:
    """Split a text into blocks of complete lines."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin + _BLOCK_BYTES)
        end = len(text) if end < 0 else end
        yield text[begin:end]
        begin = end + 1


def rising(rows: Doubles, keys: int = 1) -> Doubles:
    """Return rows whose first column increases; of steps repeated by a resumed run, the last rows.

    Shape (n, columns) in and out, perhaps with fewer rows. With ``keys`` > 1, rows of one step
    that differ in one of the first ``keys`` columns all stay.
    """
    steps = rows[:, 0]
    known = (steps >= 0) & (steps <= MOST_STEPS)
    if known.all() and (np.diff(steps) > 0).all():
        return rows
    rows = rows[known]
    steps = rows[:, 0]
    lowest_after = np.minimum.accumulate(steps[::-1])[::-1]
    keep = steps <= lowest_after
    if keys == 1:
        keep[:-1] &= steps[:-1] < lowest_after[1:]
        return rows[keep]
    rows = rows[keep]
    _, last = np.unique(rows[::-1, :keys], axis=0, return_index=True)
    return rows[np.sort(len(rows) - 1 - last)]


def _skip_line(file: io.BufferedReader) -> None:
    """Skip to the next line, or to the end if that is very far."""
    for _ in range(_MOST_SKIPPED // _BLOCK_BYTES):
        data = file.read(_BLOCK_BYTES)
        _, newline, rest = data.partition(b"\n")
        if newline:
            file.seek(-len(rest), 1)
        if newline or not data:
            return
    file.seek(0, 2)


def _numbers(text: str, wanted: Sequence[int], width: int) -> Doubles:
    lines = text.splitlines()
    # Usually every row is complete. With the right total of commas, a row can be longer only if
    # another is shorter, which parsing the last column would reveal; checking each row takes a
    # fifth of the time.
    whole = text.count(",") == len(lines) * (width - 1) and width - 1 in wanted
    if not whole:
        lines = _whole_lines(lines, width)
    if not lines:
        return np.empty((0, len(wanted)))
    with contextlib.suppress(ValueError):
        return np.loadtxt(lines, delimiter=",", comments=None, usecols=wanted, ndmin=2)
    # Damaged somewhere: parse line by line, and drop damaged lines.
    rows = []
    for line in _whole_lines(lines, width):
        cells = line.split(",")
        with contextlib.suppress(ValueError):
            rows.append([float(cells[at]) for at in wanted])
    return np.array(rows, dtype=np.float64).reshape(-1, len(wanted))


def _whole_lines(lines: Sequence[str], width: int) -> list[str]:
    return [line for line in lines if line.count(",") == width - 1]
