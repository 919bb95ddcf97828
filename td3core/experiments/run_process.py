"""One run in a process of its own: the parent's side."""

import logging
import threading
from collections import deque
from collections.abc import Callable

from td3core.errors import quoted
from td3core.experiments.jobs import CODEC, Job, Preload
from td3core.protocol.events import Ended, Event, Failed
from td3core.protocol.steering import Ask, Request, Requesting, Tune, Verb
from td3core.system.message_process import MessageProcess
from td3core.system.numerics import environment_of
from td3core.text import Text

log = logging.getLogger(__name__)

_CHILD = "td3core.experiments.run_child"
_LAST_LINES = 40
EXIT_S = 10.0
"""Seconds that a process may live on after its last event; then it is killed. Its run is saved, but
a thread of an environment may keep it alive forever."""
_KILLED_S = 10.0


def _ignore(_: str) -> None:
    pass


_NO_ANSWER = Text(
    "The run was killed because its environment did not respond. It can be resumed from its last"
    " checkpoint."
)


class RunProcess(Requesting):
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
        on_log: Callable[[str], None] = _ignore,
    ) -> None:
        self._report, self._forward_log = report, on_log
        self._lines: deque[str] = deque(maxlen=_LAST_LINES)
        self._over = False
        self._killer = threading.Timer(EXIT_S, self.kill)
        self._killer.daemon = True
        self._changes = 0
        self.stopping = False
        self._gave_up = False
        self.lost: int | None = None
        """Exit code of a process that ended without its run's last event."""
        self._process = MessageProcess(
            _CHILD,
            CODEC,
            self._on_event,
            self._on_end,
            self._on_log,
            own_session=True,
            environment=environment_of(job.numerics),
        )
        self._process.send(job)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def begin(self, job: Job) -> None:
        """Train this run, in a process that was started for :class:`Preload`."""
        self._process.send(job)

    def request(self, request: Request) -> int:
        """Send a request to the process; return how many live changes it has been sent."""
        self._changes += isinstance(request, Tune)
        self.stopping = self.stopping or request == Ask(Verb.STOP)
        self._process.send(request)
        return self._changes

    def detach(self) -> None:
        """Let the run continue when this process ends."""
        self.request(Ask(Verb.DETACH))

    def kill(self) -> None:
        """Kill the process; the run can be resumed from its last checkpoint."""
        self._process.kill()

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
        if not self._process.join(timeout_s):
            self._process.kill()
            if not self._process.join(_KILLED_S):
                log.warning("process %d could not be ended", self.pid)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Ended | Failed) and not self._over:
            self._over = True
            self._killer.start()
        self._report(event)

    def _on_log(self, line: str) -> None:
        self._lines.append(line)
        self._forward_log(line)

    def _on_end(self, code: int) -> None:
        self._killer.cancel()
        if not self._over:
            self.lost = code
            message = _NO_ANSWER if self._gave_up else _cause(code, self._lines)
            self._report(Failed(message=message, details="\n".join(self._lines)))


def _cause(code: int, lines: deque[str]) -> Text:
    """Return why a process ended before its run."""
    if code < 0:
        return Text("The process of the run was killed by signal {number}.", number=-code)
    last = next((line for line in reversed(lines) if line.strip()), "")
    return quoted(last) if last else Text("The process of the run ended early.")
