"""A curve: where its values come from and how it looks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from studio.session.curves import RunCurves
from studio.session.series import Series
from td3core.text import Text

SMOOTHED = "smoothed"
"""The column with the running mean of the returns."""


def episodes_of(curves: RunCurves) -> Series:
    """Return the series with a row per training episode."""
    return curves.episodes


def evaluations_of(curves: RunCurves) -> Series:
    """Return the series with a row per evaluation."""
    return curves.evaluations


def training_of(curves: RunCurves) -> Series:
    """Return the series with the metrics of the updates."""
    return curves.training


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a plot: a column of a series, its label and its look."""

    column: str
    label: Text
    colour: str
    """A colour's name in the theme."""
    source: Callable[[RunCurves], Series] = training_of
    style: Literal["line", "stripes", "dots", "line+dots"] = "line"
    """``stripes`` keeps curves visible that coincide: they take turns along the x axis."""

    def series_in(self, curves: RunCurves) -> Series | None:
        """Return the series that has the curve's column.

        None if it lacks the column: the run was recorded before the metric existed.
        """
        series = self.source(curves)
        return series if self.column in series.columns else None
