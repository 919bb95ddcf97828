"""Capturing an update, with a GPU played by the CPU: a graph runs again what it recorded."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from td3core.algorithm.cuda_graphs import CapturedUpdate
from td3core.algorithm.td3 import TD3
from td3core.config import Tunables
from tests.td3core.helpers import batch, same, tiny


class FakeGraphs:
    """Stands in for ``torch.cuda``: what is recorded changes nothing until it is replayed."""

    def __init__(self, agent: TD3, monkeypatch: pytest.MonkeyPatch) -> None:
        self.recorded = 0
        self._changed = [*agent.actor.tensors(), *agent.critics.tensors(), agent._metrics.sums]
        self.captured = CapturedUpdate(agent._update, self._changed)
        monkeypatch.setattr(agent, "_improve", self.captured)
        stream = SimpleNamespace(wait_stream=lambda other: None)
        monkeypatch.setattr(torch.cuda, "Stream", lambda: stream)
        monkeypatch.setattr(torch.cuda, "current_stream", lambda: stream)
        monkeypatch.setattr(torch.cuda, "stream", lambda _: nullcontext())
        monkeypatch.setattr(torch.cuda, "CUDAGraph", SimpleNamespace)
        monkeypatch.setattr(torch.cuda, "graph", self._graph)
        self._run = self.captured._run
        monkeypatch.setattr(self.captured, "_run", self._noted)

    def _noted(self, moves_actor: bool) -> None:
        self._moves_actor = moves_actor
        self._run(moves_actor)

    @contextmanager
    def _graph(self, graph: Any) -> Iterator[None]:
        before = [tensor.clone() for tensor in self._changed]
        yield
        for tensor, kept in zip(self._changed, before, strict=True):
            tensor.copy_(kept)
        moves_actor = self._moves_actor
        graph.replay = lambda: self._run(moves_actor)
        self.recorded += 1


def test_a_captured_update_does_what_the_update_does_through_live_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain, captured = (TD3(*tiny(policy_delay=2), 3, 2) for _ in range(2))
    graphs = FakeGraphs(captured, monkeypatch)
    for number in range(12):
        if number == 6:
            for agent in (plain, captured):
                agent.apply(Tunables(tau=0.5, gamma=0.5, policy_delay=3, actor_lr=0.01))
        data = batch(8 if number < 9 else 16, seed=number)
        plain.update(data)
        captured.update(data)
        assert same(plain.state(), captured.state()), number
    # With and without the actor, for each of two batch sizes.
    assert graphs.recorded == 4
    assert plain.take_metrics() == captured.take_metrics()
