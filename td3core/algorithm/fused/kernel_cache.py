"""Loads the compiled update into this process, from the user's cache or after compiling it.

Compiling takes half a minute, so it is done once per processor and version, in a separate process
(:mod:`td3core.algorithm.fused.compile`), and the result is cached: in one file what runs on one
thread need, in another what all runs need. A problem with the cache costs time but does not end a
run.
"""

import importlib
import logging
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from filelock import Timeout

from td3core.algorithm.fused import cache_file
from td3core.config.run_config import default_threads
from td3core.errors import RunError, StoppedError, brief
from td3core.system.child_process import kill_session, python_command
from td3core.text import Text

log = logging.getLogger(__name__)

Announce = Callable[[Text], None]

CANNOT_KEEP = 3
"""Exit code of the compiler: its result could not be written to the cache."""

MOST_THREADS = 2
"""The update uses at most so many threads."""

_POLL_S = 0.1
_providing = threading.Lock()
_loaded = SimpleNamespace(threads=0)
"""For how many threads the update is loaded in this process."""


class KernelError(RunError):
    """The update cannot be compiled on this computer."""


def works() -> bool:
    """Return whether the compiled update is available here; fast, and the same at every call."""
    switched_off = os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"
    return not switched_off and all(find_spec(name) for name in ("numba", "scipy"))


def provide(
    announce: Announce = lambda _: None,
    stopped: Callable[[], bool] = lambda: False,
    threads: int = MOST_THREADS,
) -> None:
    """Load the compiled update into this process; if it is not in the cache, compile it first.

    Args:
        announce: called with a message if this takes longer.
        stopped: polled; True ends the wait.
        threads: the most that an update may use. For one thread, less is compiled.

    Raises:
        KernelError: it cannot be compiled here.
        StoppedError: ``stopped`` returned True.
    """
    threads = min(threads, MOST_THREADS)
    if _loaded.threads >= threads:
        return
    with _one_thread_at_a_time(stopped):
        if _loaded.threads < threads:
            machine_code = load_libraries()
            try:
                _load_from_cache(machine_code, threads, announce, stopped)
            except (cache_file.UntrustedError, OSError) as problem:
                announce(
                    Text(
                        "The cache of compiled code is not used: {reason}. The update is compiled"
                        " for this process alone, which takes about half a minute.",
                        reason=cache_file.reason(problem),
                    )
                )
                machine_code.install(_compile_privately(threads, stopped))
            _loaded.threads = threads


def examine() -> tuple[bool | None, Text]:
    """Return whether the compiled update is cached, and a description; None if not compiled yet.

    Compiles nothing, and executes nothing from the cache.
    """
    if not works():
        return None, Text("switched off, or Numba is missing: torch computes the updates")
    damaged = None
    try:
        paths = _paths(load_libraries(), min(default_threads(), MOST_THREADS))
        for path in paths:
            try:
                cache_file.require_private_folder()
                cache_file.read(path)
            except FileNotFoundError:
                continue
            except cache_file.DamagedError:
                damaged = path
            else:
                return True, Text("ready")
    except (cache_file.UntrustedError, OSError) as problem:
        return False, Text(
            "{reason}; every process compiles it for itself", reason=cache_file.reason(problem)
        )
    except KernelError as problem:
        return False, problem.message
    if damaged:
        return False, Text("{file} is damaged; the next run compiles it again", file=damaged)
    return None, Text("not there yet; the first training run compiles it")


def _paths(machine_code: ModuleType, threads: int) -> list[Path]:
    """Return the files with the code for so many threads, the smallest one first."""
    key = machine_code.key()
    return [cache_file.path_of(f"{key}-{each}") for each in range(threads, MOST_THREADS + 1)]


@contextmanager
def _one_thread_at_a_time(stopped: Callable[[], bool]) -> Iterator[None]:
    while not _providing.acquire(timeout=_POLL_S):
        _require_not_stopped(stopped)
    try:
        yield
    finally:
        _providing.release()


def _require_not_stopped(stopped: Callable[[], bool]) -> None:
    if stopped():
        raise StoppedError


def load_libraries() -> ModuleType:
    """Load Numba and the BLAS library that the compiled update calls."""
    try:
        import numba

        settings: Any = numba.config
        # Numba would load it at the first call, too late for the limit on BLAS threads.
        importlib.import_module("scipy.linalg.cython_blas")
        machine_code = importlib.import_module("td3core.algorithm.fused.machine_code")
    except Exception as problem:
        # With unsupported versions of NumPy, Numba raises various errors.
        raise _cannot_compile(f"{type(problem).__name__}: {problem}") from problem
    if settings.DISABLE_JIT:
        raise _cannot_compile("NUMBA_DISABLE_JIT is set")
    if "NUMBA_THREADING_LAYER" not in os.environ:
        settings.THREADING_LAYER = _threading_layer()
    return machine_code


