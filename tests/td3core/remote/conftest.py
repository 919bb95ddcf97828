"""Runs that look for requests at every step, so that nothing has to be waited for."""

import pytest


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs report, look for requests and write their status at every turn."""
    monkeypatch.setattr("td3core.training.trainer.REPORT_S", 0.0)
    monkeypatch.setattr("td3core.training.trainer.IDLE_S", 0.01)
    monkeypatch.setattr("td3core.remote.access.LOOK_S", 0.0)
    monkeypatch.setattr("td3core.remote.access.STATUS_S", 0.0)
