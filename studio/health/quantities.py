"""The quantities of the panel, in order, with their names."""

from dataclasses import dataclass

from td3core.protocol.metrics import METRICS
from td3core.protocol.rows import EVALUATION_METRICS
from td3core.text import Text


@dataclass(frozen=True, slots=True)
class Quantity:
    """A column of the training statistics or of the evaluations."""

    column: str
    title: Text
    of_evaluations: bool = False
    minus: str = ""
    """Another column, subtracted from the first."""
    always: bool = False
    """Whether all versions have recorded it."""

    @property
    def meaning(self) -> Text:
        """Its description, for a tooltip."""
        if self.minus:
            return Text("mean of Q₁(s, a) − y over the batch; above 0, the update lowers Q₁")
        metrics = EVALUATION_METRICS if self.of_evaluations else METRICS
        return next(metric.meaning for metric in metrics if metric.name == self.column)


QUANTITIES = (
    Quantity("bias", Text("Overestimation"), of_evaluations=True),
    Quantity("q_to_bound", Text("|Q| by its bound")),
    Quantity("q_gap", Text("|Q₁ − Q₂|")),
    Quantity("q1", Text("TD error, mean"), minus="target", always=True),
    Quantity("critic1_loss", Text("Critic loss, Q₁"), always=True),
    Quantity("td_median", Text("TD error, median")),
    Quantity("td_p90", Text("TD error, 90 %")),
    Quantity("td_p99", Text("TD error, 99 %")),
    Quantity("td_max", Text("TD error, largest")),
    Quantity("critic_rank", Text("Feature rank, Q₁")),
    Quantity("critic_dead", Text("Dead units, critics")),
    Quantity("critic_dormant", Text("Dormant units, critics")),
    Quantity("critic1_gradient", Text("Gradient norm, Q₁")),
    Quantity("critic1_weight", Text("Weight norm, Q₁")),
    Quantity("critic1_update", Text("Update ratio, Q₁")),
    Quantity("critic1_lag", Text("Target lag, Q₁")),
    Quantity("critic2_gradient", Text("Gradient norm, Q₂")),
    Quantity("critic2_weight", Text("Weight norm, Q₂")),
    Quantity("critic2_update", Text("Update ratio, Q₂")),
    Quantity("critic2_lag", Text("Target lag, Q₂")),
    Quantity("saturated", Text("Saturated actions")),
    Quantity("saturated_most", Text("Saturated, worst")),
    Quantity("policy_change", Text("Change of the policy")),
    Quantity("actor_dead", Text("Dead units, actor")),
    Quantity("actor_dormant", Text("Dormant units, actor")),
    Quantity("actor_gradient", Text("Gradient norm, actor")),
    Quantity("actor_weight", Text("Weight norm, actor")),
    Quantity("actor_update", Text("Update ratio, actor")),
    Quantity("actor_lag", Text("Target lag, actor")),
    Quantity("replay_ratio", Text("Replay ratio")),
    Quantity("buffer_age", Text("Age in the buffer")),
    Quantity("reward_mean", Text("Mean reward")),
    Quantity("reward_most", Text("Largest |reward|")),
)
