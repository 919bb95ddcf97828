"""Converts values to and from lines of JSON, which the studio's processes exchange.

Dataclasses are converted by their annotations. Every line is strict JSON with the version of its
format and the kind of its value; numbers are restored bit for bit::

    {"v": 1, "kind": "Saved", "data": {"env_steps": 500, "path": "runs/a/last.safetensors"}}

NaN and infinities are ``{"number": "nan"}``, arrays ``{"dtype": "<f4", "shape": [2], "data":
BASE64}``, messages ``{"template": "...", "values": {...}}``. A class with ``as_plain`` and
``from_plain`` converts itself.
"""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, get_origin

from td3core.text import Text, from_plain, plain, plain_float

if TYPE_CHECKING:
    from cattrs import Converter
    from numpy.typing import NDArray

FORMAT = 1
_DTYPES = "biuf"


class LineError(ValueError):
    """A malformed line, or one of an unsupported format version."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value from a newer version, of a kind unknown here."""

    kind: str


class Codec:
    """Converts values of some kinds, dataclasses or strings, to lines and back."""

    def __init__(self, *kinds: type) -> None:
        """``kinds``: types, distinguished by their names."""
        self._kinds = {kind.__name__: kind for kind in kinds}
        assert len(self._kinds) == len(kinds), "two kinds of one name"

    def encode(self, value: object) -> bytes:
        """Return a value as one line, including the newline.

        Raises:
            TypeError: its kind is not one of this codec's, or part of it has no JSON form.
        """
        kind = type(value).__name__
        if self._kinds.get(kind) is not type(value):
            raise TypeError(f"{kind} is not sent here")
        line = {"v": FORMAT, "kind": kind, "data": _converter().unstructure(value)}
        text = json.dumps(line, allow_nan=False, separators=(",", ":"), default=_number)
        return text.encode("ascii") + b"\n"

    def decode(self, line: bytes) -> Any:
        """Return the value of a line; :class:`Unknown` if its kind is. Extra fields are ignored.

        Raises:
            LineError: the line is damaged, or of another format.
        """
        try:
            content = json.loads(line)
            version, kind, data = content["v"], content["kind"], content["data"]
        except (ValueError, TypeError, LookupError, RecursionError) as problem:
            raise LineError(f"not a TD3 Studio message: {problem}") from problem
        if version != FORMAT:
            raise LineError(f"a line of format {version}, not {FORMAT}")
        if kind not in self._kinds:
            return Unknown(str(kind))
        try:
            return _converter().structure(data, self._kinds[kind])
        except Exception as problem:
            raise LineError(f"{kind} is damaged: {problem!r}") from problem


class LineBuffer:
    """Assembles lines from pieces."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def add(self, piece: bytes) -> Iterator[bytes]:
        """Yield the lines that end in this piece."""
        *ended, rest = piece.split(b"\n")
        for end in ended:
            yield b"".join([*self._pieces, end])
            self._pieces.clear()
        if rest:
            self._pieces.append(rest)


def _number(value: object) -> object:
    """Return a NumPy scalar as a Python one."""
    # Imported here and below: at the top it would delay every command.
    import numpy as np

    if isinstance(value, np.generic):
        return _plain_float(value) if isinstance(value, np.floating) else value.item()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _plain_float(value: Any) -> object:
    return plain_float(float(value))


def _float_of(value: Any, _: type) -> float:
    return float(value["number"] if isinstance(value, dict) else value)


def _plain_array(array: "NDArray[Any]") -> object:
    """Return an array as JSON values; its bytes are little-endian, in C order."""
    if array.dtype.kind not in _DTYPES:
        raise TypeError(f"an array of {array.dtype} is not sent")
    dtype = array.dtype.newbyteorder("<")
    data = base64.b64encode(array.astype(dtype, copy=False).tobytes()).decode("ascii")
    return {"dtype": dtype.str, "shape": list(array.shape), "data": data}


def _array_of(value: Any, _: type) -> "NDArray[Any]":
    """Return the array, read-only."""
    import numpy as np

    dtype = np.dtype(str(value["dtype"]))
    if dtype.kind not in _DTYPES:
        raise LineError(f"an array of {dtype}")
    data = np.frombuffer(base64.b64decode(value["data"], validate=True), dtype)
    return data.reshape([int(size) for size in value["shape"]])


def _plain_text(text: Text) -> object:
    return plain(text, _converter().unstructure)


def _text_of(value: Any, _: type) -> Text:
    return from_plain(value, lambda each: _anything_of(each, object))


def _anything_of(value: Any, _: type) -> Any:
    """Return a value without annotation; sequences become tuples."""
    match value:
        case {"number": str(text)}:
            return float(text)
        case {"template": str(), "values": dict()}:
            return _text_of(value, Text)
        case {"dtype": str(), "shape": list(), "data": str()}:
            return _array_of(value, object)
        case dict():
            return {name: _anything_of(each, object) for name, each in value.items()}
        case list():
            return tuple(_anything_of(each, object) for each in value)
    return value


def _is_array(kind: Any) -> bool:
    import numpy as np

    return kind is np.ndarray or get_origin(kind) is np.ndarray


@cache
def _converter() -> "Converter":
    # Imported here: at the top it would delay the start of the window.
    from cattrs import Converter
    from cattrs.strategies import use_class_methods

    lists: dict[type, Any] = {frozenset: list, tuple: list}
    converter = Converter(detailed_validation=False, unstruct_collection_overrides=lists)
    converter.register_unstructure_hook(float, _plain_float)
    converter.register_structure_hook(float, _float_of)
    converter.register_unstructure_hook_func(_is_array, _plain_array)
    converter.register_structure_hook_func(_is_array, _array_of)
    converter.register_unstructure_hook(Text, _plain_text)
    converter.register_structure_hook(Text, _text_of)
    converter.register_unstructure_hook(PurePath, str)
    converter.register_structure_hook(Path, lambda value, _: Path(value))
    converter.register_structure_hook_func(lambda kind: kind is Any, _anything_of)
    use_class_methods(converter, "from_plain", "as_plain")
    return converter
