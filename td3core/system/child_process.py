"""Child processes, which import exactly what their parent does.

A new interpreter looks in the current folder first, until it has been told its parent's search
path; what it needs to get there could come from anyone's files. Of strangers' code it may import
what its parent may (:mod:`td3core.system.allowed_code`).
"""

import json
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from td3core.system import allowed_code
from td3core.system.import_path import absolute_path

_JOIN_TIMEOUT_S = 2.0
_SAFE = "PYTHONSAFEPATH"
_starting = threading.Lock()


def python_command(code: str, words: Sequence[str] = ()) -> list[str]:
    """Return a command that runs ``code`` in a new interpreter with the search path of this one.

    ``words`` are ``sys.argv[1:]`` there.
    """
    begin = "import json, sys\nsys.path[:] = json.loads(sys.argv.pop(1))\n"
    return [sys.executable, "-P", "-c", begin + code, json.dumps(absolute_path()), *words]


def spawn(name: str, target: Callable[..., None], *args: Any) -> SpawnProcess:
    """Start a process that runs ``target(*args)`` and ends with this one.

    Spawned, not forked: a fork would copy the locks of a process with many threads.

    Raises:
        OSError: the system has no room for another one.
    """
    context = multiprocessing.get_context("spawn")
    before = os.environ.get(_SAFE)
    message = before, allowed_code.snapshot(), target, args
    process = context.Process(target=_run, args=message, name=name, daemon=True)
    with without_current_folder():
        process.start()
    return process


def _run(
    before: str | None,
    allowed: Iterable[allowed_code.Entry],
    target: Callable[..., None],
    args: tuple[Any, ...],
) -> None:
    """Run ``target`` with the environment variables of the parent, and what it may import."""
    _restore(before)
    allowed_code.replace(allowed)
    target(*args)


@contextmanager
def without_current_folder() -> Iterator[None]:
    """Let interpreters that are started here not import from the current folder."""
    with _starting:
        before = os.environ.get(_SAFE)
        os.environ[_SAFE] = "1"
        try:
            if os.name == "posix":
                # Another interpreter, which the first child or shared memory starts.
                resource_tracker.ensure_running()
            yield
        finally:
            _restore(before)


def _restore(before: str | None) -> None:
    if before is None:
        os.environ.pop(_SAFE, None)
    else:
        os.environ[_SAFE] = before


def leave_signals_to_parent() -> None:
    """Ignore the signals that reach every process of a terminal or a service.

    The training process handles them: it needs its children to save what they are doing.
    """
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


class ChildProcess:
    """Runs ``target(pipe, *work)`` in a new process; :attr:`pipe` is this end of the pipe."""

    def __init__(self, name: str, target: Callable[..., None], *work: Any) -> None:
        self.pipe: Connection
        self.pipe, theirs = multiprocessing.get_context("spawn").Pipe()
        try:
            self._process = spawn(name, target, theirs, *work)
        except BaseException:
            self.pipe.close()
            raise
        finally:
            theirs.close()

    def ready(self, timeout_s: float) -> bool:
        """Return whether a message arrives within ``timeout_s`` seconds, or the process is over."""
        return self.pipe.poll(timeout_s) or self._process.exitcode is not None

    def receive(self) -> Any:
        """Return the next message of a process that is ready.

        Raises:
            EOFError: it has ended; a process that an environment has left may hold the pipe open.
        """
        if not self.pipe.poll():
            raise EOFError
        return self.pipe.recv()

    def exit_code(self) -> int | None:
        """Wait up to 2 s for the process to end; return its exit code, or None if it has not."""
        self._process.join(_JOIN_TIMEOUT_S)
        return self._process.exitcode

    def close_pipe(self) -> None:
        """Close this end of the pipe, which asks the process to end."""
        self.pipe.close()

    def stop(self, *, kill: bool = False) -> None:
        """End the process: at once if ``kill``, else give it 2 s to finish what it is doing."""
        self.close_pipe()
        if kill:
            # It ignores the signal of terminate().
            self._process.kill()
        self._process.join(_JOIN_TIMEOUT_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()
