"""Checks values of untrusted JSON: a damaged file may hold any."""

import math
from typing import Any

from td3core.runs.messages import characters
from td3core.runs.metadata import MOST_STEPS


def text(value: Any, most: int) -> str:
    """Return text, cut to ``most`` characters.

    Raises:
        TypeError: it is not text.
    """
    if not isinstance(value, str):
        raise TypeError("not text")
    return characters(value, most)


def whole(value: Any) -> int:
    """Return a count that a run can have reached.

    Raises:
        ValueError: it is none.
    """
    if type(value) is not int or not 0 <= value <= MOST_STEPS:
        raise ValueError("not a count")
    return value


def number(value: Any) -> float:
    """Return a finite number.

    Raises:
        ValueError, TypeError, OverflowError: it is none.
    """
    found = float(value)
    if not math.isfinite(found):
        raise ValueError("not a finite number")
    return found
