"""The plots of a run, and what each of them draws."""

from collections.abc import Callable
from dataclasses import dataclass

from studio.plots.curve import SMOOTHED, Curve, episodes_of, evaluations_of
from studio.plots.layers.change_markers import ChangeMarkerLayer
from studio.plots.layers.curve_layers import CurveLayer
from studio.plots.layers.layer import Layer
from studio.plots.layers.notes import NoteLayer
from studio.plots.layers.parent_curves import ParentCurveLayer
from studio.plots.layers.threshold import ThresholdLayer
from studio.session.model import RunModel
from td3core.text import Text

_NONE, _NO_UPDATES = Text(""), Text("No updates yet")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotSpec:
    """What one plot shows."""

    name: str
    title: Text
    help: Text
    curves: tuple[Curve, ...]
    layers: tuple[Callable[[RunModel], Layer], ...] = ()
    """Layers of this plot alone, besides those that every plot has."""
    unit: Text = _NONE
    """What the y axis counts; names the axis."""
    log_button: bool = False
    empty: Text = _NO_UPDATES
    """What the plot will show, in a sentence."""
    example: tuple[float, ...] = ()
    """Heights of a typical curve, 0 to 1, drawn faintly while there is no data; none where there is
    no typical one."""


PLOTS = (
    PlotSpec(
        name="plot_return",
        title=Text("Return"),
        help=Text(
            "Sum of rewards of each episode. Episodes are played with exploration noise,"
            " evaluations without."
        ),
        curves=(
            Curve("return", Text("episode"), "curve_raw", episodes_of, style="dots"),
            Curve(SMOOTHED, Text("mean of 20"), "curve_1", episodes_of),
            Curve("mean", Text("evaluation"), "curve_eval", evaluations_of, style="line+dots"),
        ),
        layers=(ThresholdLayer,),
        unit=Text("return per episode"),
        empty=Text(
            "No episodes yet. Each episode's return appears here: it rises as the agent learns."
        ),
        example=(0.08, 0.1, 0.09, 0.14, 0.22, 0.2, 0.36, 0.52, 0.6, 0.72, 0.78, 0.84, 0.86, 0.88),
    ),
    PlotSpec(
        name="plot_q",
        title=Text("Q values"),
        help=Text(
            "Mean value of the sampled actions by each critic, and the target both learn: rewards"
            " from a step on, discounted by γ, so about 1/(1 − γ) steps of them. An episode's"
            " return is a sum without discount, and not to be compared with. Dots: in evaluations,"
            " what the smaller of both expects on average, and the discounted rewards obtained from"
            " there on; expected above obtained: the critics promise too much."
        ),
        curves=(
            Curve("q1", Text("Q₁"), "curve_1"),
            Curve("q2", Text("Q₂"), "curve_2", style="stripes"),
            Curve("target", Text("target"), "curve_3", style="stripes"),
            Curve("q_expected", Text("expected"), "warn", evaluations_of, style="line+dots"),
            Curve("q_obtained", Text("obtained"), "curve_eval", evaluations_of, style="line+dots"),
        ),
        unit=Text("discounted return"),
        empty=Text("No updates yet. The discounted rewards that the critics expect."),
    ),
    PlotSpec(
        name="plot_critic_loss",
        title=Text("Critic loss"),
        help=Text(
            "Mean squared distance of each critic to the target, (Q − y)²."
            " It grows with the values."
        ),
        curves=(
            Curve("critic1_loss", Text("Q₁"), "curve_1"),
            Curve("critic2_loss", Text("Q₂"), "curve_2"),
        ),
        unit=Text("squared error, (Q − y)²"),
        empty=Text("No updates yet. How far each critic is from its target."),
        log_button=True,
    ),
    PlotSpec(
        name="plot_actor_loss",
        title=Text("Actor loss"),
        help=Text(
            "−mean Q₁(s, π(s)): what the critic expects of the actor's actions, with the sign"
            " changed. Where rewards are negative it climbs while the critic learns how low they"
            " are."
        ),
        curves=(Curve("actor_loss", Text("actor"), "curve_1"),),
        unit=Text("−Q₁(s, π(s))"),
        empty=Text(
            "No updates yet. The critic's value of the actor's actions, with the sign changed."
        ),
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
