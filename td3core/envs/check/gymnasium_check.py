"""Runs Gymnasium's own check of an environment and collects what it reports."""

import re
import warnings
from typing import Any

import gymnasium as gym
from gymnasium.utils.env_checker import check_env

from td3core.errors import reason_of, require_no_interrupt

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

_IRRELEVANT = (
    # Actions are scaled anyway.
    "we recommend using a symmetric and normalized space",
    # Unbounded observations are common, also in Gymnasium's own environments.
    "minimum value is -infinity",
    "maximum value is infinity",
)


def run_gymnasium_check(env: gym.Env[Any, Any]) -> tuple[list[str], str]:
    """Check an unwrapped environment; return the warnings, and the error or ``""``."""
    level = gym.logger.min_level
    env.action_space.seed(0)
    failure = ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gym.logger.min_level = gym.logger.WARN
        try:
            check_env(env, skip_render_check=True)
        except BaseException as problem:
            # An assertion, or anything the environment itself raises.
            require_no_interrupt(problem)
            failure = _first_line(reason_of(problem))
        finally:
            gym.logger.min_level = level
    texts = dict.fromkeys(_first_line(str(item.message)) for item in caught)
    return [text for text in texts if not any(part in text for part in _IRRELEVANT)], failure


def _first_line(text: str) -> str:
    """Return the first line as a sentence, without colour codes."""
    text = _COLOUR.sub("", text).strip().removeprefix("WARN: ")
    first = (text.splitlines() or [""])[0].strip()
    return first if first.endswith((".", "!", "?")) else f"{first}."
