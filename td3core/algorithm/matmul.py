"""Which of torch's two fp32 matrix products is the faster one on this processor.

Torch multiplies through MKL, or through oneDNN when less than fp32 is allowed. On some
AMD processors MKL takes its slower path and oneDNN is twice as fast, still in true fp32. With AMX
units oneDNN really rounds to bf16. So both are timed and the result is checked, once for each run.
"""

import platform
import time

import numpy as np
import torch
from torch import Tensor

MKL, ONEDNN = "MKL", "oneDNN"

_FLAG = {MKL: "none", ONEDNN: "bf16"}

CLEARLY_FASTER = 1.3
"""The other product has to win by this factor: a close race would be decided by chance, and two
runs with the same seed would differ in their last bits."""

MAX_ERROR_RATIO = 4.0
"""The other product's error may be this many times the usual one's. Rounding to bf16 makes it
thousands."""

# Below, a product is over before the difference shows; above, timing it would take seconds.
_SMALLEST, _LARGEST = 64, 512
_ROUNDS = 40


def use(name: str) -> None:
    """Let torch multiply this way from now on, in the whole process."""
    torch.backends.mkldnn.matmul.fp32_precision = _FLAG[name]  # type: ignore[attr-defined]


def choose(batch: int, width: int) -> str:
    """Use the fastest exact product for (batch, width) times (width, width); return its name."""
    use(MKL)
    both = torch._C.has_mkl and torch._C._has_mkldnn
    if not both or min(batch, width) < _SMALLEST:
        return MKL
    batch, width = min(batch, _LARGEST), min(width, _LARGEST)
    source = np.random.default_rng(0)
    # Not torch.randn: an environment may have changed torch's default data type or device.
    a, b = (
        torch.from_numpy(source.standard_normal((n, width), np.float32)) for n in (batch, width)
    )
    if torch.equal(_product(MKL, a, b), _product(ONEDNN, a, b)):
        chosen = MKL  # This processor has but one.
    else:
        # Of many single products the quickest: whatever else runs here interrupts some, not all.
        rounds = [(_seconds(MKL, a, b), _seconds(ONEDNN, a, b)) for _ in range(_ROUNDS)]
        usual, other = (min(times) for times in zip(*rounds, strict=True))
        faster = usual > CLEARLY_FASTER * other
        exact = faster and _error(ONEDNN, a, b) <= MAX_ERROR_RATIO * _error(MKL, a, b)
        chosen = ONEDNN if exact else MKL
    use(chosen)
    return chosen


def numerics_info(threads: int) -> dict[str, str]:
    """Return what the last bits of a result depend on besides settings and code."""
    return {
        "torch": torch.__version__,
        "numpy": np.__version__,
        "processor": f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}",
        "threads": str(threads),
    }


def _product(name: str, a: Tensor, b: Tensor) -> Tensor:
    use(name)
    return torch.mm(a, b)


def _seconds(name: str, a: Tensor, b: Tensor) -> float:
    use(name)
    began = time.perf_counter()
    torch.mm(a, b)
    return time.perf_counter() - began


def _error(name: str, a: Tensor, b: Tensor) -> float:
    return float((_product(name, a, b).double() - a.double() @ b.double()).abs().max())
