"""Ways to damage the contents of a run's files: bytes, text, JSON and checkpoints."""

import json
import random
import re
import struct
import warnings
from typing import Any

import numpy as np
from safetensors.numpy import save as serialise

from td3core import checkpoint

KEY = "td3_studio"

Source = random.Random

ODD = [
    *(0, -1, 1, 2, 3, 10**6, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64, 10**30, 10**400),
    *(0.5, -0.0, 1e-300, 1e300, float("inf"), float("-inf"), float("nan")),
    *(None, True, False, "", "x", "\x00", "a\nb", "../../x", "9" * 5000, "é" * 300, [], {}),
    *([0], [1, 2, 3], [[1]], [10**9, 10**9], {"a": 1}, [None], [8192] * 16, ["x\ny"]),
]


def deep(levels: int) -> Any:
    """Return a list in a list in a list."""
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


def of_bytes(source: Source, data: bytes) -> bytes:
    """Flip bits, cut, repeat, insert or leave out bytes."""
    damaged = bytearray(data)
    for _ in range(source.choice([1, 1, 2, 5, 40])):
        at = source.randrange(len(damaged) + 1)
        way = source.randrange(6)
        if way == 0 and at < len(damaged):
            damaged[at] ^= 1 << source.randrange(8)
        elif way == 1:
            del damaged[at:]
        elif way == 2:
            damaged[at:at] = bytes(source.randrange(256) for _ in range(source.randrange(1, 9)))
        elif way == 3:
            del damaged[at : at + source.randrange(1, 60)]
        elif way == 4:
            damaged[at:at] = damaged[at : at + source.randrange(1, 200)]
        elif damaged:
            damaged[at % len(damaged)] = source.choice(b'0"\\{}[],\n\r\x00\xff-.eE9')
    return bytes(damaged)


def of_text(source: Source, data: bytes) -> bytes:
    """Damage text where it hurts: numbers, lines, nesting; or damage its bytes."""
    text = data.decode("utf-8", "replace")
    way = source.randrange(6)
    numbers = list(re.finditer(r"-?\d+(\.\d+)?", text))
    if way == 0 and numbers:
        odd = source.choice(["9" * 5000, "-1", "1e999", "nan", "inf", "1e-400", "", "²", "0x10"])
        spot = source.choice(numbers)
        return (text[: spot.start()] + odd + text[spot.end() :]).encode()
    lines = text.split("\n")
    if way == 1:
        source.shuffle(lines)
    elif way == 2:
        lines[source.randrange(len(lines))] = source.choice(
            ["", "[" * 9000, '{"a":' * 3000, "=" * 200_000, ",".join("x" * 9000), "\x00", "\r", '"']
        )
    elif way == 3:
        lines = lines[source.randrange(len(lines)) :]
    elif way == 4:
        lines = lines * 3
    else:
        return of_bytes(source, data)
    return "\n".join(lines).encode()


def any_value(source: Source) -> Any:
    """Return a value that nobody expects."""
    return deep(source.choice([3, 200, 700])) if source.random() < 0.05 else source.choice(ODD)


def of_json(source: Source, value: Any) -> Any:
    """Put something else in one place of a JSON value."""
    if isinstance(value, dict) and value and source.random() < 0.9:
        name, damaged = source.choice(list(value)), dict(value)
        if source.random() < 0.1:
            del damaged[name]
        elif source.random() < 0.1:
            damaged[source.choice(["", "x", "a\nb", name * 2])] = any_value(source)
        else:
            damaged[name] = of_json(source, value[name])
        return damaged
    if isinstance(value, list) and value and source.random() < 0.7:
        at = source.randrange(len(value))
        return [*value[:at], of_json(source, value[at]), *value[at + 1 :]]
    return any_value(source)


def of_header(source: Source, data: bytes) -> bytes:
    """Edit the part of a safetensors file with the positions of its tensors."""
    head = struct.unpack("<Q", data[:8])[0]
    entries, rest = json.loads(data[8 : 8 + head]), data[8 + head :]
    if source.random() < 0.15:
        length = source.choice([0, 1, 2**20, 2**31, 2**40, 2**63, 2**64 - 1])
        return struct.pack("<Q", length) + data[8:]
    if source.random() < 0.5:
        name = source.choice([n for n in entries if n != "__metadata__"])
        words = entries[name]
        key = source.choice(["dtype", "shape", "data_offsets"])
        odd: dict[str, list[Any]] = {
            "dtype": ["F64", "BF16", "F8_E5M2", "F4", "I64", "U64", "BOOL", "C64", "x", 1, None],
            "shape": [[], [0], [2**40], [2**32, 2**32], [-1], [1] * 5000, ["x"], None, [2**62, 4]],
            "data_offsets": [[0, 0], [0, 2**60], [5, 2], [-1, 4], [2**64, 2**64], [0], None],
        }
        words[key] = source.choice(odd[key])
    else:
        entries = of_json(source, entries)
    text = json.dumps(entries).encode()
    return struct.pack("<Q", len(text)) + text + rest


def of_meaning(source: Source, data: bytes) -> bytes:
    """Edit the contents of a checkpoint, and seal it again: forged, not damaged."""
    head = struct.unpack("<Q", data[:8])[0]
    meaning = json.loads(json.loads(data[8 : 8 + head])["__metadata__"][KEY])
    tensors = _tensors(data)
    if source.random() < 0.5:
        for _ in range(source.choice([1, 1, 2])):
            meaning = of_json(source, meaning)
            if not isinstance(meaning, dict):
                meaning = {"schema": 1}
    else:
        name = source.choice(list(tensors))
        tensors[name] = _other(source, tensors[name])
        if source.random() < 0.1:
            del tensors[name]
    return serialise(tensors, metadata={KEY: checkpoint.with_digest(meaning, tensors)})


def _tensors(data: bytes) -> dict[str, Any]:
    from safetensors.numpy import load

    # The library's own order differs from process to process.
    return dict(sorted(load(data).items()))


def _other(source: Source, array: Any) -> Any:
    """Return an array of other values, another kind or another shape."""
    way = source.randrange(5)
    if way == 0:
        kinds = [np.float32, np.float64, np.int64, np.uint64, np.uint8, np.bool_, np.float16]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return array.astype(source.choice(kinds))
    if way == 1:
        shape = source.choice([(0,), (1,), (7,), (3, 3), (1, 1, 1), (*array.shape, 1), ()])
        return np.zeros(shape, array.dtype)
    if array.dtype.kind == "f":
        odd = [0.0, -1.0, 1e30, -1e30, np.nan, np.inf, 0.5, 2.0**31, 2.0**53]
    else:
        odd = [0, 1, 2, 2**16, 2**31, 2**32 - 1]
    other = array.copy()
    if way == 2:
        other[...] = source.choice(odd)
    elif other.size:
        other.flat[source.randrange(other.size)] = source.choice(odd)
    return other
