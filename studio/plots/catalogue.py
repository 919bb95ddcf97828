"""What each plot of a run shows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from studio.session.curves import RunCurves
from studio.session.model import RunModel
from studio.session.series import Series

HasCurves = RunModel | RunCurves


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a plot: a column of a series, its legend and its colour in the theme."""

    column: str
    label: str
    colour: str
    style: Literal["line", "stripes", "dots", "line+dots"] = "line"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotSpec:
    """What one plot shows."""

    name: str
    title: str
    help: str
    series: Callable[[HasCurves], Series]
    curves: tuple[Curve, ...]
    log_button: bool = False
    empty: str = "No updates yet"


PLOTS = (
    PlotSpec(
        name="plot_return",
        title="Return",
        help="Sum of rewards of each episode. Episodes are played with exploration noise,"
        " evaluations without.",
        series=lambda curves: curves.episodes,
        curves=(
            Curve("return", "episode", "curve_raw", style="dots"),
            Curve("smoothed", "mean of 20", "curve_1"),
            Curve("mean", "evaluation", "curve_eval", style="line+dots"),
        ),
        empty="No episodes yet",
    ),
    PlotSpec(
        name="plot_q",
        title="Q values",
        help="Mean value of the sampled actions by each critic, and the target both learn."
        " Q₁ and Q₂ drifting far above what episodes return is overestimation.",
        series=lambda curves: curves.training,
        curves=(
            Curve("q1", "Q₁", "curve_1"),
            Curve("q2", "Q₂", "curve_2", style="stripes"),
            Curve("target", "target", "curve_3", style="stripes"),
        ),
    ),
    PlotSpec(
        name="plot_critic_loss",
        title="Critic losses",
        help="Mean squared distance of each critic to the target, (Q − y)².",
        series=lambda curves: curves.training,
        curves=(
            Curve("critic1_loss", "Q₁", "curve_1"),
            Curve("critic2_loss", "Q₂", "curve_2"),
        ),
        log_button=True,
    ),
    PlotSpec(
        name="plot_actor_loss",
        title="Actor loss",
        help="−mean Q₁(s, π(s)): falls as the critic likes the actor's actions better.",
        series=lambda curves: curves.training,
        curves=(Curve("actor_loss", "actor", "curve_1"),),
    ),
)


def series_of(curves: HasCurves, plot: PlotSpec, curve: Curve) -> Series:
    """Return the series that a curve of a plot is a column of."""
    # Evaluations are a series of their own, never part of the training curve.
    return curves.evaluations if curve.column == "mean" else plot.series(curves)
