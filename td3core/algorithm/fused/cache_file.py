"""The file of machine code in the user's cache folder.

The file is a pickle, which can execute any code when loaded. It is therefore read only if this user
wrote it, in a folder where nobody else can write. It begins with its digest, which reveals damage.
"""

import contextlib
import hashlib
import os
import shutil
import stat
from pathlib import Path

import platformdirs
from filelock import FileLock

from td3core.errors import MessageError, file_reason
from td3core.system.files import sync_folder, write_atomically
from td3core.system.regular_files import glob
from td3core.text import Text

_MAGIC = b"TD3 Studio machine code\n"
_SUFFIX = ".code"
_DIGEST = hashlib.sha256().digest_size
_KEPT = 8
"""Files kept: several versions may be installed, and machines may share a home folder."""
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
# Flags that a platform lacks are 0.
_FLAGS = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))


class DamagedError(Exception):
    """The file's contents differ from what was written."""


class UntrustedError(MessageError):
    """A file or folder may be from another user; the message is only part of a sentence."""


def path_of(key: str) -> Path:
    """Return the path of the machine code for ``key``, which may not exist yet."""
    return _folder() / f"{key}{_SUFFIX}"


def _folder() -> Path:
    return platformdirs.user_cache_path("td3-studio", False).absolute() / "kernels"


def lock() -> FileLock:
    """Return the lock that the compiling process holds, also while it removes old files.

    Raises:
        OSError: the folder cannot be made.
    """
    return FileLock(_folder() / "compiling")


def make_folder() -> None:
    """Create the folder if necessary, and require that nobody else can write there.

    Raises:
        OSError: the folder cannot be made.
        UntrustedError: others could write there.
    """
    missing = [each for each in _chain() if not each.is_dir()]
    for folder in reversed(missing):
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        sync_folder(folder.parent)
    require_private_folder()


def require_private_folder() -> None:
    """Require that nobody else can write to the folder or replace it.

    Raises:
        OSError: it cannot be examined.
        UntrustedError: others could.
    """
    for folder in _chain():
        with contextlib.suppress(FileNotFoundError):
            _require_private(folder, folder.stat())


def _chain() -> tuple[Path, ...]:
    """Return the folder and its parents, up to the folder of all caches of the user."""
    folder = _folder()
    return folder, folder.parent, folder.parent.parent


def read(path: Path) -> bytes:
    """Return the data written by :func:`write`.

    Raises:
        OSError: the file cannot be read; ``FileNotFoundError`` if it does not exist.
        DamagedError: its contents differ from what was written.
        UntrustedError: it could have been written by someone else.
    """
    if path.is_symlink():
        raise UntrustedError("{file} is a link", file=path)
    handle = os.open(path, os.O_RDONLY | _FLAGS)
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise UntrustedError("{file} is not a regular file", file=path)
        _require_private(path, about)
        data = file.read()
    begin = len(_MAGIC) + _DIGEST
    if data[:begin] != _MAGIC + hashlib.sha256(data[begin:]).digest():
        raise DamagedError
    with contextlib.suppress(OSError):
        # Record the use: the least recently used files are removed first.
        os.utime(path)
    return data[begin:]


def write(path: Path, data: bytes) -> None:
    """Write a file durably; readers see the old one or the new one.

    Raises:
        OSError: it cannot be written.
    """
    write_atomically(path, _MAGIC + hashlib.sha256(data).digest() + data)


def make_room(path: Path) -> None:
    """Remove all but the most recently used files. The caller must hold the :func:`lock`."""
    ages: list[tuple[float, Path]] = []
    for other in glob(path.parent, "*"):
        # Folders are from earlier versions.
        if other != path and (other.is_dir() or other.suffix in (_SUFFIX, ".part")):
            with contextlib.suppress(OSError):
                ages.append((other.lstat().st_mtime, other))
    for _, other in sorted(ages, reverse=True)[_KEPT - 1 :]:
        if other.is_dir() and not other.is_symlink():
            shutil.rmtree(other, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                other.unlink()


def _require_private(path: Path, about: os.stat_result) -> None:
    """Require that only this user or root can have modified the file or folder."""
    if os.name != "posix":
        return
    if about.st_uid not in (0, os.geteuid()):
        raise UntrustedError("{path} belongs to another user", path=path)
    sticky = stat.S_ISDIR(about.st_mode) and about.st_mode & stat.S_ISVTX
    writable = about.st_mode & _OTHERS_WRITE
    if writable == stat.S_IWGRP and _is_own_group(about.st_gid):
        return
    if writable and not sticky:
        raise UntrustedError(
            "others may write to {path} ('chmod go-w' changes that)",
            path=path,
        )


def _is_own_group(gid: int) -> bool:
    """Return whether this is the private group that many systems create for each user."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    alone = not set(group.gr_mem) - {user.pw_name}
    return alone and user.pw_gid == gid and group.gr_name == user.pw_name


def reason(problem: OSError | MessageError) -> Text:
    """Return why the cache cannot be used, without a full stop."""
    if isinstance(problem, MessageError):
        return problem.message
    text = file_reason(problem)
    return Text("{folder} cannot be used ({text})", folder=_folder(), text=text)
