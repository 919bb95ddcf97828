"""A good checkpoint to damage, and a place for what becomes of it."""

from pathlib import Path

import pytest

from td3core import checkpoint
from tests.core.helpers import batch, make_agent, make_header


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
