"""A panel of sliders that records its requests."""

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtWidgets import QWidget

from studio.live.live_panel import LivePanel
from tests.studio.live.requests import Requests


@pytest.fixture
def requests() -> Requests:
    return Requests()


@pytest.fixture
def look(panel: LivePanel) -> Callable[[str], Any]:
    """Return a function that finds a part of the panel by its name."""

    def find(name: str) -> QWidget:
        found = panel.findChild(QWidget, name)
        assert found is not None, name
        return found

    return find
