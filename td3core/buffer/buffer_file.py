"""The replay buffer of a run on disk: an image of the ring buffer; only new rows are written.

To resume from a checkpoint, a run needs the transitions it was learning from. They are in one file
next to the checkpoints, written just before each of them. Writing does not touch rows that an older
checkpoint needs, as long as at most ``slack`` transitions are added between two checkpoints.
Checksums in the checkpoint later verify that the file still holds the same rows.
"""

import contextlib
import os
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Floats
from td3core.buffer.replay_buffer import ReplayBuffer, ring_sizes
from td3core.buffer.rows import RowLayout
from td3core.errors import RequestError, unreadable
from td3core.system.files import sync_folder
from td3core.system.regular_files import open_own, open_regular

BLOCK = 1024
"""Rows per checksum."""
SUMS = "replay.sums"
"""The tensor of a checkpoint that holds the checksums."""

Sums = NDArray[np.uint32]


def ring_in(path: Path, sums: Sums | None, capacity: int, layout: RowLayout) -> int:
    """Return the rows of the ring in a file, for which a checkpoint has these checksums.

    The number of checksums gives the size up to a block. If two sizes are possible, the length of
    the file decides; up to the smaller size, the rows of both are the same.
    """
    sizes = ring_sizes(capacity, layout)
    if sums is None:
        return sizes[0]
    try:
        written = path.stat().st_size // layout.bytes
    except OSError:
        written = 0
    fitting = (rows for rows in sizes if _blocks(rows) + 1 == len(sums) and written <= rows)
    return next(fitting, sizes[0])


def _blocks(rows: int) -> int:
    return -(-rows // BLOCK)


class BufferFile:
    """Writes a replay buffer to its file and reads it back."""

    def __init__(self, path: Path, buffer: ReplayBuffer) -> None:
        self._path, self._buffer = path, buffer
        self._written, self._named = 0, False
        self._sums: Sums = np.zeros(_blocks(len(buffer.rows)), np.uint32)

    def save(self) -> Sums:
        """Write the rows stored since the last call; return checksums.

        There is one for each block, and one for the rows that can be sampled in blocks of which not
        all rows can be.

        Raises:
            OSError: the file cannot be written or is a symbolic link; older transitions in it
                remain valid.
        """
        buffer, ring = self._buffer, len(self._buffer.rows)
        if self._written and not self._is_there():
            # The file was deleted: write everything again.
            self._written, self._named = 0, False
        first = max(self._written, buffer.stored - ring)
        if first < buffer.stored:
            begin, end = first % ring, (buffer.stored - 1) % ring + 1
            stretches = [(begin, end)] if begin < end else [(begin, ring), (0, end)]
            self._write(stretches)
            for stretch in stretches:
                self._sum_up(*stretch)
            self._written = buffer.stored
        _, edges = self._sampled()
        return np.append(self._sums, edges).astype(np.uint32)

    def load(self, stored: int, sums: Sums) -> None:
        """Fill the buffer with the transitions it held when ``stored`` had been added.

        Raises:
            RequestError: the file is missing, too short, or has other contents than then.
        """
        buffer, ring = self._buffer, len(self._buffer.rows)
        filled = min(stored, ring)
        wanted = filled * buffer.rows.shape[1] * buffer.rows.itemsize
        try:
            # Without any transitions, the file may not exist.
            with open_regular(self._path) if filled else contextlib.nullcontext() as file:
                if file is not None and file.readinto(_bytes_of(buffer.rows[:filled])) != wanted:
                    raise RequestError("{file} is shorter than it was.", file=self._path.name)
        except OSError as problem:
            raise unreadable(Path(self._path.name), problem) from problem
        buffer.stored = stored
        self._check(sums)
        self._written, self._sums = stored, sums[:-1].astype(np.uint32)

    def _is_there(self) -> bool:
        """Return whether the file has its full written length."""
        rows = self._buffer.rows
        wanted = min(self._written, len(rows)) * rows.shape[1] * rows.itemsize
        try:
            return self._path.stat().st_size >= wanted
        except OSError:
            return False

    def _write(self, stretches: list[tuple[int, int]]) -> None:
        rows = self._buffer.rows
        with open_own(self._path, os.O_RDWR, "r+b") as file:
            for begin, end in stretches:
                file.seek(begin * rows.shape[1] * rows.itemsize)
                data = _bytes_of(rows[begin:end])
                while data:
                    data = data[file.write(data) :]
            os.fsync(file.fileno())
        if not self._named:
            sync_folder(self._path.parent)
            self._named = True

    def _sum_up(self, begin: int, end: int) -> None:
        """Compute the checksum of every block with rows in this range."""
        for block in range(begin // BLOCK, _blocks(end)):
            self._sums[block] = self._sum(block)

    def _sum(self, block: int) -> int:
        return zlib.crc32(_bytes_of(self._buffer.rows[block * BLOCK : (block + 1) * BLOCK]))

    def _check(self, sums: Sums) -> None:
        """Verify all rows that can be sampled; others may have been overwritten since."""
        whole, edges = self._sampled()
        same = len(sums) == len(self._sums) + 1 and edges == sums[-1]
        if not same or not all(self._sum(block) == sums[block] for block in whole):
            raise RequestError(
                "{file} no longer holds what this checkpoint needs.", file=self._path.name
            )

    def _sampled(self) -> tuple[list[int], int]:
        """Return the blocks whose rows can all be sampled, and a checksum of the other rows."""
        buffer, ring = self._buffer, len(self._buffer.rows)
        oldest, end = (buffer.stored - buffer.size) % ring, buffer.stored % ring
        wraps = buffer.size > 0 and oldest >= end
        stretches = [(oldest, ring), (0, end)] if wraps else [(oldest, end)]
        whole, edges = list[int](), 0
        for first, last in stretches:
            for block in range(first // BLOCK, _blocks(last)):
                begin, stop = block * BLOCK, min((block + 1) * BLOCK, ring)
                if first <= begin and stop <= last:
                    whole.append(block)
                else:
                    rows = buffer.rows[max(begin, first) : min(stop, last)]
                    edges = zlib.crc32(_bytes_of(rows), edges)
        return whole, edges


def _bytes_of(rows: Floats) -> memoryview:
    return rows.data.cast("B")
