"""A good checkpoint to damage, a place for what becomes of it; and what runs store."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core import checkpoint
from td3core.buffer.replay_buffer import ReplayBuffer
from tests.td3core.helpers import batch, make_agent, make_header


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the bytes of a good checkpoint."""
    path, agent = tmp_path_factory.mktemp("whole") / "a.safetensors", make_agent()
    agent.update(batch())
    agent.update(batch())
    checkpoint.save(path, make_header(path), agent.state())
    return path.read_bytes()


@pytest.fixture(scope="module")
def spot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where damaged files are put."""
    return tmp_path_factory.mktemp("damaged") / "agent.safetensors"


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collect every transition that a run stores."""
    rows: list[Any] = []

    class Recording(ReplayBuffer):
        def add(self, *transition: Any) -> None:
            rows.append([np.copy(part) for part in transition])
            super().add(*transition)

    monkeypatch.setattr("td3core.buffer.replay_buffer.ReplayBuffer", Recording)
    return rows
