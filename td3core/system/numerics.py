"""Numerics classes: the BLAS kernels, which determine the last bits of a run.

Each kernel adds the terms of a matrix product in its own order. OpenBLAS, bundled with NumPy and
SciPy, chooses kernels by the processor, unless they are set before it is loaded. The class of a
process is therefore fixed: :func:`pin` chooses it, and child processes inherit it through the
environment.

A run of the class ``avx512`` or ``avx2`` is the same on every processor that has these
instructions. ``neon``, ``generic`` and ``other`` only name the kernels found; they guarantee equal
results only on the same machine.
"""

import functools
import importlib
import os
import platform
import sys
from collections.abc import Mapping, Sequence

from td3core.errors import RequestError, brief
from td3core.system import processor
from td3core.text import SettingName, Text

AUTO = "auto"
AVX512, AVX2, NEON, GENERIC, OTHER = "avx512", "avx2", "neon", "generic", "other"
CLASSES = (AVX512, AVX2, NEON, GENERIC, OTHER)
PORTABLE = (AVX512, AVX2)
"""The classes that give the same bits on every processor that supports them."""

VARIABLE = "TD3_STUDIO_NUMERICS"
"""The environment variable that selects the class of a process."""
_CORE_VARIABLE = "OPENBLAS_CORETYPE"
_CORE = {AVX512: "SkylakeX", AVX2: "Haswell"}
"""OpenBLAS's names of the kernels."""
_CLASS = {core.lower(): name for name, core in _CORE.items()} | {"zen": AVX2}
_OTHER_LIBRARIES = ("mkl", "blis", "openblas", "flexiblas")
_SHOWN = {AVX512: "AVX-512", AVX2: "AVX2", NEON: "NEON", GENERIC: "generic", OTHER: "other"}

_overridden: list[str] = []
"""Kernel variables in the environment that :func:`pin` replaced."""

_SLOWING = (
    _CORE_VARIABLE,
    "NPY_DISABLE_CPU_FEATURES",
    "ATEN_CPU_CAPABILITY",
    "NUMBA_CPU_NAME",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_DEBUG_CPU_TYPE",
    "ONEDNN_MAX_CPU_ISA",
    "NUMBA_DISABLE_JIT",
)
"""Variables that keep libraries from using the processor's instructions."""


def available() -> tuple[str, ...]:
    """Return the classes that this processor supports, fastest first."""
    machine, has = platform.machine().lower(), processor.features()
    if machine in ("arm64", "aarch64"):
        return (NEON,)
    if machine not in ("x86_64", "amd64"):
        return (OTHER,)
    if not has.issuperset(("avx2", "fma")) or numpy_is_held_back():
        return (GENERIC,)
    return PORTABLE if has.issuperset(processor.AVX512_PARTS) else (AVX2,)


def natural() -> str:
    """Return the default class of this processor."""
    return available()[0]


def numpy_is_held_back() -> bool:
    """Return whether AVX2 and FMA are disabled in NumPy: its tanh then gives other bits."""
    if "numpy" in sys.modules:
        has = importlib.import_module("numpy._core._multiarray_umath").__cpu_features__
        return not has.get("X86_V3", has.get("AVX2") and has.get("FMA3"))
    disabled = os.environ.get("NPY_DISABLE_CPU_FEATURES", "").replace(",", " ").split()
    return any(name in disabled for name in ("X86_V3", "AVX2", "FMA3"))


def pin() -> None:
    """Choose the kernels of this process and its children. Call before NumPy is loaded.

    Takes the class in ``TD3_STUDIO_NUMERICS``, or the fastest if that is unset or :func:`ignored`.
    Does nothing if NumPy is loaded already: :func:`current` returns the outcome.
    """
    if "numpy" in sys.modules or "scipy" in sys.modules:
        return
    name = _wanted() if _wanted() in available() else natural()
    before = os.environ.get(_CORE_VARIABLE)
    if name in _CORE:
        os.environ[_CORE_VARIABLE] = _CORE[name]
        if before is not None and before.lower() != _CORE[name].lower():
            _overridden.append(before)


def _wanted() -> str:
    return os.environ.get(VARIABLE, "").strip().lower()


def ignored() -> Text | None:
    """Return a sentence if ``TD3_STUDIO_NUMERICS`` names no class of this processor."""
    if _wanted() in ("", AUTO, *available()):
        return None
    return Text(
        "{value} in {variable} is not followed: this processor has {available}.",
        value=brief(repr(os.environ[VARIABLE])),
        variable=VARIABLE,
        available=", ".join(available()),
    )


def current() -> str:
    """Return the class of this process: the one its libraries use, or will use once loaded."""
    if "numpy" in sys.modules:
        return _loaded_class()
    told = os.environ.get(_CORE_VARIABLE)
    return class_of_kernels(told) if told else natural()


