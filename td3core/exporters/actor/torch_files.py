"""Writes files for torch and cloudpickle, without using either."""

import pickle
import zipfile
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

from td3core.arrays import Floats


class Global(NamedTuple):
    """A name that the reader imports."""

    module: str
    name: str


class Call(NamedTuple):
    """A call of ``what`` by the reader."""

    what: Global
    arguments: tuple[Any, ...]


def pickled(value: Any) -> bytes:
    """Return a pickle of plain values, mappings, lists, :class:`Global` and :class:`Call`."""
    return _Emitter().dump(value)


def pth_file(value: Any) -> bytes:
    """Return a file as ``torch.save`` writes it, of mappings and lists of plain values and arrays.

    Arrays must be float32; they become tensors.
    """
    emitter = _Emitter(tensors=True)
    members = {"data.pkl": emitter.dump(value), "byteorder": b"little", "version": b"3\n"}
    for at, array in enumerate(emitter.storages):
        members[f"data/{at}"] = array.astype("<f4").tobytes()
    return zip_file({f"archive/{name}": data for name, data in members.items()})


def zip_file(members: dict[str, bytes]) -> bytes:
    """Return an uncompressed zip without timestamps: the same members give the same bytes."""
    whole = BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return whole.getvalue()


class _Emitter:
    """Writes opcodes itself: Python's pickler imports the names, and torch may be missing."""

    def __init__(self, *, tensors: bool = False) -> None:
        self.storages: list[Floats] = []
        self._tensors = tensors

    def dump(self, value: Any) -> bytes:
        return pickle.PROTO + b"\x02" + self._emit(value) + pickle.STOP

    def _emit(self, value: Any) -> bytes:
        match value:
            case Global(module, name):
                return pickle.GLOBAL + f"{module}\n{name}\n".encode()
            case Call(what, arguments):
                return self._emit(what) + self._emit(tuple(arguments)) + pickle.REDUCE
            case dict():
                pairs = b"".join(self._emit(key) + self._emit(of) for key, of in value.items())
                return pickle.EMPTY_DICT + pickle.MARK + pairs + pickle.SETITEMS
            case list():
                parts = b"".join(map(self._emit, value))
                return pickle.EMPTY_LIST + pickle.MARK + parts + pickle.APPENDS
            case tuple():
                return pickle.MARK + b"".join(map(self._emit, value)) + pickle.TUPLE
            case np.ndarray() if self._tensors:
                return self._tensor(value)
        # Without the PROTO and STOP opcodes.
        return pickle.dumps(value, 2)[2:-1]

    def _tensor(self, array: Floats) -> bytes:
        storage = ("storage", Global("torch", "FloatStorage"), str(len(self.storages)), "cpu")
        self.storages.append(array)
        strides = tuple(each // array.itemsize for each in np.ascontiguousarray(array).strides)
        rebuild = self._emit(Global("torch._utils", "_rebuild_tensor_v2"))
        identity = self._emit((*storage, array.size)) + pickle.BINPERSID
        hooks = Call(Global("collections", "OrderedDict"), ())
        rest = (0, array.shape, strides[: array.ndim], False, hooks)
        parts = identity + b"".join(map(self._emit, rest))
        return rebuild + pickle.MARK + parts + pickle.TUPLE + pickle.REDUCE
