"""A curve: the source of its values and its look."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from studio.session.curves import RunCurves
from studio.session.series import Series
from td3core.protocol.metrics import METRICS
from td3core.protocol.rows import EVALUATION_METRICS
from td3core.text import Text

_ADDED_COLOURS = ("curve_eval", "warn", "curve_3", "curve_2", "curve_1")
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
    """Name of a colour of the theme."""
    source: Callable[[RunCurves], Series] = training_of
    style: Literal["line", "stripes", "dots", "line+dots"] = "line"
    """``stripes`` keeps coinciding curves visible: they take turns along the x axis."""

    def series_in(self, curves: RunCurves) -> Series | None:
        """Return the series that has the curve's column.

        None if it lacks the column: the run recorded no such number of the environment's info.
        """
        series = self.source(curves)
        return series if self.column in series.columns else None


def logged(curves: RunCurves | None = None) -> Iterator[Curve]:
    """Yield a curve for every recorded quantity, named by its column.

    ``curves``: the run's curves, which may include the environment's info.
    """
    for metric in METRICS:
        yield Curve(metric.name, Text("{column}", column=metric.name), _ADDED_COLOURS[0])
    yield Curve("return", Text("return"), _ADDED_COLOURS[0], episodes_of)
    yield Curve("length", Text("length"), _ADDED_COLOURS[0], episodes_of)
    for column in curves.info_columns if curves is not None else ():
        yield info_curve(column)
    for measured in EVALUATION_METRICS:
        yield Curve(
            measured.name,
            Text("{column}", column=measured.name),
            _ADDED_COLOURS[0],
            evaluations_of,
            "line+dots",
        )


def info_curve(column: str) -> Curve:
    """Return the curve of a number of the environment's info, such as ``info.x_velocity``."""
    return Curve(column, Text("{column}", column=column), _ADDED_COLOURS[0], episodes_of)


def in_free_colour(curve: Curve, others: Iterable[Curve]) -> Curve:
    """Return a curve in the colour least used by the others."""
    counts = Counter(each.colour for each in others)
    return replace(curve, colour=min(_ADDED_COLOURS, key=lambda colour: counts[colour]))
