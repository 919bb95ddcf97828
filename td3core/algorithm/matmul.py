"""Chooses one of torch's two fp32 matrix products for the torch engine.

Torch multiplies with MKL, or with oneDNN if reduced precision is allowed. On AMD processors with
AVX-512, MKL takes a slower path and oneDNN is twice as fast, still in full fp32. With AMX units
oneDNN does round to bf16. So the processor decides, and the precision is checked; a choice by
timing would make runs depend on the load of the computer.
"""

import numpy as np
import torch

from td3core.system import processor
from td3core.system.numerics import AVX512, available

MKL, ONEDNN = "MKL", "oneDNN"

_FLAG = {MKL: "none", ONEDNN: "bf16"}
_INTEL = "GenuineIntel"
_SIZE = 64

MAX_ERROR_RATIO = 4.0
"""Largest ratio of oneDNN's error to MKL's. Rounding to bf16 makes it thousands."""


def use(name: str) -> None:
    """Make torch use this matrix product from now on, in the whole process."""
    torch.backends.mkldnn.matmul.fp32_precision = _FLAG[name]  # type: ignore[attr-defined]


def choose() -> str:
    """Use the best matrix product for this processor; return its name."""
    both = torch._C.has_mkl and torch._C._has_mkldnn
    suits = AVX512 in available() and processor.maker() != _INTEL
    chosen = ONEDNN if both and suits and _is_exact() else MKL
    use(chosen)
    return chosen


def _is_exact() -> bool:
    return _error(ONEDNN) <= MAX_ERROR_RATIO * _error(MKL)


def _error(name: str) -> float:
    """Return the largest error of a matrix product."""
    source = np.random.default_rng(0)
    # Not torch.randn: an environment may have changed torch's default data type or device.
    a, b = (torch.from_numpy(source.standard_normal((_SIZE, _SIZE), np.float32)) for _ in range(2))
    use(name)
    product = torch.mm(a, b)
    return float((product.double() - a.double() @ b.double()).abs().max())
