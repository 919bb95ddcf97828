"""One run in a process of its own: the child's side."""

import os
import signal
import threading
from bisect import bisect_right
from dataclasses import replace

from td3core.experiments.jobs import CODEC, Preload, load_training, perform
from td3core.protocol.control import Control
from td3core.protocol.events import Event, Progress, Tuned
from td3core.protocol.steering import Ask, Tune, Verb, steer
from td3core.system.message_process import ParentLink, detach_output
from td3core.system.signals import ignore_terminal


def main() -> None:
    """Train the job that the parent sends, and send back every event."""
    link = ParentLink(CODEC)
    ignore_terminal()
    try:
        job = link.receive()
        if isinstance(job, Preload):
            load_training()
            job = link.receive()
    except EOFError:
        return
    control = Control()
    if os.name == "posix":
        signal.signal(signal.SIGTERM, lambda *_: control.stop())
    requests = _Requests(control)
    link.listen(requests.take, requests.parent_gone)
    load_training()
    # If the parent ended before the run began, nothing is lost: a later process can begin it.
    if not requests.abandoned:
        perform(job, control, lambda event: link.send(requests.as_numbered_by_parent(event)))


class _Requests:
    """Passes the parent's requests to the control."""

    def __init__(self, control: Control) -> None:
        self._control, self._detached = control, False
        self._lock = threading.Lock()
        self._revisions: list[int] = []
        """Revision in the control of each change that the parent requested."""
        self.abandoned = False
        """True once the parent is gone and the run must not continue without it."""

    def take(self, request: Ask | Tune) -> None:
        """Handle one request."""
        if request == Ask(Verb.DETACH):
            self._detached = True
            detach_output()
        elif isinstance(request, Tune):
            # Under the lock, before the run can report it.
            with self._lock:
                self._revisions.append(self._control.tune(request.tunables, request.before))
        else:
            steer(self._control, request)

    def as_numbered_by_parent(self, event: Event) -> Event:
        """Return an event with the revision as the parent counts it: others make changes, too."""
        if not isinstance(event, Progress | Tuned):
            return event
        with self._lock:
            return replace(event, revision=bisect_right(self._revisions, event.revision))

    def parent_gone(self) -> None:
        """Save and end, unless the parent has detached the run."""
        if not self._detached:
            detach_output()
            self.abandoned = True
            self._control.stop()
