"""A child process that exchanges Python objects with its parent over its standard streams.

The parent starts it with :class:`MessageProcess`; in the child :class:`ParentLink` is the other
end. The child learns of the parent's death by the end of its input, so none is orphaned unnoticed;
unlike a daemonic process of :mod:`multiprocessing` it may have children itself, and may outlive its
parent if it chooses to.
"""

import contextlib
import os
import pickle
import signal
import struct
import subprocess
import threading
from collections.abc import Callable, Mapping
from typing import IO, Any

from td3core.system.child_process import python_command

_LENGTH = struct.Struct("!Q")
_CHUNK = 1 << 20
_LOG_S = 1.0


def _ignore(_: str) -> None:
    pass


class MessageProcess:
    """Runs ``main()`` of a module in a new process.

    ``on_message`` gets what the child sends, ``on_log`` each line of its standard error, and
    ``on_end`` its exit code after the last message; all three are called in threads of this object.

    Raises:
        OSError: the system has no room for another process.
    """

    def __init__(
        self,
        module: str,
        on_message: Callable[[Any], None],
        on_end: Callable[[int], None],
        on_log: Callable[[str], None] = _ignore,
        *,
        own_session: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """``own_session``: signals of the terminal do not reach it.

        ``environment``: its variables, if they are not those of this process.
        """
        command = python_command(f"from {module} import main\nmain()")
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(  # noqa: S603
            command,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            start_new_session=own_session,
            env=environment,
        )
        self._on_message, self._on_end, self._on_log = on_message, on_end, on_log
        reader = threading.Thread(target=self._read, name=f"read-{module}", daemon=True)
        log = threading.Thread(target=self._read_log, name=f"log-{module}", daemon=True)
        self._reader, self._log = reader, log
        reader.start()
        log.start()

    @property
    def pid(self) -> int:
        """The system's number of the process."""
        return self._process.pid

    def send(self, message: object) -> None:
        """Send an object; nothing happens if the process is gone. From one thread only."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            _write(self._process.stdin, message)

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait for the process and the last call of ``on_end``; return whether both are over."""
        self._reader.join(timeout_s)
        if self._reader.is_alive():
            return False
        # Not for long: a process that an environment has left may hold standard error open.
        self._log.join(_LOG_S)
        return True

    def _read(self) -> None:
        process = self._process
        assert process.stdout is not None
        assert process.stdin is not None
        with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
            while True:
                self._on_message(_read(process.stdout.fileno()))
        code = process.wait()
        process.stdout.close()
        with contextlib.suppress(OSError):
            process.stdin.close()
        self._on_end(code)

    def _read_log(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        with stream:
            for line in stream:
                self._on_log(line.decode(errors="replace").rstrip())


class ParentLink:
    """The child's end. From now on what is printed goes to standard error."""

    def __init__(self) -> None:
        self._in, self._out = os.dup(0), os.fdopen(os.dup(1), "wb")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        self._sending = threading.Lock()

    def receive(self) -> Any:
        """Wait for an object from the parent.

        Raises:
            EOFError: the parent is gone.
        """
        return _read(self._in)

    def send(self, message: object) -> None:
        """Send an object; nothing happens if the parent is gone."""
        with self._sending, contextlib.suppress(OSError, ValueError):
            _write(self._out, message)

    def listen(self, on_message: Callable[[Any], None], on_parent_gone: Callable[[], None]) -> None:
        """Pass on what the parent sends, in a thread of its own."""

        def work() -> None:
            try:
                while True:
                    on_message(self.receive())
            except (EOFError, OSError):
                on_parent_gone()

        threading.Thread(target=work, name="listen-to-parent", daemon=True).start()


def ignore_terminal() -> None:
    """Ignore the signals that a terminal sends to all its processes: the parent handles them."""
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def detach_output() -> None:
    """Drop what is printed from now on: the parent, which read it, is about to leave."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nothing, number)
    os.close(nothing)


def _write(stream: IO[bytes], message: object) -> None:
    data = pickle.dumps(message)
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def _read(descriptor: int) -> Any:
    (length,) = _LENGTH.unpack(_read_exactly(descriptor, _LENGTH.size))
    # From the program's own process, over a pipe that no one else has.
    return pickle.loads(_read_exactly(descriptor, length))  # noqa: S301


def _read_exactly(descriptor: int, count: int) -> bytes:
    """Read so many bytes; without a buffer, which a thread could not share with a forked child.

    Raises:
        EOFError: the other end was closed.
    """
    parts = []
    while count:
        part = os.read(descriptor, min(count, _CHUNK))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
