"""The figures of a report: returns, metrics of the updates, bias and health."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from td3core.analysis.aggregate import Band
from td3core.analysis.comparison import GroupResult, band, band_of, curve_smoothing
from td3core.analysis.figure_data import (
    FigureData,
    FigureLine,
    drawable,
    in_units,
    line_of,
    return_label,
)
from td3core.analysis.results import SMOOTHED_EPISODES, Metric, XAxis, trailing_mean
from td3core.arrays import Doubles
from td3core.config.algorithms import entry_of
from td3core.exporters.figure import PALETTE
from td3core.exporters.report.document import Plot
from td3core.exporters.report.material import Material
from td3core.exporters.report.measured_plots import REPORTED, MeasuredPlot
from td3core.exporters.report.run_facts import RunFacts
from td3core.text import Text, tr

WIDE_IN, NARROW_IN = (8.4, 3.1), (4.1, 2.3)
"""Width and height of a figure as wide as the page, and of one of two side by side."""
MOST_LINES = 12
"""Maximum number of groups in a figure; more cannot be told apart."""
MOST_SINGLE = 20
"""Maximum number of single runs drawn in addition to their groups."""
_MOST_POINTS = 400
"""Maximum number of points of a single run's line; more would not be visible."""
_TRAINING_SMOOTHING = 5

Curve = tuple[Doubles, Doubles]


def returns_of(found: Material) -> FigureData:
    """Return the figure of the compared metric by group, with the single runs."""
    comparison, runs, x = found.comparison, found.runs, found.x
    metric = comparison.metric
    groups = comparison.groups[:MOST_LINES]
    lines = [_line_of_group(place, each, metric, x) for place, each in enumerate(groups)]
    if found.single:
        if metric == "eval":
            lines = [replace(lines[0], label=str(Text("Evaluations")))]
        lines += _episodes_behind(groups[0], metric, x)
    else:
        lines += _single_runs(groups, metric, x)
    figure = FigureData(
        title="",
        x_label="",
        y_label=return_label(metric),
        lines=tuple(lines),
        width_in=WIDE_IN[0],
        height_in=WIDE_IN[1],
        threshold=_threshold(runs, lines) if metric in ("eval", "return") else None,
    )
    return _in_units(replace(figure, marks=_marks(found, lines)), x)


def _line_of_group(place: int, each: GroupResult, metric: Metric, x: XAxis) -> FigureLine:
    return _middle(place, each, band(each.group, metric, x, curve_smoothing(metric)))


def _middle(place: int, each: GroupResult, curve: Band) -> FigureLine:
    if curve.low is None:
        at, values = block_means(curve.x, curve.middle)
        curve = replace(curve, x=at, middle=values)
    return line_of(label_of(each), place, curve)


def label_of(each: GroupResult) -> str:
    """Return the label of a group's line."""
    several = len(each.group.runs) > 1
    return f"{each.name} (n = {len(each.finals)})" if several else each.name


def _single_runs(groups: Sequence[GroupResult], metric: Metric, x: XAxis) -> list[FigureLine]:
    """Return faint lines for the runs of groups with several runs: the data behind a band."""
    members = [(place, run) for place, each in enumerate(groups) for run in each.group.runs]
    if len(members) > MOST_SINGLE:
        return []
    return [
        _faint(place, *run.curve(metric, x, curve_smoothing(metric)))
        for place, run in members
        if len(groups[place].group.runs) > 1
    ]


def _episodes_behind(only: GroupResult, metric: Metric, x: XAxis) -> list[FigureLine]:
    """Return the training episodes of a run whose evaluations are shown."""
    if metric != "eval":
        return []
    episodes = _faint(0, *only.group.runs[0].curve("return", x, SMOOTHED_EPISODES))
    label = Text("Training episodes, mean of {count}", count=SMOOTHED_EPISODES)
    return [replace(episodes, label=str(label), place=len(PALETTE) - 1)] if len(episodes.x) else []


def _faint(place: int, at: Doubles, values: Doubles) -> FigureLine:
    at, values = block_means(at, values)
    return FigureLine(label="", place=place, x=at, y=values, faint=True)


