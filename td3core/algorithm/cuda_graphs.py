"""Runs an update with a single launch on a GPU.

An update of small networks consists of a hundred short kernels, which take longer to launch from
Python than to run. A CUDA graph captures them once, gradients included, and launches them together.
Everything that changes between launches (batch, noise, live settings, learning rates) is read from
tensors, never from Python.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from td3core.buffer.rows import Batch

_WARM_UPS = 3

Update = Callable[[Batch[Tensor], Tensor, bool], None]
"""Arguments: a batch, N(0, 1) noise, and whether the actor moves."""


class CapturedUpdate:
    """The two variants of an update, with and without the actor, each captured on first use."""

    def __init__(self, update: Update, changed: Sequence[Tensor]) -> None:
        """``changed``: all tensors that the update modifies."""
        self._update, self._changed = update, changed
        self._inputs: list[Tensor] = []
        """Inputs of the graphs, on the device."""
        self._graphs: dict[bool, torch.cuda.CUDAGraph] = {}

    def __call__(self, batch: Batch[Tensor], noise: Tensor, moves_actor: bool) -> None:
        """Do one update; capture it again if the batch size has changed."""
        parts = (*batch, noise)
        if [part.shape for part in parts] != [there.shape for there in self._inputs]:
            self._graphs.clear()
            self._inputs = [torch.empty_like(part, device=self._device) for part in parts]
        for there, part in zip(self._inputs, parts, strict=True):
            there.copy_(part)
        if moves_actor not in self._graphs:
            self._graphs[moves_actor] = self._record(moves_actor)
        self._graphs[moves_actor].replay()

    @property
    def _device(self) -> torch.device:
        return self._changed[0].device

    def _run(self, moves_actor: bool) -> None:
        *batch, noise = self._inputs
        self._update(Batch(*batch), noise, moves_actor)

    def _record(self, moves_actor: bool) -> torch.cuda.CUDAGraph:
        """Capture an update. The required warm-up runs are undone."""
        before = [tensor.clone() for tensor in self._changed]
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(_WARM_UPS):
                self._run(moves_actor)
        torch.cuda.current_stream().wait_stream(aside)
        for tensor, kept in zip(self._changed, before, strict=True):
            tensor.copy_(kept)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._run(moves_actor)
        return graph
