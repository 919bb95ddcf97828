"""The arrays of an update, allocated once for each batch size."""

import torch
from torch import Tensor

from td3core.algorithm.mlp import MLPPass
from td3core.algorithm.train_state import TrainState
from td3core.arrays import Floats
from td3core.buffer.rows import Batch
from td3core.config import RunConfig


class UpdateWorkspace:
    """The batch of an update and the passes over it, for one batch size.

    A row of ``rows`` holds s, a, s', N(0, 1), r, terminated. The noise is overwritten by the target
    action ã, so that (s, a) and (s', ã) are contiguous, as the critics take them.
    """

    def __init__(
        self, config: RunConfig, actor: TrainState, critics: TrainState, size: int
    ) -> None:
        self.size = size
        obs, act = actor.online.widths[0], actor.online.widths[-1]
        self.rows = actor.online.flat.new_zeros(size, 2 * (obs + act) + 2)
        self._host = torch.zeros_like(self.rows, device="cpu", pin_memory=self.rows.is_cuda)
        self.pair, self.next_pair, self.reward, self.terminated = torch.split(
            self.rows, [obs + act, obs + act, 1, 1], 1
        )
        self.own_pair = torch.zeros_like(self.pair)
        self.actions = slice(obs, None)
        self.obs = self.pair[:, :obs]
        self.next_obs, self.next_action = torch.split(self.next_pair, [obs, act], 1)
        self.own_obs, self.own_action = torch.split(self.own_pair, [obs, act], 1)
        self.actor = MLPPass(actor.online, config.actor_activation, size)
        self.actor_target = MLPPass(actor.target, config.actor_activation, size)
        self.critics = MLPPass(critics.online, config.critic_activation, size)
        self.critic_targets = MLPPass(critics.target, config.critic_activation, size)
        self.q1 = MLPPass(critics.online, config.critic_activation, size, members=1)

    def load(self, batch: Batch[Floats] | Batch[Tensor], noise: Floats) -> None:
        """Copy in a batch, and N(0, 1) noise (batch, act_dim)."""
        parts = (batch.obs, batch.action, batch.next_obs, noise, batch.reward, batch.terminated)
        if isinstance(batch.obs, Tensor):
            there = [torch.as_tensor(part, device=self.rows.device) for part in parts]
            torch.cat(there, 1, out=self.rows)
            return
        tensors = [torch.from_numpy(part) for part in parts]
        if self.rows.is_cuda:
            # The previous transfer must have left the pinned buffer.
            torch.cuda.current_stream().synchronize()
            torch.cat(tensors, 1, out=self._host)
            self.rows.copy_(self._host, non_blocking=True)
        else:
            torch.cat(tensors, 1, out=self.rows)
