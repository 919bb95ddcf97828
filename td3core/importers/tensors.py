"""Reads files of ``torch.save`` without torch: tensors, containers, numbers and names."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from td3core.importers.archive import Archive
from td3core.importers.damage import UnexpectedError
from td3core.importers.inert_pickle import MOST_BYTES, Global, Made, Persistent, read_pickle

_KINDS = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}
_REBUILD = Global("torch._utils", "_rebuild_tensor_v2")
_ORDERED = Global("collections", "OrderedDict")
_MOST_DIMENSIONS, _MOST_DEPTH = 8, 12
_MOST_VALUES, _MOST_TENSOR_BYTES = 100_000, 512 * 2**20


def read_pth(data: bytes) -> Any:
    """Return the contents of a ``.pth`` file: arrays, dicts, lists, tuples, numbers and text.

    Raises:
        UnexpectedError: it holds anything else, or a tensor that does not match its storage.
        Exception: one of :data:`~td3core.importers.damage.DAMAGE`; it is damaged.
    """
    if not data.startswith(b"PK"):
        raise UnexpectedError("it was written by torch 1.5 or earlier, or is no file of torch")
    archive = Archive(data)
    named = [name for name in archive.names if name.endswith("/data.pkl") and name.count("/") == 1]
    if len(named) != 1:
        raise UnexpectedError("there is not one data.pkl")
    return _Reader(archive, named[0].removesuffix("data.pkl")).read()


def state_dict(value: Any) -> dict[str, NDArray[Any]]:
    """Return a mapping of names to tensors.

    Raises:
        UnexpectedError: it is not such a mapping.
    """
    if not isinstance(value, Mapping):
        raise UnexpectedError("there is no mapping of names to tensors")
    for name, tensor in value.items():
        if not isinstance(name, str) or not isinstance(tensor, np.ndarray):
            raise UnexpectedError("{name} is no tensor", name=str(name)[:80])
    return dict(value)


class _Reader:
    def __init__(self, archive: Archive, prefix: str) -> None:
        self._archive, self._prefix = archive, prefix
        # Each is read once, so that the limit of the archive holds for all of them together.
        self._storages: dict[str, bytes] = {}
        self._count = self._bytes = 0
        order = f"{prefix}byteorder"
        if order in archive and archive.read(order, 16) != b"little":
            raise UnexpectedError("the numbers are not little-endian")

    def read(self) -> Any:
        return self._plain(read_pickle(self._archive.read(f"{self._prefix}data.pkl", MOST_BYTES)))

    def _plain(self, value: Any, depth: int = 0) -> Any:
        if depth > _MOST_DEPTH:
            raise UnexpectedError("values are nested too deeply")
        self._count += 1
        # A value that several hold counts each time.
        if self._count > _MOST_VALUES:
            raise UnexpectedError("there are too many values")
        match value:
            case None | bool() | int() | float() | str():
                return value
            case Made(what=what, args=args) if what == _REBUILD:
                return self._tensor(args)
            case Made(what=what, args=(), pairs=pairs) if what == _ORDERED:
                return self._mapping(pairs, depth)
            case Made() | Global():
                raise UnexpectedError("{what} is no part of a state dict", what=str(value)[:80])
            case dict():
                return self._mapping(list(value.items()), depth)
            case list():
                return [self._plain(each, depth + 1) for each in value]
            case tuple():
                return tuple(self._plain(each, depth + 1) for each in value)
        kind = type(value).__name__
        raise UnexpectedError("a value of type {kind} is no part of a state dict", kind=kind)

    def _mapping(self, pairs: list[tuple[Any, Any]], depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, value in pairs:
            if not isinstance(key, str | int):
                raise UnexpectedError("a key is neither text nor a number")
            found[key] = self._plain(value, depth + 1)
        return found

    def _tensor(self, args: tuple[Any, ...]) -> NDArray[Any]:
        match args:
            case (Persistent(identity), int(offset), tuple(size), tuple(stride), *_):
                storage = self._storage(identity)
            case _:
                raise UnexpectedError("a tensor is described in an unknown way")
        whole = all(type(each) is int and each >= 0 for each in (offset, *size, *stride))
        if not whole or len(size) != len(stride) or len(size) > _MOST_DIMENSIONS:
            raise UnexpectedError("a tensor has impossible sizes")
        count = math.prod(size)
        # With overlapping strides, a tensor could be far larger than the file.
        last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        if count > storage.size or (count and last >= storage.size):
            raise UnexpectedError("a tensor is larger than its numbers")
        if not count:
            return np.empty(size, storage.dtype)
        self._bytes += count * storage.itemsize
        # Tensors may share their numbers, which are copied for each.
        if self._bytes > _MOST_TENSOR_BYTES:
            raise UnexpectedError("the tensors have {n} bytes together", n=self._bytes)
        steps = tuple(step * storage.itemsize for step in stride)
        return np.lib.stride_tricks.as_strided(storage[offset:], size, steps).copy()

    def _storage(self, identity: Any) -> NDArray[Any]:
        match identity:
            case ("storage", Global("torch", name), str(key), str(), int(count)) if name in _KINDS:
                kind = np.dtype(_KINDS[name])
            case ("storage", Global() as what, *_):
                raise UnexpectedError("the tensor type {what} is not read", what=str(what)[:80])
            case _:
                raise UnexpectedError("the numbers of a tensor are named in an unknown way")
        if not (key.isascii() and key.isdecimal()):
            raise UnexpectedError("the numbers of a tensor are named in an unknown way")
        if key not in self._storages:
            self._storages[key] = self._archive.read(f"{self._prefix}data/{key}")
        data = self._storages[key]
        if len(data) != count * kind.itemsize:
            raise UnexpectedError("data/{key} has {n} bytes", key=key, n=len(data))
        return np.frombuffer(data, kind)
