"""Means of the metrics that updates measure (see :mod:`td3core.protocol.metrics`)."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from td3core.algorithm.metric_slots import CRITIC_LOSS, MEASURED, SLOT, Q
from td3core.arrays import Arrays

_NAMES = tuple(metric.name for metric in MEASURED)
_BY_ACTOR = {metric.name for metric in MEASURED if metric.network == "actor"}
_LAST = {metric.name for metric in MEASURED if metric.last}
_IN_0_1 = ("q1", "q2", "target", "critic1_loss", "critic2_loss", "actor_loss")
"""The metrics of version 0.1, in the order of its checkpoints."""


class UpdateMetrics:
    """Sums over updates, kept as tensors: reading a number in every update would stall a GPU.

    ``sums`` has one float64 number per metric, indexed as in
    :mod:`~td3core.algorithm.metric_slots`: the sum over all updates for metrics of the critics'
    step, over the updates that moved the actor for metrics of the actor's step, and the value
    itself for metrics of the last update alone.
    """

    def __init__(self, networks: Collection[str], device: torch.device) -> None:
        """``networks``: names of the agent's networks, possibly without ``critic2``."""
        self.sums = torch.zeros(len(_NAMES), dtype=torch.float64, device=device)
        self._sum = self.sums.unbind()
        self._absent = {metric.name for metric in MEASURED if metric.network not in networks}
        self._unknown = set[str]()
        """Names without a sum in the checkpoint: their next mean would be wrong."""
        self._updates = self._actor_updates = 0

    def count(self, updates: int, actor_updates: int) -> None:
        """Count finished updates, and how many of them moved the actor."""
        self._updates += updates
        self._actor_updates += actor_updates

    @torch.no_grad()
    def add_critics(self, q: Sequence[Tensor], y: Tensor, losses: Sequence[Tensor]) -> None:
        """Add values (batch, 1) and loss of each critic, and target (batch, 1) of one update."""
        for slot, each in zip(Q, q, strict=False):
            self._sum[slot].add_(each.mean())
        for slot, loss in zip(CRITIC_LOSS, losses, strict=False):
            self._sum[slot].add_(loss)
        self._sum[SLOT.target].add_(y.mean())
        self._sum[SLOT.td_max].add_(torch.stack([(each - y).abs().amax() for each in q]).amax())
        if len(q) > 1:
            self._sum[SLOT.q_gap].add_((q[0] - q[1]).abs().mean())

    @torch.no_grad()
    def add_actor(self, loss: Tensor) -> None:
        """Add the loss of the actor's step."""
        self._sum[SLOT.actor_loss].add_(loss)

    def set_last(self, values: Mapping[str, float]) -> None:
        """Set metrics of the last update by name; other names are ignored."""
        measured = _LAST & values.keys()
        sums = zip(_NAMES, self.sums.tolist(), strict=True)
        new = [values[name] if name in measured else total for name, total in sums]
        self.sums.copy_(torch.tensor(new, dtype=torch.float64))
        self._unknown -= measured

    @property
    def updates(self) -> int:
        """Updates since the last call of :meth:`take`."""
        return self._updates

    def take(self, *, last: bool = True) -> dict[str, float]:
        """Return the means since the last call by name, and start over.

        Without ``last``, metrics of the last update alone are omitted.

        Metrics of a critic that does not exist are absent, as are those of the actor if no update
        moved it.
        """
        if not self._updates:
            return {}
        absent = self._absent | self._unknown | (set() if self._actor_updates else _BY_ACTOR)
        absent |= set() if last else _LAST
        means = {
            name: total / self._count_of(name)
            for name, total in zip(_NAMES, self.sums.tolist(), strict=True)
            if name not in absent
        }
        self.sums.zero_()
        self._updates = self._actor_updates = 0
        self._unknown.clear()
        return means

    def _count_of(self, name: str) -> int:
        if name in _LAST:
            return 1
        return self._actor_updates if name in _BY_ACTOR else self._updates

    def state(self) -> dict[str, NDArray[Any]]:
        """Return copies of the sums, a tensor of shape (1,) for each name, and of the counts."""
        sums = np.split(self.sums.numpy(force=True).copy(), len(_NAMES))
        by_name = dict(zip(_NAMES, sums, strict=True))
        state = {f"tally.{name}": by_name[name] for name in _NAMES if name not in self._absent}
        return state | {"tally.counts": np.array([self._updates, self._actor_updates], np.int64)}

    def load_state(self, arrays: Arrays) -> None:
        """Restore what :meth:`state` returned; a missing metric is omitted from the next row."""
        saved = dict(arrays)
        # Checkpoints of version 0.1 hold all sums in one tensor.
        for name, value in zip(_IN_0_1, arrays.get("tally.sums", ()), strict=False):
            saved[f"tally.{name}"] = np.array([value])
        self._updates, self._actor_updates = (int(count) for count in arrays["tally.counts"])
        for i, name in enumerate(_NAMES):
            found = saved.get(f"tally.{name}")
            self.sums[i] = 0.0 if found is None else float(found[0])
            if found is None and self._updates and name not in self._absent:
                self._unknown.add(name)
