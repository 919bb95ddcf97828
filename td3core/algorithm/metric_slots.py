"""The place of each metric among the sums of an update, for torch and the compiled update alike."""

from td3core.protocol.metrics import METRICS

MEASURED = tuple(metric for metric in METRICS if metric.network)
"""What an update measures, in the order of the sums."""

_SLOTS = {metric.name: slot for slot, metric in enumerate(MEASURED)}

Q = (_SLOTS["q1"], _SLOTS["q2"])
"""By critic."""
TARGET = _SLOTS["target"]
CRITIC_LOSS = (_SLOTS["critic1_loss"], _SLOTS["critic2_loss"])
"""By critic."""
ACTOR_LOSS = _SLOTS["actor_loss"]
Q_GAP, TD_MAX = _SLOTS["q_gap"], _SLOTS["td_max"]
