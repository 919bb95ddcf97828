"""Waiting for something to happen, instead of sleeping until it should have."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(condition: Callable[[], T], timeout_s: float = 60.0) -> T:
    """Ask until the answer is true, and return it; fail the test where it never is."""
    end = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < end, f"it has not happened within {timeout_s:g} s"
        time.sleep(0.02)
    return found
