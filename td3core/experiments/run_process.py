"""One run in a process of its own: the parent's side."""

import logging
from collections.abc import Callable

from td3core.experiments.job_process import JobProcess, Loss, ignore
from td3core.experiments.jobs import CODEC, Job, Preload
from td3core.protocol.events import Ended, Event, Failed
from td3core.protocol.steering import Ask, Request, Requesting, Tune, Verb
from td3core.system.numerics import environment_of
from td3core.text import Text

log = logging.getLogger(__name__)

_CHILD = "td3core.experiments.run_child"
_KILLED_S = 10.0
_NO_ANSWER = Text(
    "The run was killed because its environment did not respond. It can be resumed from its last"
    " checkpoint."
)


class RunProcess(JobProcess, Requesting):
    """Trains one run in a new process; a ``Steering``.

    Every event of the run goes to ``report``, in a thread of this object. The last one is always an
    ``Ended`` or a ``Failed``, even if the process was killed. However this process ends, the
    child saves the run and ends; after :meth:`detach` it continues training.

    Raises:
        OSError: the system cannot start another process.
    """

    def __init__(
        self,
        job: Job | Preload,
        report: Callable[[Event], None],
        on_log: Callable[[str], None] = ignore,
    ) -> None:
        self._report = report
        self._changes = 0
        self.stopping = False
        self._gave_up = False
        self.lost: int | None = None
        """Exit code of a process that ended without its run's last event."""
        super().__init__(
            _CHILD,
            CODEC,
            job,
            (Ended, Failed),
            report,
            self._on_end,
            on_log,
            environment=environment_of(job.numerics),
        )

    def begin(self, job: Job) -> None:
        """Train this run, in a process that was started for :class:`Preload`."""
        self.send(job)

    def request(self, request: Request) -> int:
        """Send a request to the process; return how many live changes it has been sent."""
        self._changes += isinstance(request, Tune)
        self.stopping = self.stopping or request == Ask(Verb.STOP)
        self.send(request)
        return self._changes

    def give_up(self) -> None:
        """Kill a process that does not answer a request to stop; the run fails with that reason."""
        self._gave_up = True
        self.kill()

    def wait(self, timeout_s: float) -> bool:
        """Wait until the process has ended and its last event was reported; return success."""
        return self._process.join(timeout_s)

    def join(self, timeout_s: float) -> None:
        """Wait until the process has ended and its last event was reported.

        It is killed if it has not ended after ``timeout_s``. A process waiting for an unresponsive
        disk cannot even be killed, and is left.
        """
        if not self.wait(timeout_s):
            self.kill()
            if not self.wait(_KILLED_S):
                log.warning("process %d could not be ended", self.pid)

    def _on_end(self, loss: Loss | None) -> None:
        if loss is not None:
            self.lost = loss.code
            message = _NO_ANSWER if self._gave_up else loss.cause
            self._report(Failed(message=message, details=loss.details))
