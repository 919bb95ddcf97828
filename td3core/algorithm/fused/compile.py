"""Compile the update for this computer: ``python -m td3core.algorithm.fused.compile``.

The process that compiles for a run uses this module, too.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from td3core.algorithm.fused import cache_file, kernel_cache
from td3core.errors import file_reason
from td3core.text import Text

_NICENESS = 10


def compile_update() -> bytes:
    """Compile the update by running it for a tiny agent; return the machine code."""
    kernel_cache.load_libraries()
    # Imported here: they take seconds to load, and the lock must be acquired first.
    import numpy as np

    from td3core.algorithm.fused import machine_code, parallel
    from td3core.algorithm.td3 import TD3
    from td3core.buffer.replay_buffer import ReplayBuffer
    from td3core.buffer.sampler import Sampler
    from td3core.config import make_settings
    from td3core.config.run_config import COMPILED

    compiled = machine_code.collect()
    layers = {"actor_hidden": (4,), "critic_hidden": (4,)}
    values = {"env": "any", "threads": 1, "engine": COMPILED, **layers}
    agent = TD3(*make_settings(values), obs_dim=2, act_dim=1)
    buffer = ReplayBuffer(4, 2, 1)
    obs = np.zeros(2, np.float32)
    buffer.add(obs, np.zeros(1, np.float32), 0.0, obs, True)
    sampler = Sampler(buffer, np.random.default_rng(0))
    assert agent.fused is not None
    for threaded in (False, True):
        agent.fused.choice.parallel = threaded
        agent.update_from(
            sampler.take(np.zeros((2, parallel.SMALLEST_BATCH), np.int64), agent.tunables)
        )
    return machine_code.to_bytes(compiled)


def main(words: Sequence[str]) -> int:
    """Compile into a file at low priority; return the exit code of this process.

    Args:
        words: The name of the program, the file, and "cache" if the file is in the cache. Then only
            one process compiles at a time, and only if the file is missing or damaged.
    """
    path, in_cache = Path(words[1]), words[2] == "cache"
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    # Files that others can write to are rejected when loaded.
    os.umask(0o077)
    with ExitStack() as resources:
        if in_cache:
            resources.enter_context(cache_file.lock())
            if _is_there(path):
                return 0
        data = compile_update()
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
