"""Writes the plot of a sweep as a picture, or its numbers as a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from td3core.experiments.sweeps.folder import SweepState, TrialState
from td3core.system.files import write_csv
from td3core.text import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialMark:
    """One entry of the legend of a picture."""

    about: Text
    colour: str
    mark: str = "●"
    hidden: bool = False

    @property
    def text(self) -> str:
        """Its name in the legend."""
        return str(self.about)


BEST_LEGEND = (
    TrialMark(about=Text("value of a trial"), colour="curve_raw"),
    TrialMark(about=Text("best so far"), colour="curve_1", mark="━"),
)
PARALLEL_LEGEND = (
    TrialMark(about=Text("a trial; the stronger the line, the better"), colour="curve_1"),
)
SLICE_LEGEND = (TrialMark(about=Text("value of a trial"), colour="curve_1"),)


def write_trials(state: SweepState, path: Path) -> None:
    """Write a row for each trial, with its value and its settings, as .csv.

    Raises:
        OSError: the file cannot be written.
    """
    head = ("trial", "state", state.objective, "env_steps", *state.space)
    write_csv(path, head, (_row(state, each) for each in state.trials))


def write_importance(importance: Mapping[str, float], path: Path) -> None:
    """Write the importance of every setting as .csv.

    Raises:
        OSError: the file cannot be written.
    """
    write_csv(path, ("setting", "importance"), importance.items())


def _row(state: SweepState, trial: TrialState) -> tuple[Any, ...]:
    value = "" if trial.value is None else trial.value
    chosen = (_cell(trial.settings.get(name, "")) for name in state.space)
    return (trial.number, trial.state, value, trial.env_steps, *chosen)


def _cell(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value
