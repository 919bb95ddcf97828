"""The compiled kernel in the user's cache: whether it is there, compiling it, loading it.

Compiling takes ten seconds and more, so it is done once per machine and version, in a process of
its own (:mod:`td3core.algorithm.fused.compile`); a marker in the user's cache folder says that it
is done. ``TD3_STUDIO_KERNEL=off`` switches the compiled update off.
"""

import hashlib
import importlib
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import platformdirs
from filelock import FileLock

from td3core.system.child_process import python_command
from td3core.system.files import make_folder, write_atomically

_compiling: "list[subprocess.Popen[bytes]]" = []
"""The process that this one has started, so that it starts no second one."""

_MODULES = ("passes", "kernel", "parallel")
_SOURCES = tuple(Path(__file__).with_name(f"{name}.py") for name in _MODULES)


def is_ready() -> bool:
    """Return whether the compiled update is in the cache, so that loading it takes no time."""
    return not _is_off() and _marker().is_file()


def _is_off() -> bool:
    return os.environ.get("TD3_STUDIO_KERNEL") == "off"


def load() -> None:
    """Load the compiled update and the BLAS library it calls; takes half a second."""
    import numba

    settings: Any = numba.config
    # Numba would load it with the first call, after the threads of all libraries were limited.
    importlib.import_module("scipy.linalg.cython_blas")
    if "NUMBA_THREADING_LAYER" not in os.environ:
        settings.THREADING_LAYER = _threading_layer()
    # Numba checks the source of a cached function, but not of those it calls in other files.
    usual, settings.CACHE_DIR = settings.CACHE_DIR, str(_folder())
    try:
        for name in _MODULES:
            importlib.import_module(f"td3core.algorithm.fused.{name}")
    finally:
        settings.CACHE_DIR = usual


def _threading_layer() -> str:
    """Return OpenMP where it is: of Numba's own threads, the waiting one slows the others down."""
    try:
        importlib.import_module("numba.np.ufunc.omppool")
    except ImportError:
        return "workqueue"
    return "omp"


def load_or_compile() -> None:
    """Load the compiled update if it is there; otherwise start compiling it for the next run.

    Compiling happens in a process of its own, at low priority, which ends by itself.
    """
    if is_ready():
        load()
    elif not _is_off() and not _compiling:
        quiet = subprocess.DEVNULL
        command = python_command("from td3core.algorithm.fused.compile import main\nmain()")
        _compiling.append(
            subprocess.Popen(  # noqa: S603
                command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
            )
        )


def compiler_lock(*, wait: bool) -> FileLock:
    """Return the lock of the one process that compiles; it is free again when that one is gone.

    Taking it waits for another process, or raises :class:`filelock.Timeout`.

    Raises:
        OSError: the user's cache folder cannot be written.
    """
    make_folder(_folder())
    return FileLock(_folder() / "compiling", blocking=wait)


def mark_ready() -> None:
    """Leave the marker that says that the compiled update is in the cache.

    Raises:
        OSError: the user's cache folder cannot be written.
    """
    make_folder(_marker().parent)
    write_atomically(_marker(), b"")


def _marker() -> Path:
    return _folder() / "ready"


def _folder() -> Path:
    """Return the folder of the kernel compiled for this machine and these versions."""
    about = [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in _SOURCES]
    versions = [version(name) for name in ("numba", "llvmlite", "numpy", "scipy")]
    key = hashlib.sha256(repr((versions, sys.version, _processor(), about)).encode())
    root = platformdirs.user_cache_path("td3-studio", False)
    return root / "kernels" / key.hexdigest()[:16]


def _processor() -> str:
    """Return name and features of the processor, which compiled code depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        import platform

        return platform.processor()
    return "".join(sorted({line for line in lines if line.startswith(("model name", "flags"))}))
