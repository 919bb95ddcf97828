"""Whether a thread gets on with what it does, seen from another thread.

Loading an agent takes from a tenth of a second to many, as its environment may import a simulator
first, so time alone does not tell a slow import from a hang. What does: an import executes ever
new code, a hang stays where it is or goes in circles.
"""

import sys
import threading
import time
from traceback import walk_stack
from types import CodeType

_RUNNING = 0.05
"""Share of the time that a thread which computes gets of a processor, even of a busy one."""


class HangDetector:
    """Looks at the functions on the stack of a thread.

    Only one thread besides those that look may be using the processor.
    """

    def __init__(self, thread: threading.Thread) -> None:
        self._ident = thread.ident
        self._seen: set[CodeType] = set()
        self._idle_s = 0.0
        self._looked, self._used = time.monotonic(), _cpu_of_others_s()

    def idle_s(self) -> float:
        """Return for how long the thread has executed nothing new; to be called often.

        In its own processor time while it computes: a busy computer is no hang.
        """
        now, used = time.monotonic(), _cpu_of_others_s()
        passed, computed = now - self._looked, used - self._used
        self._looked, self._used = now, used
        frame = sys._current_frames().get(self._ident or 0)
        new = {at.f_code for at, _ in walk_stack(frame)} - self._seen if frame else set()
        self._seen |= new
        if new:
            self._idle_s = 0.0
        else:
            self._idle_s += computed if computed > _RUNNING * passed else passed
        return self._idle_s


def _cpu_of_others_s() -> float:
    """Return the processor time of this process without that of the calling thread."""
    return time.process_time() - time.thread_time()
