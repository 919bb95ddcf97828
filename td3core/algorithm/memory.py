"""Memory for the arrays that every update goes through."""

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
"""Bytes of a line of the processor's caches."""
_PAGE = 2 << 20
"""Bytes of a large page."""


def zeros(shapes: Sequence[tuple[int, ...]]) -> list[Floats]:
    """Return arrays that lie side by side, each from the beginning of a cache line.

    Linux is asked for large pages. Scattered in small ones, arrays that would fit into the
    processor's second cache together push one another out of it.
    """
    sizes = [4 * math.prod(shape) for shape in shapes]
    starts = np.cumsum([0, *(-(-size // _LINE) * _LINE for size in sizes)]).tolist()
    block = _block(starts.pop())
    return [
        block[start : start + size].view(np.float32).reshape(shape)
        for start, size, shape in zip(starts, sizes, shapes, strict=True)
    ]


def vectors(count: int, length: int, device: torch.device) -> list[Tensor]:
    """Return this many vectors of zeros; on the CPU they are made by :func:`zeros`."""
    if device.type == "cpu":
        return [torch.from_numpy(array) for array in zeros([(length,)] * count)]
    # Always explicit: an environment may change torch's default data type or device.
    return [torch.zeros(length, dtype=torch.float32, device=device) for _ in range(count)]


def _block(size: int) -> NDArray[np.uint8]:
    # A smaller block fits into the second cache wherever it lies.
    if sys.platform == "linux" and size >= _PAGE // 2:
        memory = mmap.mmap(-1, size + _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with contextlib.suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
        block, step = np.frombuffer(memory, np.uint8), _PAGE
    else:
        block, step = np.zeros(size + _LINE, np.uint8), _LINE
    start = -block.ctypes.data % step
    return block[start : start + size]
