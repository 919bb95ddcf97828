"""Memory for the arrays of an update."""

import sys
from itertools import pairwise

import numpy as np
import pytest
import torch

from td3core.algorithm import memory

SMALL, LARGE = [(3,), (2, 5), (16, 16)], [(1000, 33), (7,), (256, 4, 256)]


@pytest.mark.parametrize("shapes", [SMALL, LARGE])
def test_arrays_of_an_update_are_zeros_side_by_side_each_from_a_new_cache_line(
    shapes: list[tuple[int, ...]],
) -> None:
    arrays = memory.zeros(shapes)
    assert [array.shape for array in arrays] == shapes
    for array in arrays:
        assert array.dtype == np.float32
        assert array.flags.c_contiguous
        assert array.flags.writeable
        assert not array.any()
        assert array.ctypes.data % 64 == 0
    for array, after in pairwise(arrays):
        assert 0 <= after.ctypes.data - array.ctypes.data - array.nbytes < 64
    for i, array in enumerate(arrays):
        array[:] = i + 1
    assert [float(array.mean()) for array in arrays] == [1.0, 2.0, 3.0]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux is asked for large pages")
def test_a_large_block_begins_with_a_large_page() -> None:
    assert memory.zeros(LARGE)[0].ctypes.data % (2 << 20) == 0


def test_vectors_of_a_device_are_float32_whatever_torch_makes_by_default() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        for device in ("cpu", "meta"):
            made = memory.vectors(2, 5, torch.device(device))
            assert [(each.dtype, each.shape) for each in made] == [(torch.float32, (5,))] * 2
            assert {each.device.type for each in made} == {device}
    finally:
        torch.set_default_dtype(torch.float32)
