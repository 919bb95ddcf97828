"""Reads NumPy's ``.npy`` files of plain numbers, without NumPy's own reader."""

import math
import re
import struct
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from td3core.importers.damage import UnexpectedError

_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([<>|][fiu][1248])', 'fortran_order': (True|False),"
    rb" 'shape': \(((?:\d{1,10}(?:, |,|(?=\)))){0,8})\), \} *\n"
)


def read_array(data: bytes, name: str, most: int) -> NDArray[Any]:
    """Return an array of at most ``most`` numbers from the bytes of its file.

    Raises:
        UnexpectedError: it holds anything else, or its size differs from its header.
    """
    # NumPy's own reader would parse the header as Python, and trust its sizes.
    (length,) = struct.unpack_from("<H", data, len(_MAGIC))
    begin = len(_MAGIC) + 2
    header = _HEADER.fullmatch(data[begin : begin + length])
    if not data.startswith(_MAGIC) or header is None:
        raise UnexpectedError("{name} does not hold plain numbers", name=name)
    dtype = np.dtype(header[1].decode())
    shape = tuple(int(size) for size in header[3].replace(b",", b" ").split())
    rest = data[begin + length :]
    if math.prod(shape) * dtype.itemsize != len(rest):
        raise UnexpectedError("the size of {name} does not match its header", name=name)
    if math.prod(shape) > most:
        raise UnexpectedError("{name} holds more than {most} numbers", name=name, most=most)
    order: Literal["F", "C"] = "F" if header[2] == b"True" else "C"
    return np.frombuffer(rest, dtype).reshape(shape, order=order)
