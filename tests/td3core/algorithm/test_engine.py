"""The choice between torch's update and the compiled one."""

from typing import Any

import numpy as np
import pytest

from td3core.algorithm import engine
from td3core.algorithm.fused import kernel_cache
from tests.td3core.helpers import tiny


class FakeAgent:
    """Takes a given time for an update: ``first`` the first time, ``later`` from then on."""

    clock = 0.0

    def __init__(self, *_: Any) -> None:
        self._first, self._later = 0.01, 0.01

    def use_fused(self) -> None:
        self._first, self._later = 2.0, 0.001

    def update_from(self, *_: Any) -> None:
        FakeAgent.clock += self._first
        self._first = self._later


def test_the_time_to_load_the_compiled_update_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a busy computer it would take up the whole time for the comparison."""
    monkeypatch.setattr(FakeAgent, "clock", 0.0)
    monkeypatch.setattr(engine, "TD3", FakeAgent)
    monkeypatch.setattr(kernel_cache, "is_ready", lambda: True)
    monkeypatch.setattr("time.perf_counter", lambda: FakeAgent.clock)
    assert engine.choose(*tiny(), 3, 2) == engine.NUMBA


def test_torch_is_chosen_where_it_is_clearly_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    class SlowKernel(FakeAgent):
        def use_fused(self) -> None:
            self._first, self._later = 0.1, 0.1

    monkeypatch.setattr(engine, "TD3", SlowKernel)
    monkeypatch.setattr(kernel_cache, "is_ready", lambda: True)
    monkeypatch.setattr("time.perf_counter", lambda: FakeAgent.clock)
    assert engine.choose(*tiny(), 3, 2) != engine.NUMBA
    assert np.isfinite(FakeAgent.clock)
