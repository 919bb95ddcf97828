"""A bound that is off reads and is written as `off`."""

from dataclasses import fields

import pytest

from td3core.config import Tunables, at_step, make_settings, parse_value, spec
from td3core.config.spec import parse_text
from td3core.config.value_text import in_english, value_words
from td3core.errors import RequestError
from tests.support.stretched import INSIDE


def test_the_reward_floor_is_off_in_words_and_can_be_typed_so() -> None:
    (item,) = (each for each in fields(Tunables) if each.name == "reward_floor")
    assert parse_text(item, " Off ") == item.default == spec(Tunables, "reward_floor").low
    assert spec(Tunables, "reward_floor").allowed == "off to 1,000,000,000"
    with pytest.raises(RequestError, match=r"it must be off or a number up to 1,000,000,000"):
        parse_text(item, "much")
    with pytest.raises(RequestError, match="off or a number"):
        make_settings({"env": "Pendulum-v1", "reward_floor": -2e9})


def test_a_schedule_may_begin_or_end_with_off() -> None:
    text = "off@10, -10@10, Off@30, off@90"
    assert parse_value("reward_floor", text) == "off@10, -10@10, off@30, off@90"
    _, tunables = make_settings({"env": "Pendulum-v1", "reward_floor": text})
    found = [at_step(tunables, step, 100).reward_floor for step in (10, 11, 30, 50)]
    assert found == [-1e9, pytest.approx(-1e9 / 20 - 9.5, rel=1e-6), -1e9, -1e9]
    with pytest.raises(RequestError, match="or a schedule"):
        make_settings({"env": "Pendulum-v1", "tau": "off@10, 0.1@20"})


def test_the_words_of_a_refusal_are_translated_and_files_keep_the_english_ones(
    stretched: None,
) -> None:
    (item,) = (each for each in fields(Tunables) if each.name == "reward_floor")
    with pytest.raises(RequestError) as caught:
        parse_text(item, "much")
    assert INSIDE.sub("", str(caught.value)) == "reward_floor'much'1,000,000,000."
    word = str(spec(Tunables, "reward_floor").lowest)
    assert parse_text(item, word) == parse_text(item, "off") == -1e9
    assert parse_value("reward_floor", f"{word}@10, -10@20") == "off@10, -10@20"
    assert in_english(value_words(False)) == "off"
