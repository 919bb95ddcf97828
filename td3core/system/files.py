"""Durable file operations: neither a kill nor a power failure leaves partially written files.

Contents survive a power failure once the file is flushed to disk, a new name once its folder is.
"""

import contextlib
import csv
import errno
import io
import os
import re
import shutil
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from td3core.system.regular_files import open_own, open_regular, require_own

_CHUNK = 2**20
_LONGEST_SLUG = 150
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@contextlib.contextmanager
def replacing(path: Path, *, durable: bool = True) -> Iterator[Path]:
    """Yield a temporary path next to ``path``; the file created there then replaces ``path``.

    The replacement is atomic. After an error the temporary file is removed and ``path`` unchanged.
    The new name survives a power failure only if ``durable``; flushing the contents is up to the
    caller.

    Raises:
        OSError: the folder cannot be written.
    """
    half = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    # Never write to a file that a killed process left, or that someone else created.
    half.unlink(missing_ok=True)
    try:
        yield half
        half.replace(path)
    finally:
        # Left over after an error, or if both names were hard links to one file.
        with contextlib.suppress(OSError):
            half.unlink(missing_ok=True)
    if durable:
        sync_folder(path.parent)


def write_atomically(path: Path, data: bytes, *, durable: bool = True, mode: int = 0o666) -> None:
    """Write ``data`` to ``path``: readers see the old or the new file, never a partial one.

    After a power failure the file is complete only if ``durable``, which costs a flush to disk.
    ``mode`` is its permissions before the umask is applied.

    Raises:
        OSError: the folder cannot be written or is full; the file is complete, old or new.
    """
    with (
        replacing(path, durable=durable) as half,
        open(half, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file,
    ):
        file.write(data)
        file.flush()
        if durable:
            os.fsync(file.fileno())


def write_csv(path: Path, head: Iterable[object], rows: Iterable[Iterable[object]]) -> None:
    """Write a table as .csv, in UTF-8 and with the same line ends on every system.

    Raises:
        OSError: as :func:`write_atomically`.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    write_atomically(path, text.getvalue().encode())


def alias(path: Path, other: Path) -> None:
    """Replace ``other`` atomically by a hard link to ``path``, or by a copy if that fails.

    Raises:
        OSError: it failed, or may not survive a power failure; ``other`` is complete, old or new.
    """
    with replacing(other) as half:
        try:
            half.hardlink_to(path)
        except OSError:
            # Not every file system supports hard links.
            _copy(path, half)


def copy(path: Path, other: Path) -> None:
    """Copy a file durably, keeping the holes of a sparse file.

    Raises:
        OSError: a file cannot be read or written; ``other`` is complete, old or new.
    """
    require_own(other)
    with replacing(other) as half:
        _copy(path, half)


def _copy(path: Path, other: Path) -> None:
    if hasattr(os, "SEEK_DATA"):
        _copy_data(path, other)
    else:
        shutil.copyfile(path, other)
    _sync_file(other)


def _copy_data(path: Path, other: Path) -> None:
    """Copy a sparse file with its holes, such as the unwritten rows of a replay buffer."""
    with open_regular(path) as source, other.open("wb") as target:
        end = os.fstat(source.fileno()).st_size
        target.truncate(end)
        place = 0
        while place < end:
            try:
                place = os.lseek(source.fileno(), place, os.SEEK_DATA)
            except OSError as problem:
                if problem.errno == errno.ENXIO:
                    break  # Only a hole is left.
                raise
            stop = os.lseek(source.fileno(), place, os.SEEK_HOLE)
            while place < stop:
                data = os.pread(source.fileno(), min(stop - place, _CHUNK), place)
                if not data:
                    return  # The file was truncated meanwhile.
                target.seek(place)
                target.write(data)
                place += len(data)


def make_folder(path: Path) -> None:
    """Make a folder and its missing parents.

    Raises:
        OSError: a folder cannot be made.
    """
    if not path.is_dir():
        # The root of a missing drive is its own parent.
        if path.parent != path:
            make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync_folder(path.parent)


def new_folder(parent: Path, stem: str) -> Path:
    """Make a folder called ``stem``, or ``stem-2`` and so on if there is one; return it.

    Raises:
        OSError: it cannot be made.
    """
    make_folder(parent)
    for suffix in ("", *(f"-{n}" for n in range(2, 1000))):
        path = parent / (stem + suffix)
        try:
            path.mkdir()
        except FileExistsError:
            continue
        sync_folder(parent)
        return path
    raise FileExistsError(f"too many folders called {stem}")


def slug(text: str) -> str:
    """Return free text as part of a file's name: letters, digits, ``.``, ``_`` and ``-``.

    It is cut so that there is room for more in the 255 bytes of a name.
    """
    return _NO_NAME.sub("-", text).strip("-.")[:_LONGEST_SLUG]


def stamp(path: Path) -> tuple[int, int] | None:
    """Return modification time (ns) and size, which reveal a write; None without a file."""
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk, where the operating system supports it."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def append_whole(path: Path, text: str) -> None:
    """Append all of ``text``, or leave the file unchanged.

    Raises:
        OSError: the file cannot be written, or is a symbolic link; it is unchanged.
    """
    with open_own(path, os.O_WRONLY | os.O_APPEND, "ab") as file:
        start, data = file.tell(), memoryview(text.encode())
        try:
            while data:
                data = data[file.write(data) :]
        except OSError:
            file.truncate(start)
            raise


class GrowingFile:
    """A text file that is only appended to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Text written by another process, or the directory entry, may not be on disk yet.
        self._flushed = self._name_flushed = False

    def append(self, text: str) -> None:
        """Append all of ``text``.

        Raises:
            OSError: it cannot be written; the file is unchanged.
        """
        append_whole(self.path, text)
        self._flushed = False

    def sync(self) -> None:
        """Flush the appended text to disk.

        Raises:
            OSError: it cannot be written.
        """
        if self._flushed or not self.path.exists():
            return
        _sync_file(self.path)
        if not self._name_flushed:
            sync_folder(self.path.parent)
        self._flushed = self._name_flushed = True


def _sync_file(path: Path) -> None:
    with open_own(path, os.O_WRONLY | os.O_APPEND, "ab") as file:
        os.fsync(file.fileno())
