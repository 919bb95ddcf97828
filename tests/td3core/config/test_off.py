"""A bound that is off reads and is written as `off`."""

from dataclasses import fields

import pytest

from td3core.config import make_settings, spec
from td3core.config.run_config import RunConfig
from td3core.config.spec import parse_text
from td3core.errors import RequestError


def test_the_reward_floor_is_off_in_words_and_can_be_typed_so() -> None:
    (item,) = (each for each in fields(RunConfig) if each.name == "reward_floor")
    assert parse_text(item, " Off ") == item.default == spec(RunConfig, "reward_floor").low
    assert spec(RunConfig, "reward_floor").allowed == "off to 1e+09"
    with pytest.raises(RequestError, match=r"it must be off or a number up to 1e\+09"):
        parse_text(item, "much")
    with pytest.raises(RequestError, match="off or a number"):
        make_settings({"env": "Pendulum-v1", "reward_floor": -2e9})
