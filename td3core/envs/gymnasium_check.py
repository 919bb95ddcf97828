"""Gymnasium's own check of an environment, with what it complains of as plain sentences."""

import re
import warnings
from typing import Any

import gymnasium as gym
from gymnasium.utils.env_checker import check_env

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

_BESIDE_THE_POINT = (
    # What the environment promises is checked; whether a space could be tidier is not asked here.
    "we recommend using a symmetric and normalized space",
    # Unbounded observations are common, in Gymnasium's own environments as well.
    "minimum value is -infinity",
    "maximum value is infinity",
)


def gymnasium_complaints(env: gym.Env[Any, Any]) -> tuple[list[str], str]:
    """Return the warnings of Gymnasium's check of a bare environment, and its refusal or ``""``."""
    level = gym.logger.min_level
    env.action_space.seed(0)
    failure = ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gym.logger.min_level = gym.logger.WARN
        try:
            check_env(env, skip_render_check=True)
        except Exception as problem:
            # An assertion, or whatever the environment itself raises.
            failure = _sentence(str(problem) or type(problem).__name__)
        finally:
            gym.logger.min_level = level
    texts = dict.fromkeys(_sentence(str(item.message)) for item in caught)
    return [text for text in texts if not _beside_the_point(text)], failure


def _beside_the_point(text: str) -> bool:
    return any(part in text for part in _BESIDE_THE_POINT)


def _sentence(text: str) -> str:
    text = _COLOUR.sub("", text).strip().removeprefix("WARN: ")
    first = (text.splitlines() or [""])[0].strip()
    return first if first.endswith((".", "!", "?")) else f"{first}."