def kernels() -> str:
    """Return the names of the kernels that NumPy and SciPy use here, as their libraries report."""
    # SciPy has its own library, which is loaded with the first compiled product.
    for module in ("numpy", "scipy.linalg.cython_blas"):
        importlib.import_module(module)
    return _loaded_kernels()


def _loaded_kernels() -> str:
    from td3core.system import blas

    found = {
        str(getattr(each, "architecture", None) or each.internal_api) for each in blas.libraries()
    }
    return " ".join(sorted(found))


@functools.cache
def _loaded_class() -> str:
    return class_of_kernels(_loaded_kernels())


def class_of_kernels(names: str) -> str:
    """Return the class of the result of :func:`kernels`."""
    match names.lower().split():
        case [one] if one in _CLASS:
            return _CLASS[one] if _CLASS[one] in available() else available()[-1]
        case [one] if one not in _OTHER_LIBRARIES:
            return NEON if NEON in available() else GENERIC
    # Two kinds at once, or a library that does not report its kernels.
    return OTHER


def resolve(setting: str) -> str:
    """Return the class of a new run for a value of the setting ``numerics``.

    Raises:
        RequestError: this processor does not support it, or this process has another.
    """
    here = current()
    if resolve_for_children(setting) == here:
        return here
    raise RequestError(
        "{key} cannot be {setting}: this process computes with {here} kernels. Set {variable} to"
        " {setting} before it starts.",
        key=SettingName("numerics"),
        setting=setting,
        here=shown(here),
        variable=VARIABLE,
    )


def resolve_for_children(setting: str) -> str:
    """Like :func:`resolve`, but for runs in child processes.

    Raises:
        RequestError: this processor does not support that class.
    """
    here = current()
    if setting not in (AUTO, here, *available()):
        raise RequestError(
            "{key} cannot be {setting}: this processor has no {shown} instructions; it has"
            " {available}.",
            key=SettingName("numerics"),
            setting=setting,
            shown=shown(setting),
            available=", ".join(available()),
        )
    return here if setting == AUTO else setting


def needs_other_process(name: str) -> bool:
    """Return whether a run of this class can train on this machine, but not in this process."""
    return name != AUTO and name != current() and name in available()


def is_here(name: str) -> bool:
    """Return whether a run of this class is the same bit for bit on this machine."""
    return name in (AUTO, current(), *available())


def environment_of(name: str) -> dict[str, str]:
    """Return the environment for a process of this class, if this machine supports it."""
    return dict(os.environ) | (pinning(name) if name in available() else {})


def pinning(name: str) -> dict[str, str]:
    """Return the variables that pin a process to a class."""
    return {VARIABLE: name, _CORE_VARIABLE: _CORE[name]} if name in _CORE else {}


def shown(name: str) -> str:
    """Return a class as shown to the user."""
    return _SHOWN.get(name, name)


def shared_class(
    setting: str, earlier: str, machines: Sequence[Sequence[str]]
) -> tuple[str, Text | None]:
    """Return the class for comparable runs on several machines.

    Args:
        setting: the value of the setting ``numerics``.
        earlier: the class of earlier runs to compare with; empty without any.
        machines: the classes that each machine supports, fastest first.

    Returns:
        The class, and a sentence if it is not the expected one.

    Raises:
        RequestError: not every machine supports the class that is set.
    """
    first, *others = machines
    common = [name for name in first if all(name in each for each in others)] or [OTHER]
    if setting != AUTO and setting not in common:
        raise RequestError(
            "{key} cannot be {setting}: not every machine has it; they share {common}.",
            key=SettingName("numerics"),
            setting=setting,
            common=", ".join(common),
        )
    name = setting if setting != AUTO else earlier if earlier in common else common[0]
    if earlier not in ("", name):
        return name, Text(
            "Earlier runs were trained in numerics class {earlier}; new ones are trained in"
            " {name}.",
            earlier=earlier,
            name=name,
        )
    if setting == AUTO and not earlier and any(each[0] != name for each in machines):
        return name, Text(
            "Not every machine has faster kernels: all runs use numerics class {name}.", name=name
        )
    return name, None


def overridden() -> str:
    """Return the kernels named in the environment that :func:`pin` has overridden; may be empty."""
    return _overridden[0] if _overridden else ""


def slowing_variables(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return environment variables that may keep libraries from using fast instructions."""
    found = {name: environment[name] for name in _SLOWING if environment.get(name)}
    if found.get(_CORE_VARIABLE, "").lower() in _CLASS:
        # Set by pin() itself.
        del found[_CORE_VARIABLE]
    if overridden():
        found[_CORE_VARIABLE] = overridden()
    return found
