"""An update as one launch on a GPU.

An update of small networks is a hundred short kernels; launching them one by one from Python takes
longer than running them. A CUDA graph records them once and launches them together. What changes
between launches (rows, live settings, learning rates) is read from tensors, never from Python.
"""

from collections.abc import Callable

import torch
from torch import Tensor

_WARM_UPS = 3


class Graphs:
    """The two forms of an update, with and without the actor, each recorded on first use."""

    def __init__(self, improve: Callable[[bool], None]) -> None:
        self._improve = improve
        self._graphs: dict[bool, torch.cuda.CUDAGraph] = {}

    def replay(self, moves_actor: bool, changed: Callable[[], list[Tensor]]) -> None:
        """Do one update; ``changed`` returns all tensors that it changes."""
        if moves_actor not in self._graphs:
            self._graphs[moves_actor] = self._record(moves_actor, changed())
        self._graphs[moves_actor].replay()

    def _record(self, moves_actor: bool, changed: list[Tensor]) -> torch.cuda.CUDAGraph:
        """Record an update. It must run a few times first; what that changes is restored."""
        before = [tensor.clone() for tensor in changed]
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(_WARM_UPS):
                self._improve(moves_actor)
        torch.cuda.current_stream().wait_stream(aside)
        for tensor, kept in zip(changed, before, strict=True):
            tensor.copy_(kept)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._improve(moves_actor)
        return graph
