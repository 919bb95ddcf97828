"""Compile the update for this computer: ``python -m td3core.algorithm.fused.compile``.

The process that compiles for a run uses this module, too.
"""

import multiprocessing
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from td3core.algorithm.fused import cache_file, kernel_cache
from td3core.errors import file_reason
from td3core.system.child_process import without_current_folder
from td3core.text import Text

if TYPE_CHECKING:
    from td3core.algorithm.fused.machine_code import Compiled

_NICENESS = 10


def compile_update(threads: int) -> bytes:
    """Compile the update for one thread, and for two if needed; return the machine code."""
    context = multiprocessing.get_context("spawn")
    # Numba compiles one function at a time in a process.
    with without_current_folder(), ProcessPoolExecutor(1, context) as pool:
        others = [pool.submit(_compile_kernel, each) for each in range(2, threads + 1)]
        compiled = _compile_kernel(1)
        for other in others:
            compiled |= other.result()
    data: bytes = kernel_cache.load_libraries().to_bytes(compiled)
    return data


def _compile_kernel(threads: int) -> "Compiled":
    """Compile one of the two by running it for a tiny agent."""
    kernel_cache.load_libraries()
    # Imported here: they take seconds to load, and the lock must be acquired first.
    from td3core.algorithm.fused import machine_code
    from td3core.algorithm.td3 import TD3
    from td3core.config import make_settings
    from td3core.config.run_config import COMPILED

    compiled = machine_code.collect()
    layers = {"actor_hidden": (4,), "critic_hidden": (4,)}
    values = {"env": "any", "threads": 1, "engine": COMPILED, **layers}
    agent = TD3(*make_settings(values), obs_dim=2, act_dim=1)
    assert agent.fused is not None
    agent.fused.try_out(threads)
    return compiled


def main(words: Sequence[str]) -> int:
    """Compile into a file at low priority; return the exit code of this process.

    Args:
        words: The name of the program, the file, the most threads of an update, and "cache" if the
            file is in the cache. Then only one process compiles at a time, and only if the file is
            missing or damaged.
    """
    path, threads, in_cache = Path(words[1]), int(words[2]), words[3] == "cache"
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    # Files that others can write to are rejected when loaded.
    os.umask(0o077)
    with ExitStack() as resources:
        if in_cache:
            resources.enter_context(cache_file.lock())
            if _is_there(path):
                return 0
        data = compile_update(threads)
        try:
            cache_file.write(path, data)
        except OSError as problem:
            sys.stderr.write(f"{file_reason(problem)}\n")
            return kernel_cache.CANNOT_KEEP
        if in_cache:
            cache_file.make_room(path)
    return 0


def _is_there(path: Path) -> bool:
    try:
        cache_file.read(path)
    except (FileNotFoundError, cache_file.DamagedError):
        return False
    return True


def _say(message: Text) -> None:
    sys.stdout.write(f"{message}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        kernel_cache.provide(_say)
    except kernel_cache.KernelError as problem:
        sys.exit(str(problem))
