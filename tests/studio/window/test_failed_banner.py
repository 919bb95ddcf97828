"""What the banner says of a run that failed."""

from pathlib import Path

import pytest

from td3core.protocol.events import Failed
from td3core.text import Text
from tests.support.events import ended

pytestmark = pytest.mark.shared_window


@pytest.mark.parametrize("said", ["It raised ValueError: boom", "It raised ValueError: boom."])
def test_what_failed_is_a_sentence_of_its_own_before_where_the_agent_was_saved(
    window, said: str
) -> None:
    last = Path("run/checkpoints/last.safetensors")
    ending = ended("failed", last_checkpoint=last)
    window.model.run_ended.emit(Failed(message=Text(said), details="", ending=ending))
    assert window.banner.text == (
        "It raised ValueError: boom. The agent was saved in last.safetensors."
    )
