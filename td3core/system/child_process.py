"""Child processes that import from the same places as their parent and exchange JSON lines.

Until it gets its parent's search path, a new interpreter searches the current folder first, so that
its first imports could execute untrusted files there. A child may import the same third-party code
as its parent (:mod:`td3core.system.allowed_code`).
"""

import contextlib
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any

from td3core import __version__
from td3core.errors import RequestError
from td3core.system import allowed_code
from td3core.system.import_path import absolute_path
from td3core.system.json_lines import Codec, LineError, Unknown

_JOIN_TIMEOUT_S = 2.0
_SAFE = "PYTHONSAFEPATH"
_starting = threading.Lock()


def python_command(code: str, words: Sequence[str] = ()) -> list[str]:
    """Return a command that runs ``code`` in a new interpreter with the search path of this one.

    ``words`` becomes ``sys.argv[1:]`` there.
    """
    begin = "import json, sys\nsys.path[:] = json.loads(sys.argv.pop(1))\n"
    return [sys.executable, "-P", "-c", begin + code, json.dumps(absolute_path()), *words]


def kill_session(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process started with ``start_new_session``, and the processes it has started.

    Windows has no sessions; there only the process itself is killed.
    """
    if os.name == "posix" and process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


class UpdatedError(RequestError):
    """A child has another version than its parent: the program was updated meanwhile."""


@dataclass(frozen=True, slots=True)
class _Updated:
    """The only message of a child with another version."""

    version: str
    """The child's."""


_UPDATED = Codec(_Updated)


class LinePipe:
    """One end of a pipe whose messages are lines of JSON."""

    def __init__(self, connection: Connection, codec: Codec) -> None:
        self.connection, self._codec = connection, codec

    def send(self, message: object) -> None:
        """Send a message.

        Raises:
            OSError: the other end is gone.
        """
        self.connection.send_bytes(self._codec.encode(message))

    def receive(self) -> Any:
        """Wait for a message.

        Raises:
            EOFError, OSError: the other end is gone.
            LineError: the message is malformed or unknown.
            UpdatedError: the child has another version.
        """
        return self.decode(self.connection.recv_bytes())

    def decode(self, line: bytes) -> Any:
        """Return the message of a line; raises the errors of :meth:`receive`."""
        message = self._codec.decode(line)
        if isinstance(message, Unknown):
            found = _UPDATED.decode(line)
            if isinstance(found, _Updated):
                raise UpdatedError(
                    "TD3 Studio was updated from {before} to {after}: restart it.",
                    before=__version__,
                    after=found.version,
                )
            raise LineError(f"an unknown message: {message.kind}")
        return message


class _Sealed:
    """Values that are unpickled only on request: with another version that may fail."""

    def __init__(self, *values: Any) -> None:
        self._values = values

    def __getstate__(self) -> bytes:
        return bytes(ForkingPickler.dumps(self._values))

    def __setstate__(self, data: bytes) -> None:
        self._data = data

    def open(self) -> Any:
        """Return the values, in the child."""
        # Only the parent process writes these bytes.
        return pickle.loads(self._data)  # noqa: S301


def spawn(name: str, target: Callable[..., None], pipe: Connection, *args: Any) -> SpawnProcess:
    """Start a process that runs ``target(pipe, *args)`` and ends with this one.

    Spawned, not forked: a fork would copy locks held by other threads. ``pipe`` is its end of a
    :class:`LinePipe`: a child with another version reports that there, and exits.

    Raises:
        OSError: the system cannot start another process.
    """
    context = multiprocessing.get_context("spawn")
    before = os.environ.get(_SAFE)
    work = __version__, pipe, _Sealed(before, allowed_code.snapshot(), target, args)
    process = context.Process(target=_run, args=work, name=name, daemon=True)
    with without_current_folder():
        process.start()
    return process


def _run(version: str, pipe: Connection, work: _Sealed) -> None:
    """Run a target with the parent's environment variables and list of allowed code."""
    if version != __version__:
        pipe.send_bytes(_UPDATED.encode(_Updated(__version__)))
        raise SystemExit(1)
    before, allowed, target, args = work.open()
    _restore(before)
    allowed_code.replace(allowed)
    target(pipe, *args)


@contextlib.contextmanager
def without_current_folder() -> Iterator[None]:
    """Keep interpreters started here from importing from the current folder."""
    with _starting:
        before = os.environ.get(_SAFE)
        os.environ[_SAFE] = "1"
        try:
            if os.name == "posix":
                # It is an interpreter, too, started by the first child or by shared memory.
                resource_tracker.ensure_running()
            yield
        finally:
            _restore(before)


def _restore(before: str | None) -> None:
    if before is None:
        os.environ.pop(_SAFE, None)
    else:
        os.environ[_SAFE] = before


def require_main_imported() -> None:
    """Refuse work that a program's main file starts whenever it is imported.

    A spawned process imports that file before its target; without a guard it would do everything
    again. Multiprocessing refuses to start processes for the same reason.

    Raises:
        RequestError: this is a spawned process that is still importing.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise RequestError(
            "A child process imported the program's main file, which trains again. Put the training"
            " under {guard}.",
            guard='if __name__ == "__main__":',
        )


class ChildProcess:
    """Runs ``target(pipe, *work)`` in a new process; :attr:`pipe` is this end of the pipe.

    Both ends use ``codec``; the child wraps its end in a :class:`LinePipe`.
    """

    def __init__(self, name: str, codec: Codec, target: Callable[..., None], *work: Any) -> None:
        ours, theirs = multiprocessing.get_context("spawn").Pipe()
        self.pipe = LinePipe(ours, codec)
        try:
            self._process = spawn(name, target, theirs, *work)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()

    def ready(self, timeout_s: float) -> bool:
        """Return whether a message arrives within ``timeout_s`` seconds or the process is over."""
        return self.pipe.connection.poll(timeout_s) or self._process.exitcode is not None

    def receive(self) -> Any:
        """Return the next message; the process must be ready.

        Raises:
            EOFError: it has ended, even if an orphan of an environment holds the pipe open.
            UpdatedError: it has another version.
        """
        if not self.pipe.connection.poll():
            raise EOFError
        return self.pipe.receive()

    def exit_code(self) -> int | None:
        """Wait up to 2 s for the process to end; return its exit code, or None if it has not."""
        self._process.join(_JOIN_TIMEOUT_S)
        return self._process.exitcode

    def close_pipe(self) -> None:
        """Close this end of the pipe, which asks the process to end."""
        self.pipe.connection.close()

    def stop(self, *, kill: bool = False) -> None:
        """End the process: at once if ``kill``, else give it 2 s to finish its work."""
        self.close_pipe()
        if kill:
            # The process ignores SIGTERM, which terminate() sends.
            self._process.kill()
        self._process.join(_JOIN_TIMEOUT_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()
