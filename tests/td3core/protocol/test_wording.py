"""Whatever a run reports by name has words."""

from collections.abc import Mapping
from enum import StrEnum

import pytest

from td3core.protocol import wording
from td3core.protocol.events import JournalEvent, Phase
from td3core.protocol.run_status import RunStatus
from td3core.text import Text


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (JournalEvent, wording.JOURNAL),
        (Phase, wording.PHASES),
        (RunStatus, wording.STATES),
    ],
)
def test_every_name_has_words_and_no_words_lack_a_name(
    kinds: type[StrEnum], words: Mapping[str, Text]
) -> None:
    assert set(words) == set(kinds)
