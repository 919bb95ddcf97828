"""Cases of a test that only the longer runs of the suite take."""

from typing import Any

import pytest


def slow(*values: Any) -> list[Any]:
    """Return the values as cases that are marked slow."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def release(*values: Any) -> list[Any]:
    """Return the values as cases that only ``.ci/release`` takes."""
    return [pytest.param(value, marks=pytest.mark.release) for value in values]
