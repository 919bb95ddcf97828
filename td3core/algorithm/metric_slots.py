"""The index of each metric in the sums of an update, shared by torch and the compiled update."""

from collections import namedtuple
from typing import Any

from td3core.protocol.metrics import METRICS

MEASURED = tuple(metric for metric in METRICS if metric.network)
"""Metrics that an update measures, in the order of the sums."""

_make: Any = namedtuple
SLOT: Any = _make("Slot", [metric.name for metric in MEASURED])(*range(len(MEASURED)))
"""The index of each by name: ``SLOT.target``. A named tuple, which Numba treats as a constant."""

Q = (SLOT.q1, SLOT.q2)
"""Slots of the critics' values, by critic."""
CRITIC_LOSS = (SLOT.critic1_loss, SLOT.critic2_loss)
"""Slots of the critics' losses, by critic."""
