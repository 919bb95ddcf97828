"""The place of each metric among the sums of an update, for torch and the compiled update alike."""

from collections import namedtuple
from typing import Any

from td3core.protocol.metrics import METRICS

MEASURED = tuple(metric for metric in METRICS if metric.network)
"""Metrics that an update measures, in the order of the sums."""

_make: Any = namedtuple
SLOT: Any = _make("Slot", [metric.name for metric in MEASURED])(*range(len(MEASURED)))
"""The place of each by its name: ``SLOT.target``. A tuple, which Numba takes for a constant."""

Q = (SLOT.q1, SLOT.q2)
"""Slots of the critics' values, by critic."""
CRITIC_LOSS = (SLOT.critic1_loss, SLOT.critic2_loss)
"""Slots of the critics' losses, by critic."""
