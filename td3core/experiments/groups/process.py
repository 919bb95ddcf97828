"""A group in a process of its own: the parent's side."""

import threading
from collections.abc import Callable

from td3core.errors import quoted
from td3core.experiments.groups.commands import Command
from td3core.experiments.groups.messages import (
    CODEC,
    GroupEnded,
    GroupMessage,
    NewGroup,
    ResumedGroup,
)
from td3core.experiments.run_process import EXIT_S
from td3core.protocol.steering import Ask, Verb
from td3core.system.message_process import MessageProcess
from td3core.text import Text

_CHILD = "td3core.experiments.groups.child"


class GroupProcess:
    """Trains a group in a new process, so that a window never waits.

    Every message goes to ``report``, in a thread of this object; the last is a ``GroupEnded``,
    after the process has ended. However this process ends, the runs are saved and end; after
    :meth:`detach` they continue.

    Raises:
        OSError: the system cannot start another process.
    """

    def __init__(
        self, job: NewGroup | ResumedGroup, report: Callable[[GroupMessage], None]
    ) -> None:
        self._report = report
        self._ending: GroupEnded | None = None
        self._last_line = ""
        self._process = MessageProcess(
            _CHILD, CODEC, self._on_message, self._on_end, self._on_log, own_session=True
        )
        self._process.send(job)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def command(self, command: Command) -> None:
        """Send a command; from one thread only."""
        self._process.send(command)

    def detach(self) -> None:
        """Let the group continue when this process ends."""
        self._process.send(Ask(Verb.DETACH))

    def _on_message(self, message: GroupMessage) -> None:
        if not isinstance(message, GroupEnded):
            self._report(message)
            return
        self._ending = message
        self._killer = threading.Timer(EXIT_S, self._process.kill)
        self._killer.daemon = True
        self._killer.start()

    def _on_log(self, line: str) -> None:
        self._last_line = line or self._last_line

    def _on_end(self, code: int) -> None:
        if self._ending is not None:
            self._killer.cancel()
            self._report(self._ending)
            return
        if code < 0:
            problem = Text("The process of the group was killed by signal {n}.", n=-code)
        else:
            problem = Text("The process of the group ended early.")
            if self._last_line:
                problem = quoted(self._last_line)
        self._report(GroupEnded(problem=problem))
