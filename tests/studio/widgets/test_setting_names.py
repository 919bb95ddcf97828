"""A message about a setting reads with its label in the window and with its key in a terminal."""

import re
from pathlib import Path

import pytest

from studio.widgets.setting_names import in_labels
from td3core.config import check_together, label_of, make_settings, parse_value
from td3core.errors import RequestError
from td3core.text import Text, from_plain, plain


def refusal(**values: object) -> Text:
    with pytest.raises(RequestError) as refused:
        check_together(*make_settings({"env": "Pendulum-v1", **values}))
    return refused.value.message


def test_a_refused_value_has_the_label_in_the_window_and_the_key_in_the_terminal() -> None:
    message = refusal(actor_lr=-1.0)
    assert str(message).startswith("actor_lr cannot be -1.0; it must be")
    assert in_labels(message).startswith("Actor learning rate cannot be -1.0; it must be")


def test_every_setting_of_a_message_has_its_label() -> None:
    message = refusal(batch_size=200, buffer_size=100)
    assert str(message) == "batch_size 200 is larger than buffer_size 100."
    assert in_labels(message) == "Batch size 200 is larger than Replay buffer 100."


def test_a_value_that_reads_like_a_setting_stays_what_was_entered() -> None:
    with pytest.raises(RequestError) as refused:
        parse_value("actor_lr", "critic_lr")
    assert in_labels(refused.value.message).startswith("Actor learning rate cannot be 'critic_lr'")


def test_a_message_of_a_file_has_labels_and_that_of_an_earlier_version_its_own_words() -> None:
    message = refusal(actor_lr=-1.0)
    assert in_labels(from_plain(plain(message))) == in_labels(message)
    assert in_labels(from_plain("actor_lr cannot be -1.0.")) == "actor_lr cannot be -1.0."
    assert in_labels("tau is too large") == "tau is too large"


def test_every_name_that_a_message_of_the_program_gives_has_a_label(root: Path) -> None:
    sources = [path.read_text("utf-8") for path in (root / "td3core").rglob("*.py")]
    names = {name for each in sources for name in re.findall(r'SettingName\("(\w+)"\)', each)}
    assert {"seeds", "batch_size"} <= names
    assert {name for name in {*names, "lr_final"} if label_of(name) == name} == set()
