"""Small curves of evaluations, read in the background for the runs in view."""

from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject, QTimer, Signal, Slot

from studio.run_browser.rows import RunRow, Stamp
from studio.session.series import thinned
from studio.tasks.background_task import BackgroundTask, Report, Stopped
from td3core.runs import tables

_POINTS = 40
_KEPT = 2_000
_AT_ONCE = 32
_SOON_MS = 30
_MOST_BYTES = 8 * 2**20


class Sparklines(QObject):
    """Mean returns of the evaluations of runs, cached by folder."""

    changed = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._known: dict[Path, tuple[Stamp, tuple[float, ...]]] = {}
        self._wanted: dict[Path, Stamp] = {}
        self._task = BackgroundTask("read-sparklines", self)
        self._task.reported.connect(self._take)
        self._task.finished.connect(self._read_more)
        self._soon = QTimer(self, singleShot=True, interval=_SOON_MS)
        self._soon.timeout.connect(self._read_more)

    def values(self, row: RunRow) -> tuple[float, ...]:
        """Return the known values of a run; if they are out of date, they are read soon."""
        stamp, values = self._known.get(row.path, (None, ()))
        if stamp != row.stamp:
            self._wanted[row.path] = row.stamp
            if not self._soon.isActive() and not self._task.busy:
                self._soon.start()
        return values

    def stop(self) -> None:
        """Stop reading."""
        self._soon.stop()
        self._task.cancel()

    @Slot()
    def _read_more(self) -> None:
        if self._task.busy or not self._wanted:
            return
        # The latest requests are for the runs now in view.
        batch = dict(list(self._wanted.items())[-_AT_ONCE:])
        self._wanted.clear()

        def work(report: Report, stopped: Stopped) -> None:
            report({path: (stamp, read_means(path, stopped)) for path, stamp in batch.items()})

        self._task.start(work)

    @Slot(object)
    def _take(self, found: dict[Path, tuple[Stamp, tuple[float, ...]]]) -> None:
        self._known |= found
        while len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]
        self.changed.emit()


def read_means(run: Path, stopped: Stopped) -> tuple[float, ...]:
    """Read the mean returns of a run's evaluations; if many, the extremes of each stretch."""
    steps, means = tables.read_means(run / "evaluations.csv", _MOST_BYTES, stopped).T
    finite = np.isfinite(means)
    _, drawn = thinned(steps[finite], means[finite], _POINTS)
    return tuple(map(float, drawn))
