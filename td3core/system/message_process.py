"""A child process that exchanges messages with its parent over its standard streams.

The parent starts it with :class:`MessageProcess`; in the child :class:`ParentLink` is the other
end. The child detects the parent's death by the end of its input, so it cannot be orphaned
unnoticed. Unlike a daemonic process of :mod:`multiprocessing` it may have children, and may choose
to outlive its parent.

Messages are lines of JSON (see :mod:`td3core.system.json_lines`): nothing is unpickled. The first
one lists the third-party code that the child may import (:mod:`td3core.system.allowed_code`).
"""

import contextlib
import logging
import os
import queue
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from td3core import __version__
from td3core.system import allowed_code
from td3core.system.child_process import kill_session, python_command
from td3core.system.json_lines import Codec, LineBuffer, Unknown

log = logging.getLogger(__name__)

_CHILD = """\
import td3core
if td3core.__version__ != {version!r}:
    found = td3core.__version__
    raise SystemExit("TD3 Studio was updated from {version} to " + found + ": restart it.")
from td3core.system import allowed_code
allowed_code.receive()
from {module} import main
main()
"""

_CHUNK = 1 << 20
_LOG_S = 1.0
_SEND_S = 1.0
_LAST_MESSAGES_S = 5.0
"""Seconds to deliver a process's last messages after its end. A process left behind by an
environment may hold the pipe open forever."""


def _ignore(_: object) -> None:
    pass


class MessageProcess:
    """Runs ``main()`` of a module in a new process.

    ``on_message`` gets the child's messages, ``on_log`` each line of its standard error, and
    ``on_end`` its exit code after the last message; all three are called in threads of this object.
    ``on_end`` is always called. If ``on_message`` raises, no further message is read, and to the
    child its parent appears to be gone.

    Raises:
        OSError: the system cannot start another process.
    """

    def __init__(
        self,
        module: str,
        codec: Codec,
        on_message: Callable[[Any], None],
        on_end: Callable[[int], None],
        on_log: Callable[[str], None] = _ignore,
        *,
        own_session: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """``codec``: used by both ends.

        ``own_session``: signals from the terminal do not reach the process.

        ``environment``: its environment variables, if different from this process's.
        """
        command = python_command(_CHILD.format(version=__version__, module=module))
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(  # noqa: S603
            command,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            start_new_session=own_session,
            env=environment,
        )
        self._codec, self._own_session = codec, own_session
        self._on_message, self._on_end, self._on_log = on_message, on_end, on_log
        self._outbox: queue.SimpleQueue[tuple[bytes, threading.Event] | None]
        self._outbox, self._stuck = queue.SimpleQueue(), False
        self._writer, self._reader, self._log_reader, self._waiter = (
            threading.Thread(target=work, name=f"{name}-{module}", daemon=True)
            for name, work in (
                ("write", self._write),
                ("read", self._read),
                ("log", self._read_log),
                ("await", self._await_end),
            )
        )
        for thread in (self._writer, self._reader, self._log_reader, self._waiter):
            thread.start()
        self._put(allowed_code.first_message())

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def send(self, message: object) -> None:
        """Send a message; does nothing if the process is gone.

        A hanging process does not read, so its pipe may fill up. After a first timeout no call
        waits again; queued messages are written once the process reads.
        """
        sent = self._put(self._codec.encode(message))
        if not self._stuck and self._writer.is_alive():
            self._stuck = not sent.wait(_SEND_S)

    def _put(self, line: bytes) -> threading.Event:
        """Queue a line for writing; return the event of its completion."""
        sent = threading.Event()
        self._outbox.put((line, sent))
        return sent

    def kill(self) -> None:
        """Kill the process; if it has its own session, also the processes it has started."""
        if self._own_session:
            kill_session(self._process)
        else:
            self._process.kill()

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait for the process to end and ``on_end`` to return; return whether both have."""
        self._waiter.join(timeout_s)
        if self._waiter.is_alive():
            return False
        # With a timeout: a process left behind by an environment may hold standard error open.
        self._log_reader.join(_LOG_S)
        self._writer.join(_LOG_S)
        return True

    def _write(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        while (item := self._outbox.get()) is not None:
            data, sent = item
            with contextlib.suppress(OSError, ValueError):
                stdin.write(data)
                stdin.flush()
            sent.set()
        with contextlib.suppress(OSError):
            stdin.close()

    def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        try:
            for message in _messages(stdout.fileno(), self._codec):
                self._on_message(message)
        except Exception:
            log.exception("a message of process %d could not be handled", self.pid)
        finally:
            # The child is gone, or must see this end as gone.
            stdout.close()
            self._outbox.put(None)

    def _await_end(self) -> None:
        code = self._process.wait()
        self._reader.join(_LAST_MESSAGES_S)
        # No messages after the end.
        self._on_message = _ignore
        self._on_end(code)

    def _read_log(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        with stream:
            for line in stream:
                try:
                    self._on_log(line.decode(errors="replace").rstrip())
                except Exception:
                    # Keep reading: a full pipe would block the child.
                    log.exception("a line of process %d could not be passed on", self.pid)
                    self._on_log = _ignore


class ParentLink:
    """The child's end. Redirects ``print`` to standard error."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._in, self._out = os.dup(0), os.fdopen(os.dup(1), "wb")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        self._messages = _messages(self._in, codec)
        self._sending = threading.Lock()

    def receive(self) -> Any:
        """Wait for a message from the parent.

        Raises:
            EOFError: the parent is gone.
            LineError: the parent has another version.
        """
        for message in self._messages:
            return message
        raise EOFError

    def send(self, message: object) -> None:
        """Send a message; does nothing if the parent is gone."""
        line = self._codec.encode(message)
        with self._sending, contextlib.suppress(OSError, ValueError):
            self._out.write(line)
            self._out.flush()

    def listen(self, on_message: Callable[[Any], None], on_parent_gone: Callable[[], None]) -> None:
        """Pass the parent's messages to ``on_message``, in a separate thread."""

        def work() -> None:
            try:
                for message in self._messages:
                    on_message(message)
            except Exception:
                # Without a reader, the child could not be stopped: treat the parent as gone.
                log.exception("a message of the parent could not be handled")
            finally:
                on_parent_gone()

        threading.Thread(target=work, name="listen-to-parent", daemon=True).start()


def detach_output() -> None:
    """Discard output from now on: the parent, which reads it, is about to exit."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nothing, number)
    os.close(nothing)


def _messages(descriptor: int, codec: Codec) -> Iterator[Any]:
    """Yield the other end's messages until it is closed.

    Reads without a buffered stream, whose lock a forked child would inherit.

    Raises:
        LineError: the other end has another version, or something else has written to the pipe.
    """
    lines = LineBuffer()
    while piece := _read(descriptor):
        for line in lines.add(piece):
            message = codec.decode(line)
            if isinstance(message, Unknown):
                log.warning("a message of a newer version was left out: %s", message.kind)
            else:
                yield message


def _read(descriptor: int) -> bytes:
    """Return the available bytes; empty once the other end is closed."""
    with contextlib.suppress(OSError):
        return os.read(descriptor, _CHUNK)
    return b""
