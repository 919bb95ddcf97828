"""Detects from another thread whether a thread makes progress.

Loading an agent takes from a tenth of a second to many, as its environment may import a simulator
first, so time alone cannot distinguish a slow import from a hang. But an import keeps executing new
code, while a hang stays in one place or in a loop.
"""

import sys
import threading
import time
from traceback import walk_stack
from types import CodeType

_RUNNING = 0.05
"""Minimum share of CPU time that a computing thread gets, even on a busy machine."""


class HangDetector:
    """Samples the functions on the stack of a thread.

    Besides the sampling thread, only the watched one may be using the CPU.
    """

    def __init__(self, thread: threading.Thread) -> None:
        self._ident = thread.ident
        self._seen: set[CodeType] = set()
        self._idle_s = 0.0
        self._looked, self._used = time.monotonic(), _cpu_of_others_s()

    def idle_s(self) -> float:
        """Return how long the thread has executed no new code; must be called often.

        While the thread computes, its CPU time is counted, not wall time: a busy machine is no
        hang.
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
    """Return the CPU time of this process without that of the calling thread."""
    return time.process_time() - time.thread_time()