def _threshold(runs: Mapping[Path, RunFacts], lines: Sequence[FigureLine]) -> float | None:
    """Return the threshold of returns, if there is one and the curves come near it."""
    found = {run.threshold for run in runs.values()}
    known = [line.y[np.isfinite(line.y)] for line in lines if drawable(line)]
    if len(found) != 1 or None in found or not known:
        return None
    values = np.concatenate(known)
    (threshold,) = found
    assert threshold is not None
    # A distant threshold would compress the curves.
    room = max(float(np.ptp(values)), 1e-9)
    near = values.min() - room <= threshold <= values.max() + room
    return threshold if near else None


def _marks(found: Material, lines: Sequence[FigureLine]) -> tuple[float, ...]:
    """Return the steps at which settings of a single run were changed, within the curves' range."""
    if not found.single:
        return ()
    (run,) = found.runs.values()
    steps = sorted({entry["step"] for entry in run.entries if "field" in entry})
    at = run.results.on_axis(np.array(steps, dtype=np.float64), found.x)
    end = max((float(line.x[-1]) for line in lines if len(line.x)), default=0.0)
    return tuple(float(each) for each in at if each <= end)


def _in_units(figure: FigureData, x: XAxis) -> FigureData:
    """Convert lines and marks to the units of the axis."""
    marks = np.array(figure.marks)
    carried = FigureLine(label="", place=0, x=marks, y=np.full(len(marks), np.nan))
    found = in_units(replace(figure, lines=(*figure.lines, carried)), x)
    return replace(found, lines=found.lines[:-1], marks=tuple(found.lines[-1].x))


def bias_of(found: Material) -> FigureData:
    """Return the figure of the bias, with 0 marked."""
    lines = [
        _line_of_group(place, each, "bias", found.x)
        for place, each in enumerate(found.bias.groups[:MOST_LINES])
    ]
    figure = FigureData(
        title="",
        x_label="",
        y_label=return_label("bias"),
        lines=tuple(lines),
        width_in=WIDE_IN[0],
        height_in=2.6,
        threshold=0.0,
    )
    return in_units(figure, found.x)


def training_plots(measured: Sequence[MeasuredPlot], found: Material) -> tuple[Plot, ...]:
    """Return a small figure of each quantity that any run measured."""
    plots = []
    for each in measured:
        lines = tuple(_training_lines(each.column, found))
        if not any(drawable(line) for line in lines):
            continue
        positive = all((line.y[np.isfinite(line.y)] > 0).all() for line in lines)
        figure = FigureData(
            title="",
            x_label="",
            y_label="",
            lines=lines,
            width_in=NARROW_IN[0],
            height_in=NARROW_IN[1],
            logarithmic=each.logarithmic and positive,
        )
        about = str(each.about)
        if each.column == "critic1_loss" and _losses_differ(found):
            about = f"{about}. {tr('The losses of these algorithms are not comparable.')}"
        plots.append(Plot(title=str(each.title), figure=in_units(figure, found.x), about=about))
    return tuple(plots)


def _losses_differ(found: Material) -> bool:
    algorithms = {run.directory.config.algorithm for run in found.runs.values()}
    return len({entry_of(each).critic_loss for each in algorithms}) > 1


def _training_lines(column: str, found: Material) -> list[FigureLine]:
    at = REPORTED.index(column)
    lines = []
    for place, each in enumerate(found.comparison.groups[:MOST_LINES]):
        curves = [_column(found.runs[run.path], at, found.x) for run in each.counted]
        known = [curve for curve in curves if len(curve[0])]
        if known:
            lines.append(_middle(place, each, band_of(known)))
    return lines


def _column(run: RunFacts, at: int, x: XAxis) -> Curve:
    values, steps = run.training[:, at], run.results.on_axis(run.training[:, 0], x)
    known = np.isfinite(values) & np.isfinite(steps)
    return steps[known], trailing_mean(values[known], _TRAINING_SMOOTHING)


def block_means(x: Doubles, y: Doubles) -> Curve:
    """Return a curve of at most 400 points, each a mean of neighbours."""
    if len(x) <= _MOST_POINTS:
        return x, y
    each = -(-len(x) // _MOST_POINTS)
    whole = len(x) // each * each
    means: Doubles = y[-whole:].reshape(-1, each).mean(axis=1)
    return x[-whole:][each - 1 :: each], means
