"""Whether the process of a run is alive, as far as this machine can tell."""

import platform
import time
from collections.abc import Callable
from pathlib import Path

from td3core.runs import lock
from td3core.runs.status import Status

PATIENCE_S = 8.0
"""After this long without a sign of life, a run on another machine counts as interrupted."""

_CHECK_S = 1.0
_MOST_PATIENCE_S = 120.0
_LONGER = 1.5


class Liveness:
    """Watches one run.

    On this machine the run's lock decides. A lock of another machine may be invisible here, or
    outlive its process; then the run counts as alive while its status keeps changing. Clocks of
    two machines are never compared. If a slow file system makes a living run look dead once, the
    timeout is longer from then on.
    """

    def __init__(self, run: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._run, self._clock = run, clock
        self._checked_at: float | None = None
        self._alive = False
        self._beat: tuple[str, int] | None = None
        self._changed_at = clock()
        self._patience_s = PATIENCE_S

    def check(self, status: Status | None) -> bool:
        """Return whether the process lives; ``status`` is its latest status."""
        now = self._clock()
        self._note_beat(status, now)
        if self._checked_at is None or now - self._checked_at >= _CHECK_S:
            self._checked_at = now
            self._alive = self._look(now)
        return self._alive

    def _note_beat(self, status: Status | None, now: float) -> None:
        beat = (status.session, status.beat) if status else None
        if beat == self._beat:
            return
        gap = now - self._changed_at
        same_session = self._beat is not None and beat is not None and beat[0] == self._beat[0]
        if same_session and gap > self._patience_s:
            self._patience_s = min(_LONGER * gap, _MOST_PATIENCE_S)
        self._beat, self._changed_at = beat, now
        # Check at once: it may have been taken for dead.
        self._checked_at = None

    def _look(self, now: float) -> bool:
        record = lock.recorded(self._run)
        if record is None or record.host in ("", platform.node()):
            return lock.holder(self._run) is not None
        return now - self._changed_at < self._patience_s
