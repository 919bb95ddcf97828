"""Windows whose runs are started, resumed and tried, but not watched."""

import pytest

from studio.replay.player import Player


@pytest.fixture(autouse=True)
def _nothing_is_played(monkeypatch) -> None:
    """Let the agents of runs on show rest: each would be played by a process of its own."""
    monkeypatch.setattr(Player, "load", lambda *_, **__: None)
