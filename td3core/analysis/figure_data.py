"""A figure as data: labelled lines with bands, ready for any format."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from td3core.analysis.aggregate import PERCENT, RESAMPLES, Band
from td3core.analysis.comparison import Comparison, band, curve_smoothing
from td3core.analysis.results import Metric, XAxis, is_info
from td3core.arrays import Doubles
from td3core.errors import RequestError
from td3core.text import Text

COLUMN_WIDTHS_IN = {1: 3.5, 2: 7.16}
"""Width of one and of two text columns of a paper, in inches."""
LEAST_IN, MOST_IN = 1.0, 40.0
_ASPECT = 0.72

BAND_ABOUT = Text(
    "Line: interquartile mean of the runs. Band: {percent:g} % bootstrap interval, {count:,}"
    " resamples.",
    percent=PERCENT,
    count=RESAMPLES,
)
_LABELS: dict[Metric, Text] = {
    "eval": Text("Evaluation return"),
    "return": Text("Episode return"),
    "bias": Text("Bias of Q ÷ max(|mean return|, 1)"),
}
STEPS, EPISODES = Text("Environment steps"), Text("Episodes")
WHOLE_AXES = (STEPS, EPISODES)
"""Labels of x axes with whole numbers."""
_UNITS = ((3 * 3600.0, "h", 3600.0), (600.0, "min", 60.0), (0.0, "s", 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureLine:
    """One line; all arrays have shape (points,)."""

    label: str
    place: int
    """Index of its colour in the palette."""
    x: Doubles
    y: Doubles
    low: Doubles | None = None
    high: Doubles | None = None
    faint: bool = False
    """True for background lines, such as the single runs of a group."""
    points: bool = False
    """True for unconnected dots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureData:
    """A figure with one pair of axes."""

    title: str
    x_label: Text | str
    y_label: Text | str
    lines: tuple[FigureLine, ...]
    width_in: float = COLUMN_WIDTHS_IN[1]
    height_in: float = COLUMN_WIDTHS_IN[1] * _ASPECT
    logarithmic: bool = False
    threshold: float | None = None
    """Good enough value of y, drawn as a dashed line; None without one."""
    marks: tuple[float, ...] = ()
    """Positions of events on the x axis, each drawn as a thin line."""


def line_of(label: str, place: int, curve: Band) -> FigureLine:
    """Return a band as a line of a figure."""
    return FigureLine(
        label=label, place=place, x=curve.x, y=curve.middle, low=curve.low, high=curve.high
    )


def figure_of(
    comparison: Comparison, x: XAxis, *, title: str = "", smoothing: int | None = None
) -> FigureData:
    """Return the figure of a comparison: one line and band for each group.

    Args:
        comparison: the groups.
        x: the x axis.
        title: title of the figure; by default the environments.
        smoothing: number of values averaged; by default 20 episodes or 1 evaluation.
    """
    count = curve_smoothing(comparison.metric) if smoothing is None else smoothing
    lines = [
        line_of(
            f"{each.name} (n = {len(each.finals)})",
            place,
            band(each.group, comparison.metric, x, count),
        )
        for place, each in enumerate(comparison.groups)
    ]
    envs = dict.fromkeys(each.group.env for each in comparison.groups)
    return in_units(
        FigureData(
            title=title or ", ".join(envs),
            x_label="",
            y_label=return_label(comparison.metric),
            lines=tuple(lines),
        ),
        x,
    )


def return_label(metric: Metric) -> Text:
    """Return the label of the y axis of a metric."""
    if is_info(metric):
        return Text("{column}, mean of an episode", column=metric)
    return _LABELS[metric]


def in_units(figure: FigureData, x: XAxis) -> FigureData:
    """Label the x axis, and convert times from seconds to a suitable unit."""
    if x != "time":
        label = {"steps": STEPS, "episodes": EPISODES}[x]
        return replace(figure, x_label=label)
    last = max((float(line.x[-1]) for line in figure.lines if len(line.x)), default=0.0)
    _, unit, seconds = next(each for each in _UNITS if last >= each[0])
    lines = tuple(replace(line, x=line.x / seconds) for line in figure.lines)
    return replace(figure, lines=lines, x_label=Text("Wall time ({unit})", unit=unit))


def sized(figure: FigureData, size: str, columns: int = 1) -> FigureData:
    """Return a figure in another size.

    Args:
        figure: the figure.
        size: ``WIDTHxHEIGHT`` in inches, such as ``3.5x2.5``; empty for the size of ``columns``.
        columns: width in text columns, 1 or 2.

    Raises:
        RequestError: the size is not two lengths from 1 to 40 inches.
    """
    width = COLUMN_WIDTHS_IN[columns]
    lengths: Sequence[float] = (width, width * _ASPECT / columns**0.5)
    if size:
        try:
            lengths = [float(part) for part in size.lower().split("x")]
        except ValueError:
            lengths = ()
        if len(lengths) != 2 or not all(LEAST_IN <= each <= MOST_IN for each in lengths):
            raise RequestError(
                "The size {size} must be WIDTHxHEIGHT in inches, each from {least:g} to {most:g},"
                " such as 3.5x2.5.",
                size=repr(size),
                least=LEAST_IN,
                most=MOST_IN,
            )
    return replace(figure, width_in=lengths[0], height_in=lengths[1])


def drawable(line: FigureLine) -> bool:
    """Return whether a line has a finite point."""
    return bool(np.isfinite(line.y).any())
