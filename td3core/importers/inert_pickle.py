"""Reads pickles as data: imports no name in them, calls nothing, runs nothing.

``pickletools`` splits a pickle into its instructions; they are executed here on plain values. A
name that Python would import becomes a :class:`Global`, a call a :class:`Made`.
"""

import pickletools
import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from td3core.importers.damage import UnexpectedError

MOST_BYTES = 4 * 2**20
"""Size limit of a pickle, which does not contain the tensor data."""
_MOST_STEPS = 100_000
_LONGEST_BITS = 128
"""Length limit of a whole number: the state of NumPy's generators."""
_LONGEST_KEY_BITS = 64
_NUMBERS = re.compile(r"[fiub][1248]")
_MOST_DIMENSIONS = 8


class Global(NamedTuple):
    """A name that Python would import."""

    module: str
    name: str

    def __str__(self) -> str:
        """Return the name as written in code."""
        return f"{self.module}.{self.name}"


@dataclass(slots=True, eq=False)
class Made:
    """The object that Python would create by calling ``what`` with ``args``, and then fill."""

    what: Any
    args: tuple[Any, ...]
    state: Any = None
    items: list[Any] = field(default_factory=list)
    pairs: list[tuple[Any, Any]] = field(default_factory=list)

    def __str__(self) -> str:
        """Return the name of what would be called."""
        return str(self.what) if isinstance(self.what, Global) else type(self.what).__name__


class Persistent(NamedTuple):
    """A reference to data outside the pickle, such as the numbers of a tensor."""

    identity: Any


class _Mark:
    pass


_MARK = _Mark()


def read_pickle(data: bytes) -> Any:
    """Return the contents of a pickle.

    Raises:
        UnexpectedError: it is longer than :data:`MOST_BYTES`, or uses an unsupported opcode.
        Exception: one of :data:`~td3core.importers.damage.DAMAGE`; it is damaged.
    """
    if len(data) > MOST_BYTES:
        raise UnexpectedError("the pickle has {n} bytes", n=len(data))
    return _Machine().run(data)


