"""Numba's machine code as bytes: collected in the compiling process, installed in others.

Numba's own disk cache is not used: it is keyed by the path of the source, unpickles files no matter
who wrote them, does not recover from a damaged file, and is never flushed to disk.
"""

import ast
import hashlib
import importlib
import logging
import platform
import sys
import sysconfig
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from numba.core import config, serialize
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target

log = logging.getLogger(__name__)

MODULES = ("td3core.algorithm.fused.kernel", "td3core.algorithm.fused.parallel")
"""The modules that are compiled."""

_FORMAT = 1
_CALLERS = ("td3core.algorithm.fused.update", "td3core.algorithm.fused.compile")
"""They determine the argument types, and so the machine code."""
_PACKAGES = ("numba", "llvmlite", "numpy", "scipy")
_SETTINGS = (
    "OPT",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
    "ENABLE_AVX",
    "USING_SVML",
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "LLVM_REFPRUNE_PASS",
    "LLVM_REFPRUNE_FLAGS",
)
"""Settings of Numba that affect the machine code, as does the processor."""

_to_bytes: Callable[[Any], bytes] = serialize.dumps
_of_bytes: Callable[[bytes], Any] = serialize.loads
_rebuild: Callable[..., Any] = CompileResult._rebuild

Compiled = dict[str, list[tuple[bytes, bytes]]]
"""Argument types and machine code of each function called from Python, by name."""


def key() -> str:
    """Return a digest of everything the machine code depends on; paths and times do not matter."""
    processor = cpu_target.target_context.codegen().magic_tuple()
    about = (
        _FORMAT,
        platform.python_version(),
        sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag,
        [(name, version(name)) for name in _PACKAGES],
        processor,
        [(name, getattr(config, name, None)) for name in _SETTINGS],
        sorted((name, hashlib.sha256(text).hexdigest()) for name, text in sources().items()),
    )
    return hashlib.sha256(repr(about).encode()).hexdigest()[:32]


def sources() -> dict[str, bytes]:
    """Return the sources of the compiled modules and their ``td3core`` imports, by module."""
    found = {name: text_of(name) for name in _CALLERS}
    waiting = list(MODULES)
    while waiting:
        name = waiting.pop()
        if name not in found and (text := text_of(name)):
            found[name] = text
            waiting += _imports(ast.parse(text))
    return found


def text_of(name: str) -> bytes:
    """Return the source of a module; empty if it is not a module, or of another package."""
    if not name.startswith("td3core."):
        return b""
    try:
        spec = find_spec(name)
    except ModuleNotFoundError:
        # The name of an object in a module.
        return b""
    return Path(spec.origin).read_bytes() if spec is not None and spec.origin else b""


def _imports(tree: ast.Module) -> list[str]:
    """Return the full names of a module's imports, of modules and of objects in them."""
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
    return names


class _MachineCode(NullCache):
    """The cache that Numba reads and fills for one function."""

    def __init__(self, name: str, functions: dict[str, Any], compiled: Compiled) -> None:
        self._name, self._compiled = name, compiled
        self._others = [each for other, each in functions.items() if other != name]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code for arguments of these types, or None."""
        target_context.refresh()
        for types, code in self._compiled.get(self._name, ()):
            if _of_bytes(types) == sig:
                return _rebuild(target_context, *_of_bytes(code))
        return None

    def save_overload(self, sig: Any, result: Any) -> None:
        """Store compiled code, unless it is part of another function being compiled."""
        if not any(each.is_compiling for each in self._others):
            entry = _to_bytes(sig), _to_bytes(result._reduce())
            self._compiled.setdefault(self._name, []).append(entry)


class _FixedMachineCode(_MachineCode):
    """Machine code that was compiled before; new machine code is not stored."""

    def save_overload(self, sig: Any, _result: Any) -> None:
        """Log a missing entry: it should have been compiled with the rest."""
        log.debug("%s was compiled for %s", self._name, sig)


def functions() -> dict[str, Any]:
    """Return Numba's functions by qualified name; two may be compiled from the same source."""
    named = {
        each: f"{module}.{name}"
        for module in reversed(MODULES)
        for name, each in vars(importlib.import_module(module)).items()
        if isinstance(each, Dispatcher)
    }
    return {name: each for each, name in named.items()}


def collect() -> Compiled:
    """Return a dictionary that collects all machine code compiled by Numba from now on."""
    compiled: Compiled = {}
    known = functions()
    for name, function in known.items():
        function._cache = _MachineCode(name, known, compiled)
    return compiled


def to_bytes(compiled: Compiled) -> bytes:
    """Serialise machine code for :func:`install`."""
    return _to_bytes(compiled)


def install(data: bytes) -> None:
    """Load machine code that another process has compiled.

    Raises:
        Exception: ``data`` is invalid, or Numba cannot load it.
    """
    compiled: Compiled = _of_bytes(data)
    known = functions()
    for name, function in known.items():
        function._cache = _FixedMachineCode(name, known, compiled)
        # The two-thread kernel starts Numba's threads when loaded, so it is loaded at its first
        # call.
        if name.startswith(f"{MODULES[0]}."):
            for types, _ in compiled.get(name, ()):
                function.compile(_of_bytes(types))
