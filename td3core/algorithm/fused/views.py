"""Views of parts of contiguous arrays, for compiled code.

Slicing and ``reshape`` do the same, but count references, and ``reshape`` calls a helper: at 64
wide that took a fortieth of an update. Nothing checks the bounds, and nothing keeps the array
alive: a view lives no longer than the call that got the array.
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numba.np.numpy_support import carray

from td3core.algorithm.fused.jit import fast


def _pointer_to(_context: Any, array: Any, _start: Any) -> tuple[Any, Callable[..., Any]]:
    """Return a pointer to an element, counted from the first one."""

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
