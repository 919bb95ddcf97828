"""Finished batches on the training device.

The run's buffer on the CPU is authoritative. A GPU with enough memory holds a copy of it, so that
no batches have to be transferred.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from td3core.arrays import Floats
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.buffer.rows import Batch
from td3core.buffer.sampler import Draws

_LARGEST_SHARE = 0.5
"""Largest fraction of a GPU's free memory; networks and other programs need some, too."""


def fits(buffer: ReplayBuffer, device: torch.device) -> bool:
    """Return whether a device has room for all rows of a replay buffer."""
    if device.type != "cuda":
        return False
    free, _ = torch.cuda.mem_get_info(device)
    return buffer.rows.nbytes <= _LARGEST_SHARE * free


class DeviceBatches:
    """Yields batches on a device if possible."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._buffer: ReplayBuffer | None = None
        self._copy: RowsThere | None = None
        """Copy of that buffer, if it fits."""

    def __call__(self, draws: Draws) -> Iterator[Batch[Floats] | Batch[Tensor]]:
        """Yield the finished batch of each update: on the device, if the whole buffer is there.

        Normalisation, whose running statistics change, and n-step returns stay on the CPU.
        """
        there = self._rows_of(draws.buffer) if draws.are_stored else None
        if there is None:
            yield from draws
            return
        rows = there.up_to_date()
        for index in torch.from_numpy(draws.index).to(self._device):
            yield draws.bounded(draws.buffer.layout.columns(rows[index]))

    def _rows_of(self, buffer: ReplayBuffer) -> "RowsThere | None":
        if buffer is not self._buffer:
            there = fits(buffer, self._device)
            self._buffer, self._copy = buffer, RowsThere(buffer, self._device) if there else None
        return self._copy


class RowsThere:
    """The rows of a replay buffer on a device."""

    def __init__(self, buffer: ReplayBuffer, device: torch.device) -> None:
        self._buffer = buffer
        self._rows = torch.zeros(buffer.rows.shape, dtype=torch.float32, device=device)
        self._copied = 0
        """Transitions stored when the copy was last updated."""

    def up_to_date(self) -> Tensor:
        """Copy the rows stored since the last call; return all rows."""
        stored, ring = self._buffer.stored, len(self._buffer.rows)
        first = max(self._copied, stored - ring)
        while first < stored:
            begin = first % ring
            end = min(begin + stored - first, ring)
            self._rows[begin:end] = torch.from_numpy(self._buffer.rows[begin:end])
            first += end - begin
        self._copied = stored
        return self._rows
