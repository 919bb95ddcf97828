"""Metrics of a learning run: one line per quantity, everything else follows by name.

The columns of ``training.csv`` and of :attr:`~td3core.protocol.events.Progress.training`, the
unfinished row in a checkpoint, the check for divergence and the plots all read this tuple. To add a
quantity, add a line here and return it from the agent's ``take_metrics``.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from td3core.arrays import Doubles
from td3core.text import Text


@dataclass(frozen=True, slots=True)
class Metric:
    """One logged quantity: mean over a logging interval, or (``last``) value of its last update."""

    name: str
    """Its column in tables and plots."""
    meaning: Text
    network: str = ""
    """The network whose update measures it; the metric is absent if the interval has no such
    update. Empty if it is measured elsewhere."""
    last: bool = False
    """True: value of the last update; False: mean over the interval."""


_NETWORKS = {
    "actor": Text("the actor"),
    "critic1": Text("critic 1"),
    "critic2": Text("critic 2"),
}


def _norms(network: str) -> tuple[Metric, ...]:
    """Return the norms measured of each network.

    Each takes a pass over all parameters, and together they take about as long as two steps of
    Adam: they are measured only in the last update before a row, and not for every row.
    """
    values = {"network": _NETWORKS[network]}
    meanings = {
        "gradient": Text("norm of the gradient of {network}", **values),
        "weight": Text("norm of the weights of {network}", **values),
        "update": Text(
            "norm of the last update of {network}, relative to the norm of its weights", **values
        ),
    }
    if network == "critic2":
        meanings = {
            name: Text("{meaning}; absent with one critic", meaning=told)
            for name, told in meanings.items()
        }
    return tuple(
        Metric(f"{network}_{name}", told, network, last=True) for name, told in meanings.items()
    )


METRICS = (
    Metric("q1", Text("mean of Q₁(s, a) over the batch"), "critic1"),
    Metric("q2", Text("mean of Q₂(s, a) over the batch; absent with one critic"), "critic2"),
    Metric("target", Text("mean of the target y over the batch"), "critic1"),
    Metric(
        "critic1_loss",
        Text("mean of (Q₁(s, a) − y)² over the batch; of TQC its quantile Huber loss"),
        "critic1",
    ),
    Metric(
        "critic2_loss",
        Text("the same for Q₂; absent with one critic"),
        "critic2",
    ),
    Metric(
        "actor_loss",
        Text(
            "−mean Q₁(s, π(s)), for TQC over both critics; absent if the actor was not updated"
            " (policy delay)"
        ),
        "actor",
    ),
    Metric("q_gap", Text("mean of |Q₁(s, a) − Q₂(s, a)|; absent with one critic"), "critic2"),
    Metric("td_max", Text("largest |Q(s, a) − y| of the batch, of either critic"), "critic1"),
    *_norms("critic1"),
    *_norms("critic2"),
    *_norms("actor"),
    Metric("saturated", Text("share of |π(s)| ≥ 0.99, over states of the buffer")),
    Metric("saturated_most", Text("the same for the most saturated action dimension")),
    Metric(
        "actor_dead",
        Text("share of the actor's hidden units whose output is 0 in all these states"),
    ),
    Metric(
        "actor_dormant",
        Text(
            "share of the actor's hidden units whose mean |output| is at most 0.025 of their"
            " layer's mean"
        ),
    ),
    Metric("critic_dead", Text("share of the critics' hidden units that are dead")),
    Metric("critic_dormant", Text("share of the critics' hidden units that are dormant")),
    Metric(
        "critic_rank",
        Text(
            "effective rank of the last hidden layer of Q₁ (99 % of singular values), relative to"
            " its width"
        ),
    ),
    Metric(
        "actor_lag",
        Text("distance between actor and target actor, relative to the norm of the weights"),
    ),
    Metric(
        "critic1_lag",
        Text("distance between critic 1 and its target, relative to the norm of the weights"),
    ),
    Metric("critic2_lag", Text("the same for critic 2; absent with one critic")),
    Metric(
        "policy_change",
        Text("mean size of the change of π(s) by the last update, on fixed states"),
    ),
    *(
        Metric(name, told, "critic1", last=True)
        for name, told in (
            ("td_median", Text("median of |Q₁(s, a) − y| over the last batch of a row")),
            ("td_p90", Text("90th percentile of the same")),
            ("td_p99", Text("99th percentile of the same")),
        )
    ),
    Metric("q_to_bound", Text("largest |Q(s, π(s))|, relative to reward_most / (1 − γ)")),
    Metric("buffer_age", Text("mean age of the transitions to sample from, in steps")),
    Metric("reward_mean", Text("mean reward in the buffer")),
    Metric("reward_most", Text("largest |reward| in the buffer")),
    Metric("replay_ratio", Text("mean number of times a transition was sampled: sampled / steps")),
)

TRAINING_COLUMNS = ("env_steps", "updates", *(metric.name for metric in METRICS))
"""Columns of a row of training statistics; ``training.csv`` adds the time."""


def training_row(env_steps: int, updates: int, metrics: Mapping[str, float]) -> Doubles:
    """Return one row in the order of :data:`TRAINING_COLUMNS`; an absent metric is NaN."""
    values = (metrics.get(metric.name, np.nan) for metric in METRICS)
    return np.array([env_steps, updates, *values])
