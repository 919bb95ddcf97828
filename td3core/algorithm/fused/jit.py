"""How the functions of the update are compiled."""

from typing import Any

import numpy as np
from numba import njit

called_from_python = njit(nogil=True, error_model="numpy")
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
"""For functions called only by compiled code: wrappers for Python take a sixth of the compile time.
"""
fast = njit(**OPTIONS)
inlined = njit(**OPTIONS, inline="always")
"""For functions with a single caller."""
ZERO = np.int64(0)
"""Numba compiles a function anew for each literal argument, such as 0, and each type of integer."""
