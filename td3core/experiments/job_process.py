"""A job in a process of its own: the parent's side."""

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from td3core.errors import quoted
from td3core.protocol.steering import Ask, Verb
from td3core.system.json_lines import Codec
from td3core.system.message_process import MessageProcess
from td3core.text import Text

EXIT_S = 10.0
"""Seconds that a process may live on after its last message; then it is killed. Its work is saved,
but a thread of an environment may keep it alive forever."""
_LAST_LINES = 40


def ignore(_: str) -> None:
    """Drop a line of standard error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """How a process ended before its last message."""

    code: int
    """Its exit code; negative if a signal killed it."""
    cause: Text
    details: str
    """The end of its standard error."""


class JobProcess:
    """Does one job in a new process, which has its own session.

    ``on_end`` is called once the process has ended: with None if it sent its last message, which is
    of one of the types ``last``. However this process ends, the child saves its work and ends;
    after :meth:`detach` it continues.

    Raises:
        OSError: the system cannot start another process.
    """

    def __init__(
        self,
        module: str,
        codec: Codec,
        job: object,
        last: tuple[type, ...],
        on_message: Callable[[Any], None],
        on_end: Callable[[Loss | None], None],
        on_log: Callable[[str], None] = ignore,
        *,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._last, self._over = last, False
        self._take_message, self._take_end, self._take_line = on_message, on_end, on_log
        self._lines: deque[str] = deque(maxlen=_LAST_LINES)
        self._killer = threading.Timer(EXIT_S, self.kill)
        self._killer.daemon = True
        self._process = MessageProcess(
            module,
            codec,
            self._handle,
            self._finish,
            self._keep_line,
            own_session=True,
            environment=environment,
        )
        self.send(job)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def send(self, message: object) -> None:
        """Send a message; does nothing if the process is gone."""
        self._process.send(message)

    def kill(self) -> None:
        """Kill the process and those that it started; its job can be resumed."""
        self._process.kill()

    def detach(self) -> None:
        """Let the job continue when this process ends."""
        self.send(Ask(Verb.DETACH))

    def _handle(self, message: Any) -> None:
        if isinstance(message, self._last) and not self._over:
            self._over = True
            self._killer.start()
        self._take_message(message)

    def _keep_line(self, line: str) -> None:
        self._lines.append(line)
        self._take_line(line)

    def _finish(self, code: int) -> None:
        self._killer.cancel()
        # A copy: another thread may still add lines.
        self._take_end(None if self._over else _loss(code, list(self._lines)))


def _loss(code: int, lines: list[str]) -> Loss:
    if code < 0:
        cause = Text("The process was killed by signal {number}.", number=-code)
    else:
        last = next((line for line in reversed(lines) if line.strip()), "")
        cause = quoted(last) if last else Text("The process ended early.")
    return Loss(code=code, cause=cause, details="\n".join(lines))
