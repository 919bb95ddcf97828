"""Views of parts of contiguous arrays, for compiled code.

Slicing and ``reshape`` do the same, but with reference counting, and ``reshape`` calls a helper:
with layers of width 64 that took a fortieth of an update. Bounds are not checked, and a view does
not keep the array alive: it must not outlive the call that received the array.
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numba.np.numpy_support import carray

from td3core.algorithm.fused.jit import fast


def _pointer_to(_context: Any, array: Any, _start: Any) -> tuple[Any, Callable[..., Any]]:
    """Return a pointer to the element at a flat index."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.gep(data, [arguments[1]])

    return types.CPointer(array.dtype)(array, types.intp), generate


_pointer: Any = intrinsic(_pointer_to)


@fast
def vector(array, start, length):
    """Return a part (length,) of a contiguous array of any shape."""
    return carray(_pointer(array, start), (length,))


@fast
def matrix(array, start, rows, columns):
    """Return a part (rows, columns) of a contiguous array of any shape."""
    return carray(_pointer(array, start), (rows, columns))
