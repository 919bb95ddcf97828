"""How the functions of the update are compiled."""

from typing import Any

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
