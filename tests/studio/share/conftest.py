"""The replay pane with its button "Share"."""

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QWidget

from studio.consent.code_consent import CodeConsent
from studio.replay.pane import ReplayPane
from studio.share.menu import ShareButton
from tests.studio.replay.conftest import agent, bundled, consent, pane, stage, staged

__all__ = ["agent", "bundled", "consent", "pane", "stage", "staged"]


@pytest.fixture
def opened() -> list[QWidget]:
    """The panel of the instruments, once a test has put it there."""
    return []


@pytest.fixture
def share(pane: ReplayPane, consent: CodeConsent, opened: list[QWidget]) -> Iterator[ShareButton]:
    made = ShareButton(pane, consent, lambda: opened[0] if opened else None)
    pane.controls.add_tool(made)
    yield made
    made.shutdown()
