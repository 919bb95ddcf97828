"""Cases of a test that only the long run of the suite takes."""

from typing import Any

import pytest


def slow(*values: Any) -> list[Any]:
    """Return the values as cases that are marked slow."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]
