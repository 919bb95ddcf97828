"""The x axis of a run's plots: steps, episodes or time."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from studio.formatting import format_count, format_duration
from studio.session.curves import RunCurves
from td3core.analysis.results import XAxis
from td3core.arrays import Doubles
from td3core.text import NO_TEXT, Text, tr

AXES: tuple[tuple[Text, XAxis], ...] = (
    (Text("Steps"), "steps"),
    (Text("Episodes"), "episodes"),
    (Text("Wall time (s)"), "time"),
)
"""Choices of the x axis, with their names on screen."""
UNPLACED: dict[XAxis, Text] = {
    "episodes": Text("No episodes recorded: choose another x axis."),
    "time": Text("No times recorded: choose another x axis."),
}
"""Shown in place of curves without a position on an axis."""
LABELS: dict[XAxis, Text] = {
    "steps": Text("environment steps"),
    "episodes": Text("episodes"),
    "time": Text("wall time (s)"),
}


def heading_at(axis: XAxis, x: float) -> str:
    """Return a position on the x axis as shown in the readout."""
    if axis == "time":
        return format_duration(x)
    if axis == "steps":
        return tr("step {step}", step=format_count(x))
    return tr("episode {episode}", episode=format_count(x))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepToX:
    """Maps steps of a run to positions on the x axis and back."""

    axis: XAxis = "steps"
    steps: Doubles = field(default_factory=lambda: np.zeros(1))
    """Steps with known positions, increasing, shape (n,)."""
    places: Doubles = field(default_factory=lambda: np.zeros(1))
    """Their positions, increasing, shape (n,)."""
    missing: Text = NO_TEXT
    """Why nothing has a position; usually empty."""

    def places_of(self, steps: Any) -> Any:
        """Return the positions of steps; beyond the known ones, the nearest position."""
        return steps if self.axis == "steps" else np.interp(steps, self.steps, self.places)

    def step_at(self, place: float) -> float:
        """Return the step at a position."""
        if self.axis == "steps":
            return place
        return float(np.interp(place, self.places, self.steps))


BY_STEPS = StepToX()


def map_of(curves: RunCurves, axis: XAxis) -> StepToX:
    """Return the map of a run, from the episodes and times recorded so far."""
    if axis == "steps":
        return BY_STEPS
    if axis == "episodes":
        series = curves.episodes
        # Neighbouring rows of a long run are merged.
        places = np.arange(len(series) + 1, dtype=np.float64) * series.rows_each
        steps = np.concatenate(([0.0], series.column("env_steps")))
    else:
        steps, places = curves.clock.T
    measured = any(map(len, (curves.training, curves.episodes, curves.evaluations)))
    # Imported curves may have no times, or only times of 0 s.
    placed = bool((places > 0.0).any())
    return StepToX(
        axis=axis,
        missing=UNPLACED[axis] if measured and not placed else NO_TEXT,
        steps=steps,
        places=places,
    )
