"""The replay pane with its button "Share"."""

from collections.abc import Iterator

import pytest

from studio.replay.pane import ReplayPane
from studio.share.menu import ShareButton
from tests.studio.replay.conftest import agent, bundled, pane, staged

__all__ = ["agent", "bundled", "pane", "staged"]


@pytest.fixture
def share(pane: ReplayPane) -> Iterator[ShareButton]:
    made = ShareButton(pane, pane._consent)
    pane.controls.add_tool(made)
    yield made
    made.shutdown()
