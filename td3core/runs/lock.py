"""One process at a time writes to a run.

The lock is the operating system's, on ``RUN/lock``: however the process that holds it ends, the
kernel releases it, so stale locks do not exist. Deleting ``RUN/lock`` deletes only its name, and a
second process would lock a new file of that name. So the folder itself is locked as well; it cannot
be deleted while it holds a run. Where folders cannot be locked (Windows, where an open file cannot
be deleted either, and many network drives), only the file is locked.

Next to it, ``RUN/lock.json`` records the holder; it is read only to name that process, never to
decide whether the run is locked. A record without a held lock was left behind by a killed process.
"""

import contextlib
import json
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from td3core.errors import RequestError, file_reason
from td3core.system.files import write_atomically
from td3core.system.regular_files import DAMAGE, exists, is_regular, read_text, require_own
from td3core.system.timestamp import now
from td3core.text import Text

try:
    import fcntl as _fcntl

    fcntl: Any = _fcntl
except ImportError:  # Windows
    fcntl = None

_POLL_S = 0.02
_PATIENCE_S = 0.5
"""A process that only checks the lock holds it for less than a millisecond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The process that holds a run, as far as known."""

    pid: int = 0
    host: str = ""
    since: str = ""

    def in_words(self) -> Text:
        """Return a description of the process for messages."""
        if not self.pid:
            return Text("a living process")
        if self.host in ("", platform.node()):
            return Text("a living process (pid {pid})", pid=self.pid)
        return Text("a living process (pid {pid} on {host})", pid=self.pid, host=self.host)


class LockedError(RequestError):
    """A living process holds the run."""


class RunLock:
    """The right to write to one run. Also a context manager."""

    def __init__(self, run: Path) -> None:
        self._run = run
        # Not thread-local: in the window, another thread may release it.
        self._lock = FileLock(_lock_file(run), thread_local=False)
        self._folder: int | None = None

    def acquire(self) -> None:
        """Take the lock and record this process as its holder.

        Raises:
            LockedError: a living process holds it.
            RequestError: the folder cannot be written.
        """
        if not self._run.is_dir():
            raise RequestError(
                "{run} cannot be locked: there is no such folder.", run=self._run.name
            )
        try:
            require_own(_lock_file(self._run))
            self._lock.acquire(timeout=_PATIENCE_S, poll_interval=_POLL_S)
            self._acquire_folder()
        except (Timeout, BlockingIOError) as problem:
            who = recorded(self._run) or Holder()
            raise LockedError(
                "{run} is locked by {who}.", run=self._run.name, who=who.in_words()
            ) from problem
        except OSError as problem:
            raise RequestError(
                "{run} cannot be locked: {reason}.",
                run=self._run.name,
                reason=file_reason(problem),
            ) from problem
        me = Holder(pid=os.getpid(), host=platform.node(), since=now())
        # A full disk must not stop a run; the lock is held anyway.
        with contextlib.suppress(OSError):
            write_atomically(_record_file(self._run), json.dumps(asdict(me)).encode())

    def _acquire_folder(self) -> None:
        """Lock the folder too; the file is released if that fails."""
        try:
            end = time.monotonic() + _PATIENCE_S
            while (folder := _lock_folder(self._run)) == _HELD:
                if time.monotonic() > end:
                    raise BlockingIOError
                time.sleep(_POLL_S)
        except BaseException:
            self._lock.release()
            raise
        self._folder = folder

    def release(self) -> None:
        """Release the lock; nothing happens if it is not held."""
        if self._lock.is_locked:
            with contextlib.suppress(OSError):
                _record_file(self._run).unlink(missing_ok=True)
            if self._folder is not None:
                os.close(self._folder)
                self._folder = None
            self._lock.release()

    def renew(self) -> None:
        """Take the lock of a folder that was made again after it was deleted or moved.

        Raises:
            OSError: :meth:`acquire` failed; the run continues without its folder.
        """
        # It may be the same folder: perhaps only some of its files were deleted.
        self.release()
        try:
            self.acquire()
        except RequestError as problem:
            raise OSError(str(problem).rstrip(".")) from problem

    def __enter__(self) -> "RunLock":
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def holder(run: Path) -> Holder | None:
    """Return the living process that holds a run; ``None`` if no process does.

    Writes nothing: the file of a run that was never locked is not even opened.
    """
    folder = _lock_folder(run, shared=True)
    if folder == _HELD:
        return recorded(run) or Holder()
    if folder is not None:
        os.close(folder)
    if not (left_behind(run) and is_regular(_lock_file(run))):
        return None
    lock = FileLock(_lock_file(run), thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return recorded(run) or Holder()
    except OSError:
        return None  # A read-only folder, so no process here can be writing to it.
    lock.release()
    return None


@contextmanager
def kept_free(run: Path) -> Iterator[bool]:
    """Let no process take a run, so that it can be deleted; False if one holds it.

    Writes nothing: the disk may be full.
    """
    folder = _HELD if holder(run) else _lock_folder(run)
    try:
        yield folder != _HELD
    finally:
        if folder is not None and folder != _HELD:
            os.close(folder)


def left_behind(run: Path) -> bool:
    """True if a process has locked the run and not released it: it is alive, or was killed."""
    return exists(_record_file(run)) and exists(_lock_file(run))


_HELD = -1
"""Marks a folder that another process has locked."""


def _lock_folder(run: Path, *, shared: bool = False) -> int | None:
    """Lock a folder without waiting; several may hold a ``shared`` lock.

    Returns:
        The open folder, which is locked until it is closed; ``_HELD``; or None where folders cannot
        be locked.
    """
    if fcntl is None:
        return None
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        handle = os.open(run, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return _HELD
    except OSError:
        os.close(handle)
        return None
    return handle


def _lock_file(run: Path) -> Path:
    return run / "lock"


def _record_file(run: Path) -> Path:
    return run / "lock.json"


def recorded(run: Path) -> Holder | None:
    """Return the recorded holder of a run, dead or alive; None without a record."""
    try:
        found = json.loads(read_text(_record_file(run)))
        return Holder(pid=int(found["pid"]), host=str(found["host"]), since=str(found["since"]))
    except DAMAGE:
        return None