def _cannot_compile(reason: str) -> KernelError:
    return KernelError(
        "The update could not be compiled on this computer: {reason}.", reason=brief(reason)
    )


def _threading_layer() -> str:
    """Return OpenMP if available: a waiting thread of Numba's own pool slows the other down."""
    try:
        importlib.import_module("numba.np.ufunc.omppool")
    except ImportError:
        return "workqueue"
    return "omp"


def _load_from_cache(
    machine_code: ModuleType, threads: int, announce: Announce, stopped: Callable[[], bool]
) -> None:
    """Load the machine code from the cache; compile it first if necessary.

    Raises:
        UntrustedError: others may write to the cache.
        OSError: it cannot be read or written.
    """
    paths = _paths(machine_code, threads)
    cache_file.make_folder()
    compiled = False
    while not _install_one_of(paths, machine_code, announce):
        if compiled:
            raise OSError("what was written cannot be read back")
        compiled = _compile_or_wait(paths[0], threads, announce, stopped)


def _install_one_of(paths: Sequence[Path], machine_code: ModuleType, announce: Announce) -> bool:
    """Install the first of these files that exists and is sound; return whether one is."""
    damaged = False
    for path in paths:
        try:
            _install(machine_code, path)
        except FileNotFoundError:
            continue
        except cache_file.DamagedError:
            damaged = True
        else:
            return True
    if damaged:
        announce(
            Text(
                "The compiled update in {folder} is damaged; it is compiled again.",
                folder=paths[0].parent,
            )
        )
    return False


def _install(machine_code: ModuleType, path: Path) -> None:
    data = cache_file.read(path)
    try:
        machine_code.install(data)
    except Exception as problem:
        log.debug("the compiled update cannot be loaded", exc_info=True)
        # Otherwise the compiler would keep the file, whose digest is correct.
        path.unlink(missing_ok=True)
        raise cache_file.DamagedError from problem


def _compile_or_wait(
    path: Path, threads: int, announce: Announce, stopped: Callable[[], bool]
) -> bool:
    """Compile into the cache, or wait for another process to do so; return whether this one did.

    Raises:
        KernelError: it cannot be compiled here.
        OSError: the cache cannot be written.
        StoppedError: a stop was requested.
    """
    if not _another_compiles():
        announce(
            Text(
                "Compiling the update for this computer; this happens once and takes about half a"
                " minute."
            )
        )
        _compile(path, threads, stopped, in_cache=True)
        return True
    announce(Text("Waiting while another process compiles the update for this computer."))
    while _another_compiles():
        _require_not_stopped(stopped)
        time.sleep(_POLL_S)
    return False


def _another_compiles() -> bool:
    try:
        with cache_file.lock().acquire(blocking=False):
            return False
    except Timeout:
        return True


def _compile_privately(threads: int, stopped: Callable[[], bool]) -> bytes:
    """Compile for this process alone."""
    try:
        with tempfile.TemporaryDirectory(prefix="td3-studio-") as folder:
            path = Path(folder) / "update"
            _compile(path, threads, stopped, in_cache=False)
            return cache_file.read(path)
    except (cache_file.DamagedError, OSError) as problem:
        raise _cannot_compile(str(problem)) from problem


def _compile(path: Path, threads: int, stopped: Callable[[], bool], *, in_cache: bool) -> None:
    """Run the compiler and wait for it; kill it if the wait ends early."""
    with tempfile.TemporaryFile() as errors:
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(  # noqa: S603
            _command(path, threads, in_cache=in_cache),
            stdin=quiet,
            stdout=quiet,
            stderr=errors,
            # Ctrl-C in the terminal only reaches this process, which then stops waiting.
            start_new_session=True,
        )
        try:
            while (code := _exit_code(process)) is None:
                _require_not_stopped(stopped)
        finally:
            kill_session(process)
            process.wait()
        if code == 0:
            return
        errors.seek(0)
        lines = errors.read().decode(errors="replace").split("\n")
    ended = f"the compiler was killed by signal {-code}" if code < 0 else f"exit status {code}"
    last = next((line for line in reversed(lines) if line.strip()), ended)
    if code == CANNOT_KEEP:
        raise OSError(last)
    raise _cannot_compile(last.rstrip("."))


def _exit_code(process: "subprocess.Popen[bytes]") -> int | None:
    try:
        return process.wait(_POLL_S)
    except subprocess.TimeoutExpired:
        return None


def _command(path: Path, threads: int, *, in_cache: bool) -> list[str]:
    code = "import sys\nfrom td3core.algorithm.fused.compile import main\nsys.exit(main(sys.argv))"
    return python_command(code, [str(path), str(threads), "cache" if in_cache else "private"])
