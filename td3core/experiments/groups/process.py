"""A group in a process of its own: the parent's side."""

from collections.abc import Callable

from td3core.experiments.groups.commands import Command
from td3core.experiments.groups.group import NewGroup
from td3core.experiments.groups.messages import (
    CODEC,
    GroupEnded,
    GroupMessage,
    ResumedGroup,
)
from td3core.experiments.job_process import JobProcess, Loss

_CHILD = "td3core.experiments.groups.child"


class GroupProcess(JobProcess):
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
        super().__init__(_CHILD, CODEC, job, (GroupEnded,), self._on_message, self._on_end)

    def command(self, command: Command) -> None:
        """Send a command; from one thread only."""
        self.send(command)

    def _on_message(self, message: GroupMessage) -> None:
        if isinstance(message, GroupEnded):
            self._ending = message
        else:
            self._report(message)

    def _on_end(self, loss: Loss | None) -> None:
        if loss is not None:
            self._ending = GroupEnded(problem=loss.cause, details=loss.details)
        assert self._ending is not None
        self._report(self._ending)
