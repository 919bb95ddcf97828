"""Means of what is measured of the updates."""

import math
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from td3core.protocol.events import METRICS


class UpdateMetrics:
    """Means of ``METRICS``, kept as tensors: reading a number out of each update stalls it."""

    def __init__(self, critics: int, device: torch.device) -> None:
        self.sums = torch.zeros(len(METRICS), dtype=torch.float64, device=device)
        """Over all updates; that of the actor's loss over those that moved it."""
        self._q, self._target, self._loss, self._actor_loss = torch.split(self.sums, [2, 1, 2, 1])
        self._q, self._loss = self._q[:critics], self._loss[:critics]
        self._one_critic = critics == 1
        self._updates = self._actor_updates = 0

    def count(self, moved_actor: bool) -> None:
        """Count an update that has been noted."""
        self._updates += 1
        self._actor_updates += moved_actor

    def add_critics(self, q: Tensor, y: Tensor, error: Tensor) -> None:
        """Note values (critics, batch, 1), target (batch, 1) and errors of one update."""
        self._q += q.mean(dim=(1, 2))
        self._target += y.mean()
        self._loss += error.square_().mean(dim=(1, 2))

    def add_actor(self, q1: Tensor) -> None:
        """Note the value of the actor's own actions, (1, batch, 1); the loss is minus its mean."""
        self._actor_loss -= q1.mean()

    def take(self) -> NDArray[np.float64] | None:
        """Return the means since the last call; NaN for a critic or an actor step there was not."""
        if not self._updates:
            return None
        means = self.sums.numpy(force=True) / self._updates
        means[-1] *= self._updates / self._actor_updates if self._actor_updates else math.nan
        if self._one_critic:
            means[[1, 4]] = math.nan
        self.sums.zero_()
        self._updates = self._actor_updates = 0
        return means

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Return what has been noted since the means were last taken."""
        counts = np.array([self._updates, self._actor_updates], np.int64)
        return {"tally.sums": self.sums.numpy(force=True).copy(), "tally.counts": counts}

    def load_state(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Go on from what :meth:`state` returned."""
        self.sums.copy_(torch.from_numpy(arrays["tally.sums"]))
        self._updates, self._actor_updates = (int(count) for count in arrays["tally.counts"])
