"""The optimiser of the compiled update, where numbers are too small to be normal."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from td3core.algorithm.fused import passes
from td3core.algorithm.fused.jit import called_from_python
from td3core.arrays import Floats

SMALLEST = np.float32(1.4e-45)
numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)
moments = st.one_of(
    st.integers(-2000, 2000).map(lambda k: float(SMALLEST * np.float32(k))),
    st.floats(-1.0, 1.0, width=32),
)
gradients = st.one_of(st.just(0.0), st.just(-0.0), st.floats(-1.0, 1.0, width=32))


def by_the_paper(
    online: Floats, gradient: Floats, first: Floats, second: Floats, step: passes.Step
) -> tuple[Floats, Floats, Floats]:
    """Return parameters and moments after a step of Adam, in float32."""
    one = np.float32
    m = first + one(1.0 - 0.9) * (gradient - first)
    v = one(0.999) * second + one(1.0 - 0.999) * gradient * gradient
    return online - step.size * m / (np.sqrt(v) / step.root + one(1e-8)), m, v


_adam = called_from_python(passes._adam.py_func)
"""As compiled code calls it, for a call from Python."""


def step_of(size: float, updates: int) -> passes.Step:
    root = np.float32(np.sqrt(1.0 - 0.999**updates))
    return passes.Step(np.float32(size), root, np.float32(0.0), False)


@given(
    st.lists(st.tuples(st.floats(-2.0, 2.0, width=32), gradients, moments, moments), min_size=1),
    st.sampled_from([1e-5, 3e-4, 0.09, 0.11, 1.0, 10.0]),
    st.integers(1, 100_000),
)
@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
@pytest.mark.slow
def test_moments_of_any_size_are_stepped_as_the_paper_says_bit_for_bit(
    rows: list[tuple[float, ...]], size: float, updates: int
) -> None:
    online, gradient, first, second = np.array(rows, np.float32).T.copy()
    second = np.abs(second)
    # No sum of Adam is ever -0.
    online[online == 0], first[first == 0] = 0.0, 0.0
    step = step_of(size, updates)
    expected = by_the_paper(online, gradient, first, second, step)
    _adam(online, gradient, first, second, step)
    for ours, theirs in zip((online, first, second), expected, strict=True):
        np.testing.assert_array_equal(ours.view(np.int32), theirs.view(np.int32))


@pytest.mark.parametrize(("moment", "still"), [("first", 4), ("second", 500)])
def test_moments_of_a_dead_unit_end_where_they_are_held(moment: str, still: int) -> None:
    arrays: Any = {name: np.zeros(1, np.float32) for name in ("online", "gradient", "first")}
    arrays["second"] = np.zeros(1, np.float32)
    arrays[moment][0] = SMALLEST * np.float32(still + 100)
    for _ in range(1000):
        _adam(*arrays.values(), step_of(3e-4, 1000))
    assert arrays[moment].view(np.int32)[0] == still
    assert arrays["online"][0] == 0.0
