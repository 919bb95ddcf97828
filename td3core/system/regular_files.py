"""Opens only regular files, and limits the size of those that are read.

A folder may be untrusted. A named pipe there would block its reader forever, a device would never
end, and a file of gigabytes would exhaust memory; writing through a link would change another file.
"""

import errno
import io
import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any, BinaryIO

LARGEST_RECORD = 256 * 1024
"""Size limit for small records (settings, labels, presets), in bytes."""

MALFORMED = (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError)
"""Exceptions that the contents of a damaged or forged record can raise."""

DAMAGE = (OSError, *MALFORMED)
"""Those, and what opening or reading the file can raise."""

_MOST_KEY_PARTS = 16
# Python's parser takes quadratic time for a key of many parts. All quantifiers are possessive, so
# that the search is linear. It passes over strings and comments, and ends at a string without an
# end, as the parser does.
_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\[^\n])*+"|'[^'\n]*+')"""
_NEXT = rf"(?:[ \t]*+\.[ \t]*+{_PART})"
_KEY = rf"{_PART}{_NEXT}{{{_MOST_KEY_PARTS}}}"
_TRIPLE = r"""\"{3}(?:[^"\\]|\\[\s\S]|"(?!""))*+\"{3,5}+|'{3}(?:[^']|'(?!''))*+'{3,5}+"""
_OTHER = rf"""{_TRIPLE}|(?!\"{{3}}|'{{3}}){_PART}{_NEXT}*+|#[^\n]*+|[^"'#\w-]"""
_LONG_KEY = re.compile(rf"(?:(?!{_KEY})(?:{_OTHER}))*+{_KEY}")

# Flags that a platform lacks are 0.
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def open_regular(path: Path) -> io.BufferedReader:
    """Open a regular file, or a link to one, for reading.

    Raises:
        OSError: it cannot be opened, or is something else, such as a named pipe or a device.
    """
    # Before opening: opening a device may already have side effects.
    _require_regular(path, path.stat())
    handle = os.open(path, os.O_RDONLY | _NONBLOCK | _BINARY)
    try:
        _require_regular(path, os.fstat(handle))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def open_own(path: Path, flags: int, mode: str) -> BinaryIO:
    """Open a file for unbuffered writing, or create it; never through a link.

    Args:
        path: The file.
        flags: Flags for ``os.open``, such as ``os.O_RDWR``.
        mode: Matching mode for ``open``.

    Raises:
        OSError: it cannot be opened, or is a link or not a regular file.
    """
    require_own(path)
    flags |= os.O_CREAT | _NO_LINK | _NONBLOCK | _BINARY
    handle = os.open(path, flags, 0o666)
    try:
        _require_regular(path, os.fstat(handle))
        file: BinaryIO = os.fdopen(handle, mode, buffering=0)  # type: ignore[assignment]
    except BaseException:
        os.close(handle)
        raise
    return file


def require_own(path: Path, *, folder: bool = False, replaced: bool = False) -> None:
    """Refuse a path that leads out of its folder, or is not a regular file (or ``folder``).

    A file that is always ``replaced`` as a whole, never modified in place, may have hard links.

    Raises:
        OSError: it is a symbolic or hard link, or a special file; a missing file is accepted.
    """
    try:
        about = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(about.st_mode):
        raise OSError(errno.ELOOP, f"{path.name} is a symbolic link", str(path))
    if folder and not stat.S_ISDIR(about.st_mode):
        raise OSError(errno.ENOTDIR, f"{path.name} is not a folder", str(path))
    if not folder:
        _require_regular(path, about)
        if about.st_nlink > 1 and not replaced:
            raise OSError(errno.EMLINK, f"{path.name} is a hard link", str(path))


def exists(path: Path) -> bool:
    """Return whether a file or folder exists; False if it cannot be examined."""
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def glob(folder: Path, pattern: str) -> list[Path]:
    """Return the files and folders matching a pattern; empty if the folder cannot be read."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


def is_regular(path: Path) -> bool:
    """Return whether a regular file, or a link to one, exists."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def read_bytes(path: Path, largest: int | None = LARGEST_RECORD) -> bytes:
    """Return the contents of a regular file; ``largest`` None sets no limit.

    Raises:
        OSError: it cannot be read, is not a regular file, or is larger than ``largest`` bytes.
    """
    with open_regular(path) as file:
        # The reported size may be wrong or change: count the bytes read.
        data = file.read(None if largest is None else largest + 1)
    if largest is not None and len(data) > largest:
        raise OSError(errno.EFBIG, f"{path.name} is larger than {largest // 1024} KiB", str(path))
    return data


def read_text(path: Path, largest: int | None = LARGEST_RECORD, errors: str = "strict") -> str:
    """Return the contents of a regular text file, without a byte order mark.

    Raises:
        OSError: as :func:`read_bytes`.
        UnicodeDecodeError: it is not UTF-8 and ``errors`` is ``strict``.
    """
    text = read_bytes(path, largest).decode("utf-8", errors)
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML, in time linear in its length.

    Raises:
        ValueError: it is not TOML, or has a key of too many parts.
        RecursionError: it is nested too deeply.
    """
    if _LONG_KEY.match(text):
        raise ValueError(f"a key has more than {_MOST_KEY_PARTS} parts")
    return tomllib.loads(text)


def _require_regular(path: Path, about: os.stat_result) -> None:
    if not stat.S_ISREG(about.st_mode):
        raise OSError(errno.EINVAL, f"{path.name} is not a regular file", str(path))
