"""A copy of the replay buffer on the device that trains, so that no batch has to be sent there.

The run's buffer stays the owner. Both draw the same transitions for the same generator.
"""

import numpy as np
import torch
from torch import Tensor

from td3core.buffer.replay_buffer import Batch, ReplayBuffer

_LARGEST_SHARE = 0.5
"""Of a GPU's free memory; networks and other programs need some too."""


def fits(buffer: ReplayBuffer, device: torch.device) -> bool:
    """Return whether a device has room for all rows of a replay buffer."""
    if device.type != "cuda":
        return False
    free, _ = torch.cuda.mem_get_info(device)
    return buffer.rows.nbytes <= _LARGEST_SHARE * free


class DeviceBuffer:
    """The rows of a replay buffer on a device, brought up to date before each draw."""

    def __init__(self, buffer: ReplayBuffer, device: torch.device) -> None:
        self._buffer = buffer
        self._rows = torch.zeros(buffer.rows.shape, dtype=torch.float32, device=device)
        self._copied = 0
        """Transitions stored when the copy was last brought up to date."""

    def sample(self, source: np.random.Generator, count: int) -> Batch[Tensor]:
        """Draw the ``count`` transitions that the buffer itself would draw."""
        self._catch_up()
        rows = torch.from_numpy(self._buffer.draw(source, count))
        return self._buffer.columns(self._rows[rows.to(self._rows.device)])

    def _catch_up(self) -> None:
        stored, ring = self._buffer.stored, len(self._buffer.rows)
        first = max(self._copied, stored - ring)
        while first < stored:
            begin = first % ring
            end = min(begin + stored - first, ring)
            self._rows[begin:end] = torch.from_numpy(self._buffer.rows[begin:end])
            first += end - begin
        self._copied = stored