class _Machine:
    """The stack machine of the format, with inert values."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def run(self, data: bytes) -> Any:
        for count, (instruction, argument, _) in enumerate(pickletools.genops(data)):
            if count >= _MOST_STEPS:
                raise UnexpectedError("the pickle has over {n} instructions", n=_MOST_STEPS)
            name = instruction.name
            if name == "STOP":
                break
            if name in _PUSHED:
                if isinstance(argument, int) and argument.bit_length() > _LONGEST_BITS:
                    raise UnexpectedError("a number has {n} bits", n=argument.bit_length())
                self._stack.append(argument)
            elif name not in _IGNORED:
                act = _ACTS.get(name)
                if act is None:
                    raise UnexpectedError("the pickle has the instruction {name}", name=name)
                act(self, argument)
        if len(self._stack) != 1 or self._stack[0] is _MARK:
            raise UnexpectedError("the pickle does not end with one value")
        return self._stack[0]

    def pop(self) -> Any:
        value = self._stack.pop()
        if value is _MARK:
            raise UnexpectedError("the pickle uses a mark as a value")
        return value

    def push(self, value: Any) -> None:
        self._stack.append(value)

    def top(self) -> Any:
        return self._stack[-1]

    def down_to_mark(self) -> list[Any]:
        for at in range(len(self._stack) - 1, -1, -1):
            if self._stack[at] is _MARK:
                found = self._stack[at + 1 :]
                del self._stack[at:]
                return found
        raise UnexpectedError("the pickle lacks a mark")

    def drop(self) -> None:
        self._stack.pop()

    def remember(self, at: int) -> None:
        self._memo[at] = self._stack[-1]

    def remember_next(self) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def recall(self, at: int) -> None:
        self._stack.append(self._memo[at])


Act = Callable[[_Machine, Any], object]

_PUSHED = frozenset(
    (
        "INT",
        "BININT",
        "BININT1",
        "BININT2",
        "LONG",
        "LONG1",
        "LONG4",
        "FLOAT",
        "BINFLOAT",
        "STRING",
        "BINSTRING",
        "SHORT_BINSTRING",
        "BINBYTES",
        "SHORT_BINBYTES",
        "BINBYTES8",
        "BYTEARRAY8",
        "UNICODE",
        "SHORT_BINUNICODE",
        "BINUNICODE",
        "BINUNICODE8",
    )
)
_IGNORED = frozenset(("PROTO", "FRAME"))


def _named(machine: _Machine, argument: str) -> None:
    module, _, name = argument.partition(" ")
    machine.push(Global(module, name))


def _named_on_stack(machine: _Machine, _: Any) -> None:
    name, module = machine.pop(), machine.pop()
    if not (isinstance(name, str) and isinstance(module, str)):
        raise UnexpectedError("the pickle imports something that is not a name")
    machine.push(Global(module, name))


def _arguments(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, tuple):
        raise UnexpectedError("the pickle calls without a tuple of arguments")
    return value


def _call(machine: _Machine, _: Any) -> None:
    arguments = _arguments(machine.pop())
    machine.push(Made(machine.pop(), arguments))


def _call_with_names(machine: _Machine, _: Any) -> None:
    names, arguments = machine.pop(), _arguments(machine.pop())
    made = Made(machine.pop(), arguments)
    if isinstance(names, dict):
        made.pairs.extend(names.items())
    machine.push(made)


def _call_old(machine: _Machine, argument: str) -> None:
    arguments = machine.down_to_mark()
    module, _, name = argument.partition(" ")
    machine.push(Made(Global(module, name), tuple(arguments)))


def _call_object(machine: _Machine, _: Any) -> None:
    what, *arguments = machine.down_to_mark()
    machine.push(Made(what, tuple(arguments)))


def _fill(machine: _Machine, _: Any) -> None:
    state, target = machine.pop(), machine.top()
    if isinstance(target, Made):
        target.state = state


def _append(machine: _Machine, values: list[Any]) -> None:
    target = machine.top()
    if isinstance(target, list):
        target.extend(values)
    elif isinstance(target, Made):
        target.items.extend(values)
    else:
        raise UnexpectedError("the pickle appends to something that is not a list")


def _set(machine: _Machine, values: list[Any]) -> None:
    target = machine.top()
    keys = map(_key, values[::2])
    pairs = list(zip(keys, values[1::2], strict=True))
    if isinstance(target, dict):
        target.update(pairs)
    elif isinstance(target, Made):
        target.pairs.extend(pairs)
    else:
        raise UnexpectedError("the pickle sets keys of something that is not a mapping")


def _key(key: Any) -> Hashable:
    """Return a name or a number as it is, and for any other key one that is merely distinct.

    Only names and numbers are looked up later. Longer numbers can be chosen so that all have the
    same hash.
    """
    match key:
        case str() | bytes() | float() | None:
            return key
        case int() if key.bit_length() <= _LONGEST_KEY_BITS:
            return key
    return id(key), type(key).__name__


def _one(machine: _Machine) -> list[Any]:
    return [machine.pop()]


def _two(machine: _Machine) -> list[Any]:
    value, key = machine.pop(), machine.pop()
    return [key, value]


def _dict(machine: _Machine, _: Any) -> None:
    values = machine.down_to_mark()
    machine.push({})
    _set(machine, values)


def _tuple(machine: _Machine, count: int) -> None:
    values = [machine.pop() for _ in range(count)]
    machine.push(tuple(reversed(values)))


_ACTS: dict[str, Act] = {
    "NONE": lambda m, _: m.push(None),
    "NEWTRUE": lambda m, _: m.push(True),
    "NEWFALSE": lambda m, _: m.push(False),
    "MARK": lambda m, _: m.push(_MARK),
    "POP": lambda m, _: m.drop(),
    "POP_MARK": lambda m, _: m.down_to_mark(),
    "DUP": lambda m, _: m.push(m.top()),
    "PUT": lambda m, at: m.remember(at),
    "BINPUT": lambda m, at: m.remember(at),
    "LONG_BINPUT": lambda m, at: m.remember(at),
    "MEMOIZE": lambda m, _: m.remember_next(),
    "GET": lambda m, at: m.recall(at),
    "BINGET": lambda m, at: m.recall(at),
    "LONG_BINGET": lambda m, at: m.recall(at),
    "EMPTY_TUPLE": lambda m, _: m.push(()),
    "TUPLE1": lambda m, _: _tuple(m, 1),
    "TUPLE2": lambda m, _: _tuple(m, 2),
    "TUPLE3": lambda m, _: _tuple(m, 3),
    "TUPLE": lambda m, _: m.push(tuple(m.down_to_mark())),
    "EMPTY_LIST": lambda m, _: m.push([]),
    "LIST": lambda m, _: m.push(m.down_to_mark()),
    "EMPTY_DICT": lambda m, _: m.push({}),
    "DICT": _dict,
    # Nothing here reads a set.
    "EMPTY_SET": lambda m, _: m.push([]),
    "FROZENSET": lambda m, _: m.push(m.down_to_mark()),
    "APPEND": lambda m, _: _append(m, _one(m)),
    "APPENDS": lambda m, _: _append(m, m.down_to_mark()),
    "ADDITEMS": lambda m, _: _append(m, m.down_to_mark()),
    "SETITEM": lambda m, _: _set(m, _two(m)),
    "SETITEMS": lambda m, _: _set(m, m.down_to_mark()),
    "GLOBAL": _named,
    "STACK_GLOBAL": _named_on_stack,
    "REDUCE": _call,
    "NEWOBJ": _call,
    "NEWOBJ_EX": _call_with_names,
    "INST": _call_old,
    "OBJ": _call_object,
    "BUILD": _fill,
    "PERSID": lambda m, identity: m.push(Persistent(identity)),
    "BINPERSID": lambda m, _: m.push(Persistent(m.pop())),
}


# NumPy's arrays and numbers --------------------------------------------------------------------


def array_of(value: Any) -> NDArray[Any]:
    """Return the array or number that NumPy 1 or 2 pickled.

    Raises:
        UnexpectedError: it does not hold plain numbers, or its size does not match its bytes.
    """
    made = value if isinstance(value, Made) else Made(None, ())
    match made.what, made.args, made.state:
        case Global(name="_reconstruct"), _, (_, tuple(shape), kind, fortran, raw):
            return _array(_raw(raw), kind, shape, fortran=bool(fortran))
        case Global(name="_frombuffer"), (raw, kind, tuple(shape), order), _:
            return _array(_raw(raw), kind, shape, fortran=order == "F")
        case Global(name="scalar"), (kind, raw), _:
            return _array(_raw(raw), kind, (), fortran=False)
    raise UnexpectedError("{what} stands where numbers were expected", what=_brief(value))


def _raw(raw: Any) -> bytes:
    """Return bytes; protocol 2 has no such type, and stores a call that encodes text."""
    match raw:
        case bytes() | bytearray():
            return bytes(raw)
        case Made(what=Global("_codecs", "encode"), args=(str(text), "latin1")):
            return text.encode("latin-1")
    raise UnexpectedError("an array is not of plain numbers")


def _array(raw: bytes, kind: Any, shape: tuple[Any, ...], *, fortran: bool) -> NDArray[Any]:
    dtype = _dtype(kind)
    sizes = all(type(size) is int and size >= 0 for size in shape)
    if not sizes or len(shape) > _MOST_DIMENSIONS:
        raise UnexpectedError("an array has an impossible shape")
    found = np.frombuffer(raw, dtype)
    return found.reshape(shape, order="F" if fortran else "C")


def _dtype(kind: Any) -> np.dtype[Any]:
    match kind:
        case Made(what=Global(name="dtype"), args=(str(name), *_)) if _NUMBERS.fullmatch(name):
            order = kind.state[1] if isinstance(kind.state, tuple) and kind.state[1:] else "<"
            return np.dtype((order if order in ("<", ">") else "") + name)
    raise UnexpectedError("an array is not of plain numbers")


def _brief(value: Any) -> str:
    return str(value)[:80] if isinstance(value, Made | Global) else type(value).__name__
