"""Checks of small arrays at every step."""

import numpy as np
import pytest

from td3core.arrays import all_finite


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("shape", [(3,), (2, 2)])
def test_one_number_that_is_not_finite_is_found_wherever_it_stands(
    value: float, shape: tuple[int, ...]
) -> None:
    for place in np.ndindex(*shape):
        numbers = np.ones(shape, np.float32)
        numbers[place] = value
        assert not all_finite(numbers)


def test_the_largest_finite_numbers_are_finite() -> None:
    largest = np.finfo(np.float32).max
    assert all_finite(np.array([largest, -largest, 0.0], np.float32))
