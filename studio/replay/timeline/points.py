"""The checkpoints on the timeline: one point per step, with its marks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from studio.formatting import format_count, format_return
from td3core.text import Text


class Mark(StrEnum):
    """Special property of a checkpoint."""

    BEST = "best"
    LAST = "last"
    MANUAL = "manual"
    BRANCH = "branch"


_NAMES = {
    Mark.BEST: Text("best"),
    Mark.LAST: Text("last"),
    Mark.MANUAL: Text("saved by hand"),
    Mark.BRANCH: Text("branched from here"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelinePoint:
    """One agent of a run."""

    env_steps: int
    path: Path
    mean_return: float | None = None
    marks: frozenset[Mark] = frozenset()
    role: Text | None = None
    """Role of a displayed agent that is no longer saved, such as ``earlier best``."""
    others: frozenset[Path] = frozenset()
    """Files that hold the same agent."""

    @property
    def text(self) -> str:
        """Description of the agent."""
        parts = [Text("Step {step}", step=format_count(self.env_steps))]
        if self.mean_return is not None:
            parts.append(Text("return {mean}", mean=format_return(self.mean_return)))
        parts += [self.role] if self.role is not None else []
        parts += [name for mark, name in _NAMES.items() if mark in self.marks]
        return ", ".join(map(str, parts))

    def holds(self, path: Path) -> bool:
        """Return whether a file holds this agent."""
        return path == self.path or path in self.others


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFile:
    """A checkpoint file with a known step."""

    path: Path
    env_steps: int
    mean_return: float | None


def marks_of(manual: Iterable[int], branched: Iterable[int]) -> dict[int, set[Mark]]:
    """Return the marks of steps that were saved by hand or branched from."""
    marks: dict[int, set[Mark]] = {}
    for steps, mark in ((manual, Mark.MANUAL), (branched, Mark.BRANCH)):
        for step in steps:
            marks.setdefault(step, set()).add(mark)
    return marks


def points_of(
    files: Iterable[SavedFile], noted: Mapping[int, Iterable[Mark]]
) -> list[TimelinePoint]:
    """Return a point for each step, in order; ``noted`` are the marks by step."""
    points: dict[int, TimelinePoint] = {}
    for file in files:
        steps = file.env_steps
        marks = frozenset({Mark(file.path.stem)} if file.path.stem in ("best", "last") else ())
        known = points.get(steps)
        if known is None:
            points[steps] = TimelinePoint(
                env_steps=steps, path=file.path, mean_return=file.mean_return, marks=marks
            )
            continue
        # A step's own file never changes; best and last are overwritten.
        mean = file.mean_return if known.mean_return is None else known.mean_return
        points[steps] = replace(
            known, mean_return=mean, marks=known.marks | marks, others=known.others | {file.path}
        )
    for steps, marks_of_step in noted.items():
        if steps in points:
            point = points[steps]
            points[steps] = replace(point, marks=point.marks | frozenset(marks_of_step))
    return [points[steps] for steps in sorted(points)]
