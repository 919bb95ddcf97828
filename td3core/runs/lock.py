"""One process at a time writes to a run.

The lock itself is one of the operating system's, on ``RUN/lock``: whatever becomes of the process
that holds it, the kernel releases it, so there are no stale locks to guess about. Next to it,
``RUN/lock.json`` says who holds it; it is read only to name that process, never to decide. A record
without a living lock is what a process leaves behind that was killed.
"""

import contextlib
import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from filelock import FileLock, Timeout

from td3core.errors import RequestError
from td3core.system.files import write_atomically
from td3core.system.timestamp import now

_PATIENCE_S = 0.5
"""A process that only looks who holds a lock takes it for less than a millisecond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The process that holds a run, as far as it is known."""

    pid: int = 0
    host: str = ""
    since: str = ""

    def __str__(self) -> str:
        if not self.pid:
            return "a living process"
        elsewhere = f" on {self.host}" if self.host not in ("", platform.node()) else ""
        return f"a living process (pid {self.pid}{elsewhere})"


class RunLock:
    """The right to write to one run. Also a context manager."""

    def __init__(self, run: Path) -> None:
        self._run = run
        # Not bound to a thread: the window's run may be released from another one.
        self._lock = FileLock(_lock_file(run), thread_local=False)

    def acquire(self) -> None:
        """Take the lock and record who holds it.

        Raises:
            RequestError: a living process holds it, or the folder cannot be written.
        """
        if not self._run.is_dir():
            raise RequestError(
                "{run} cannot be locked: there is no such folder.", run=self._run.name
            )
        try:
            self._lock.acquire(timeout=_PATIENCE_S, poll_interval=0.02)
        except Timeout as problem:
            who = _recorded(self._run) or Holder()
            raise RequestError(
                "{run} is locked by {who}.", run=self._run.name, who=who
            ) from problem
        except OSError as problem:
            raise RequestError(
                "{run} cannot be locked: {reason}.",
                run=self._run.name,
                reason=problem.strerror or problem,
            ) from problem
        me = Holder(pid=os.getpid(), host=platform.node(), since=now())
        # A full disk must not stop a run; it is locked all the same.
        with contextlib.suppress(OSError):
            write_atomically(_record_file(self._run), json.dumps(asdict(me)).encode())

    def release(self) -> None:
        """Release the lock; nothing happens if it is not held."""
        if self._lock.is_locked:
            with contextlib.suppress(OSError):
                _record_file(self._run).unlink(missing_ok=True)
            self._lock.release()

    def __enter__(self) -> "RunLock":
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def holder(run: Path) -> Holder | None:
    """Return the living process that holds a run, ``None`` if there is none.

    Writes nothing: a run that was never locked, or whose lock was given back, is not even opened.
    """
    if not left_behind(run):
        return None
    lock = FileLock(_lock_file(run), thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return _recorded(run) or Holder()
    except OSError:
        return None  # A read-only folder, so no process here can be writing to it.
    lock.release()
    return None


def left_behind(run: Path) -> bool:
    """True if a process has locked the run and has not given it back: it lives, or was killed."""
    return _record_file(run).exists() and _lock_file(run).exists()


def _lock_file(run: Path) -> Path:
    return run / "lock"


def _record_file(run: Path) -> Path:
    return run / "lock.json"


def _recorded(run: Path) -> Holder | None:
    try:
        found = json.loads(_record_file(run).read_text(encoding="utf-8"))
        return Holder(pid=int(found["pid"]), host=str(found["host"]), since=str(found["since"]))
    except (OSError, KeyError, TypeError, ValueError, OverflowError, RecursionError):
        return None
