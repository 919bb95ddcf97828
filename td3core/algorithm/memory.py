"""Memory for the arrays that every update reads and writes."""

import contextlib
import math
import mmap
import sys
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from td3core.arrays import Floats

_LINE = 64
"""Size of a cache line in bytes."""
_PAGE = 2 << 20
"""Size of a huge page in bytes."""


def zeros(shapes: Sequence[tuple[int, ...]]) -> list[Floats]:
    """Return arrays in one block of memory, each aligned to a cache line.

    On Linux, huge pages are requested. Scattered over small pages, arrays that would together fit
    into the L2 cache evict one another.
    """
    sizes = [4 * math.prod(shape) for shape in shapes]
    starts = np.cumsum([0, *(-(-size // _LINE) * _LINE for size in sizes)]).tolist()
    block = _block(starts.pop())
    return [
        block[start : start + size].view(np.float32).reshape(shape)
        for start, size, shape in zip(starts, sizes, shapes, strict=True)
    ]


def vectors(count: int, length: int, device: torch.device) -> list[Tensor]:
    """Return ``count`` vectors of zeros, on the CPU from :func:`zeros`."""
    if device.type == "cpu":
        return [torch.from_numpy(array) for array in zeros([(length,)] * count)]
    # Always explicit: an environment may change torch's default data type or device.
    return [torch.zeros(length, dtype=torch.float32, device=device) for _ in range(count)]


def _block(size: int) -> NDArray[np.uint8]:
    # A smaller block fits into the L2 cache with any page layout.
    if sys.platform == "linux" and size >= _PAGE // 2:
        memory = mmap.mmap(-1, size + _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with contextlib.suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
        block, step = np.frombuffer(memory, np.uint8), _PAGE
    else:
        block, step = np.zeros(size + _LINE, np.uint8), _LINE
    start = -block.ctypes.data % step
    return block[start : start + size]
