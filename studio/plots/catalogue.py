"""The plots of a run, and what each of them draws."""

from collections.abc import Callable
from dataclasses import dataclass

from studio.plots.curve import Curve, episodes_of, evaluations_of
from studio.plots.layers.change_markers import ChangeMarkerLayer
from studio.plots.layers.curves import CurveLayer
from studio.plots.layers.layer import Layer
from studio.plots.layers.notes import NoteLayer
from studio.plots.layers.parent_curves import ParentCurveLayer
from studio.plots.layers.threshold import ThresholdLayer
from studio.session.model import RunModel


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotSpec:
    """What one plot shows."""

    name: str
    title: str
    help: str
    curves: tuple[Curve, ...]
    layers: tuple[Callable[[RunModel], Layer], ...] = ()
    """Layers of this plot alone, besides those that every plot has."""
    log_button: bool = False
    empty: str = "No updates yet"


PLOTS = (
    PlotSpec(
        name="plot_return",
        title="Return",
        help="Sum of rewards of each episode. Episodes are played with exploration noise,"
        " evaluations without.",
        curves=(
            Curve("return", "episode", "curve_raw", episodes_of, style="dots"),
            Curve("smoothed", "mean of 20", "curve_1", episodes_of),
            Curve("mean", "evaluation", "curve_eval", evaluations_of, style="line+dots"),
        ),
        layers=(ThresholdLayer,),
        empty="No episodes yet",
    ),
    PlotSpec(
        name="plot_q",
        title="Q values",
        help="Mean value of the sampled actions by each critic, and the target both learn."
        " Q₁ and Q₂ drifting far above what episodes return is overestimation.",
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
        curves=(Curve("actor_loss", "actor", "curve_1"),),
    ),
)


def layers_of(plot: PlotSpec, model: RunModel) -> tuple[Layer, ...]:
    """Build the layers of one plot, in the order of its legend and its readout."""
    return (
        CurveLayer(plot.curves, model),
        ParentCurveLayer(plot.curves, model),
        *(make(model) for make in plot.layers),
        NoteLayer(model),
        ChangeMarkerLayer(model),
    )
