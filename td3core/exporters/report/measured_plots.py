"""The training statistics that a report shows."""

from dataclasses import dataclass

from td3core.protocol.metrics import METRICS
from td3core.text import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPlot:
    """A column of the training statistics and its presentation."""

    column: str
    title: Text
    about: Text
    logarithmic: bool = False


def _meaning(column: str) -> Text:
    """Return the meaning of a column, whichever algorithm wrote it."""
    return next(metric.meaning for metric in METRICS if metric.name == column)


LEARNING = (
    MeasuredPlot(
        column="q1",
        title=Text("Q₁"),
        about=Text("Discounted return predicted by the first critic for sampled actions."),
    ),
    MeasuredPlot(
        column="critic1_loss",
        title=Text("Loss of Q₁"),
        about=_meaning("critic1_loss"),
        logarithmic=True,
    ),
    MeasuredPlot(
        column="actor_loss",
        title=Text("Actor loss"),
        about=_meaning("actor_loss"),
    ),
    MeasuredPlot(
        column="q_gap",
        title=Text("Difference of the critics"),
        about=Text("Mean of |Q₁ − Q₂| over the batches."),
        logarithmic=True,
    ),
)
HEALTH = (
    MeasuredPlot(
        column="saturated",
        title=Text("Saturated actions"),
        about=Text("Share of |π(s)| ≥ 0.99: such an actor learns little from its critic."),
    ),
    MeasuredPlot(
        column="actor_dormant",
        title=Text("Dormant units of the actor"),
        about=Text("Share of hidden units that are inactive for almost all states."),
    ),
    MeasuredPlot(
        column="critic_dormant",
        title=Text("Dormant units of the critics"),
        about=Text("The same for both critics."),
    ),
    MeasuredPlot(
        column="critic_rank",
        title=Text("Feature rank, Q₁"),
        about=Text("Relative to the width of the layer; a falling rank means lost capacity."),
    ),
    MeasuredPlot(
        column="q_to_bound",
        title=Text("|Q| relative to its bound"),
        about=Text("Largest |Q| over r_max / (1 − γ); above 1 no policy can earn it."),
        logarithmic=True,
    ),
    MeasuredPlot(
        column="td_max",
        title=Text("Largest TD error"),
        about=Text("Of each batch, of either critic."),
        logarithmic=True,
    ),
)
REPORTED = ("env_steps", *(each.column for each in (*LEARNING, *HEALTH)))
"""The columns that a report reads."""
