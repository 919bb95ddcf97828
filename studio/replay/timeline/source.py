"""Points of the timeline: the current run, or the training of a bundled agent."""

import json
from functools import cache
from importlib.resources import files
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from studio.replay.checkpoint_model import CheckpointModel
from studio.replay.newest_agent_tracker import ShownAgent
from studio.replay.timeline.points import SavedFile, TimelinePoint, points_of
from td3core.checkpoint import SUFFIX


class TimelineSource(QObject):
    """Turns the rows of the list into points; changes in quick succession cause one update."""

    changed = Signal(list)
    """Carries a list of :class:`~studio.replay.timeline.points.TimelinePoint`."""

    def __init__(self, model: CheckpointModel, parent: QObject) -> None:
        super().__init__(parent)
        self._model = model
        self._shown: ShownAgent | None = None
        self._soon = QTimer(self, singleShot=True)
        self._soon.timeout.connect(self._emit)
        for announced in (model.rowsInserted, model.rowsRemoved, model.dataChanged):
            announced.connect(self._soon.start)

    def note_shown(self, shown: ShownAgent) -> None:
        """Note the current agent; a bundled one may have its own history."""
        self._shown = shown
        self._soon.start()

    @Slot()
    def _emit(self) -> None:
        self.changed.emit(self.points())

    def points(self) -> list[TimelinePoint]:
        """Return the points to show now."""
        found = self._model.current_files()
        if found is None:
            return _bundled_points(self._shown.path) if self._shown else []
        points = points_of(found, self._model.marks)
        return points if self._shown is None else _with_gone(points, self._shown)


def _with_gone(points: list[TimelinePoint], shown: ShownAgent) -> list[TimelinePoint]:
    """Add the current agent if it is no longer saved, unless another file holds it."""
    if not shown.gone or any(point.env_steps == shown.env_steps for point in points):
        return points
    gone = TimelinePoint(
        env_steps=shown.env_steps,
        path=shown.path,
        mean_return=shown.mean_return,
        role=shown.role,
    )
    return sorted([*points, gone], key=lambda point: point.env_steps)


@cache
def _series(record: Path) -> tuple[SavedFile, ...]:
    """Return a bundled agent with its earlier ones, from the record next to it."""
    try:
        found = json.loads(record.read_text("utf-8"))
    except OSError:
        return ()
    means = {int(step): float(mean) for step, mean in found["curve"]}
    own = record.with_suffix(SUFFIX)
    steps = {
        int(path.stem.partition("_")[2]): path
        for path in record.with_suffix("").glob(f"step_*{SUFFIX}")
    }
    steps[int(found["env_steps"])] = own
    means[int(found["env_steps"])] = float(found["evaluation"]["mean"])
    return tuple(
        SavedFile(path=path, env_steps=step, mean_return=means.get(step))
        for step, path in sorted(steps.items())
    )


def _bundled_points(shown: Path) -> list[TimelinePoint]:
    agents = Path(str(files("resources") / "agents"))
    if shown.parent == agents:
        record = shown.with_suffix(".json")
    elif shown.parent.parent == agents:
        record = shown.parent.with_suffix(".json")
    else:
        return []
    return points_of(_series(record), {})
