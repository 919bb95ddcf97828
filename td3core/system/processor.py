"""The processor of this machine: its name and instruction sets. Needs no other package.

The only module that identifies the processor: numerics classes, the cache of compiled code, the
description of a run and ``doctor`` all use it.
"""

import functools
import platform
import re
import subprocess
import sys
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_WINDOWS_FEATURES = {"avx2": 40, "avx512f": 41}
"""Constants for ``IsProcessorFeaturePresent``. It reports no other part of AVX-512; every desktop
processor with AVX-512F has all parts of the compilers' target ``skylake-avx512``."""
AVX512_PARTS = ("avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl")


@functools.cache
def name() -> str:
    """Return the vendor's model name, as far as the system reports it."""
    found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo(), re.MULTILINE)
    if found:
        return found.group(1).strip()
    if sys.platform == "darwin":
        return _sysctl("machdep.cpu.brand_string") or platform.machine()
    return platform.processor() or platform.machine()


@functools.cache
def kind() -> str:
    """Return name, family and model, which identify a kind of processor."""
    numbers = (re.search(rf"^{word}\s*:\s*(\d+)$", cpuinfo(), re.MULTILINE) for word in _NUMBERS)
    return " ".join([name(), *(f"{found.group(1)}" for found in numbers if found)])


_NUMBERS = ("cpu family", "model")


@functools.cache
def maker() -> str:
    """Return the vendor's own identification, such as ``AuthenticAMD``; empty if unknown."""
    found = re.search(r"^vendor_id\s*:\s*(\S+)$", cpuinfo(), re.MULTILINE)
    return found.group(1) if found else ""


@functools.cache
def features() -> frozenset[str]:
    """Return its instruction sets, spelled as in Linux (``avx2``, ``avx512f``)."""
    found = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", cpuinfo(), re.MULTILINE)
    if found:
        return frozenset(found.group(1).split())
    if sys.platform == "darwin":
        text = _sysctl("machdep.cpu.features") + " " + _sysctl("machdep.cpu.leaf7_features")
        return frozenset(text.lower().split())
    if sys.platform == "win32":
        return _windows_features()
    return frozenset()


def _windows_features() -> frozenset[str]:
    import ctypes

    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined, unused-ignore]
    has = {n for n, number in _WINDOWS_FEATURES.items() if kernel.IsProcessorFeaturePresent(number)}
    if "avx2" in has:
        has.add("fma")
    return frozenset(has | set(AVX512_PARTS if "avx512f" in has else ()))


@functools.cache
def cpuinfo() -> str:
    """Return Linux's description of the first processor; empty elsewhere."""
    try:
        return _CPUINFO.read_text("utf-8", "replace").partition("\n\n")[0]
    except OSError:
        return ""


def _sysctl(key: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603
            ["/usr/sbin/sysctl", "-n", key], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip()
