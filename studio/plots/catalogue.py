"""The plots of a run, and their layers."""

from collections.abc import Callable
from dataclasses import dataclass

from studio.plots.curve import SMOOTHED, Curve, episodes_of, evaluations_of
from studio.plots.explanation import Explanation
from studio.plots.layers.change_markers import ChangeMarkerLayer
from studio.plots.layers.curve_layers import CurveLayer
from studio.plots.layers.layer import Layer
from studio.plots.layers.notes import NoteLayer
from studio.plots.layers.parent_curves import ParentCurveLayer
from studio.plots.layers.threshold import ThresholdLayer
from studio.session.model import RunModel
from td3core.text import NO_TEXT, Text

_NONE, _NO_UPDATES = NO_TEXT, Text("No updates yet.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotSpec:
    """Description of one plot."""

    name: str
    title: Text
    help: Text
    curves: tuple[Curve, ...]
    about: Explanation | None = None
    """Explanation opened by the title; None if the title is a choice of quantities."""
    layers: tuple[Callable[[RunModel], Layer], ...] = ()
    """Layers of this plot alone, in addition to those of every plot."""
    unit: Text = _NONE
    """Unit of the y axis; names the axis."""
    log_button: bool = False
    empty: Text = _NO_UPDATES
    """Sentence shown while there is no data."""
    expected: Text = _NONE
    """Sentence on what the plot will show, left out if space is short."""
    example: tuple[float, ...] = ()
    """Heights of a typical curve, 0 to 1, drawn faintly while there is no data; empty if there is
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
        about=Explanation(
            shows=Text(
                "The sum of rewards of each training episode, played with exploration noise, and of"
                " the evaluations, which play the same policy without it."
            ),
            healthy=Text(
                "Evaluations climb, with dips, and then stay level: the bundled Pendulum-v1 went"
                " from −1,500 to −180 within 10,000 steps, Hopper-v5 lost half of its return more"
                " than once on the way up."
            ),
            wrong=Text(
                "If exploration never finds a useful reward, the curve stays flat; more noise or a"
                " longer warm-up helps more than larger networks; one run proves nothing: another"
                " seed can look quite different."
            ),
            column="return",
        ),
        layers=(ThresholdLayer,),
        unit=Text("return per episode"),
        empty=Text("No episodes yet."),
        expected=Text("Each episode's return appears here: it rises as the agent learns."),
        example=(0.08, 0.1, 0.09, 0.14, 0.22, 0.2, 0.36, 0.52, 0.6, 0.72, 0.78, 0.84, 0.86, 0.88),
    ),
    PlotSpec(
        name="plot_q",
        title=Text("Q values"),
        help=Text(
            "Mean value of the sampled actions by each critic, and the target both learn: the"
            " discounted sum of future rewards, with an effective horizon of about 1/(1 − γ) steps."
            " An episode's return is undiscounted, so the two are not comparable. Dots: during"
            " evaluations, the mean of the smaller Q value and the discounted return actually"
            " obtained; expected above obtained means that the critics overestimate."
        ),
        curves=(
            Curve("q1", Text("Q₁"), "curve_1"),
            Curve("q2", Text("Q₂"), "curve_2", style="stripes"),
            Curve("target", Text("target"), "curve_3", style="stripes"),
            Curve("q_expected", Text("expected"), "warn", evaluations_of, style="line+dots"),
            Curve("q_obtained", Text("obtained"), "curve_eval", evaluations_of, style="line+dots"),
        ),
        about=Explanation(
            shows=Text(
                "What the critics expect of sampled actions, the target that both learn, and, in"
                " evaluations, what was expected and what was then obtained, all discounted by γ."
            ),
            healthy=Text(
                "Q₁, Q₂ and the target lie on each other and drift together: on Pendulum-v1 they"
                " sink to about −61 before they rise again, on Hopper-v5 they grow with the"
                " return; expected ends near obtained, with TD3 rather below it."
            ),
            wrong=Text(
                "Expected climbs away above obtained while the return falls: the critics"
                " overestimate, as without the twin critic, and lower learning rates or the twin"
                " critic bring it down."
            ),
            column="q1",
        ),
        unit=Text("discounted return"),
        expected=Text("The discounted rewards that the critics expect."),
    ),
    PlotSpec(
        name="plot_critic_loss",
        title=Text("Critic loss"),
        help=Text(
            "Mean squared distance of each critic to the target, (Q − y)²; for TQC, the quantile"
            " Huber loss, which is on a different scale. It grows with the values."
        ),
        curves=(
            Curve("critic1_loss", Text("Q₁"), "curve_1"),
            Curve("critic2_loss", Text("Q₂"), "curve_2"),
        ),
        about=Explanation(
            shows=Text(
                "How far each critic is from the target on average, squared, on the batches that it"
                " learns from; with TQC, the quantile Huber loss."
            ),
            healthy=Text(
                "It comes to a level that scales with the Q values, and need not fall: on"
                " Pendulum-v1 it goes from 10 to below 0.1 and back to 0.7, on Hopper-v5 it rises"
                " from 0.1 to 42 within 30,000 steps, with the return."
            ),
            wrong=Text(
                "It grows tenfold or more while returns do not: the targets diverge, and lower"
                " learning rates, a smaller τ or reward scaling help."
            ),
            column="critic1_loss",
        ),
        unit=Text("(Q − y)²; TQC: quantile Huber loss"),
        expected=Text("How far each critic is from its target."),
        log_button=True,
    ),
    PlotSpec(
        name="plot_actor_loss",
        title=Text("Actor loss"),
        help=Text(
            "−mean Q₁(s, π(s)), with TQC of both critics: what the critic expects of the actor's"
            " actions, with the sign changed. Where rewards are negative it climbs while the critic"
            " learns how low they are."
        ),
        curves=(Curve("actor_loss", Text("actor"), "curve_1"),),
        about=Explanation(
            shows=Text(
                "What the first critic, with TQC both, expects of the actor's own actions, with the"
                " sign changed: it mirrors the Q values, and says little by itself."
            ),
            healthy=Text(
                "It follows −Q₁ closely: with rewards below zero it climbs first, on Pendulum-v1"
                " from 5 to 60, and falls as the policy improves; on Hopper-v5 it falls to about"
                " −130 within 30,000 steps."
            ),
            wrong=Text(
                "It dives far below −Q₁ of the sampled actions: the actor has found actions that"
                " the critic overestimates, so compare expected with obtained in the plot of Q"
                " values."
            ),
            column="actor_loss",
        ),
        unit=Text("−Q₁(s, π(s))"),
        expected=Text("The critic's value of the actor's actions, with the sign changed."),
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
