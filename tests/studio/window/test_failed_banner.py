"""The banner about a failed run."""

from pathlib import Path

import pytest

from td3core.protocol.events import Failed
from td3core.text import Text
from tests.support.events import ended

pytestmark = pytest.mark.shared_window


def test_where_the_agent_was_saved_is_a_line_of_its_own_below_what_failed(window) -> None:
    last = Path("run/checkpoints/last.safetensors")
    ending = ended("failed", last_checkpoint=last)
    window.model.run_ended.emit(
        Failed(message=Text("It raised ValueError: boom"), details="", ending=ending)
    )
    assert window.banner.text == (
        "It raised ValueError: boom\nThe agent was saved in last.safetensors."
    )
