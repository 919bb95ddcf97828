"""Writing so that neither a kill nor a power failure leaves half of anything.

What has been written is safe from a power failure once it has been flushed to the disk; a new name,
once the folder it stands in has been.
"""

import contextlib
import os
import shutil
import threading
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Replace ``path`` by ``data``: readers see the old file or the new one, never a part.

    Raises:
        OSError: the folder cannot be written or is full; the file is whole, old or new.
    """
    half = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        with half.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        half.replace(path)
    except BaseException:
        half.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def alias(path: Path, other: Path) -> None:
    """Let ``other`` name the same contents as ``path``, at once or not at all.

    Raises:
        OSError: it could not be done, or not for certain; ``other`` is whole, old or new.
    """
    half = other.with_name(f".{other.name}.part")
    half.unlink(missing_ok=True)
    try:
        try:
            half.hardlink_to(path)
        except OSError:
            # Not every file system has links.
            copy(path, half)
        half.replace(other)
    except OSError:
        with contextlib.suppress(OSError):
            half.unlink(missing_ok=True)
        raise
    sync_folder(other.parent)


def copy(path: Path, other: Path) -> None:
    """Copy a file so that the copy survives a power failure.

    Raises:
        OSError: a file cannot be read or written.
    """
    shutil.copyfile(path, other)
    _sync_file(other)
    sync_folder(other.parent)


def make_folder(path: Path) -> None:
    """Make a folder, and those it lies in, unless it is there.

    Raises:
        OSError: it cannot be made.
    """
    if not path.is_dir():
        # A drive that is not there is its own parent.
        if path.parent != path:
            make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power failure, where the system allows it."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def append_whole(path: Path, text: str) -> None:
    """Append all of ``text`` or, on an error, leave the file as it was."""
    with path.open("ab", buffering=0) as file:
        start, data = file.tell(), memoryview(text.encode())
        try:
            while data:
                data = data[file.write(data) :]
        except OSError:
            file.truncate(start)
            raise


class GrowingFile:
    """A text file that is only ever appended to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # What another process appended may not have reached the disk, nor its name.
        self._flushed = self._named = False

    def append(self, text: str) -> None:
        """Append all of ``text``.

        Raises:
            OSError: the file is as it was.
        """
        append_whole(self.path, text)
        self._flushed = False

    def sync(self) -> None:
        """See to it that what has been appended survives a power failure.

        Raises:
            OSError: it cannot be written.
        """
        if self._flushed or not self.path.exists():
            return
        _sync_file(self.path)
        if not self._named:
            sync_folder(self.path.parent)
        self._flushed = self._named = True


def _sync_file(path: Path) -> None:
    with path.open("ab") as file:
        os.fsync(file.fileno())
