"""Compile the update for this machine: ``python -m td3core.algorithm.fused.compile``."""

import contextlib
import os

import numpy as np
from filelock import Timeout

from td3core.algorithm.fused import kernel_cache
from td3core.algorithm.td3 import TD3
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.config import make_settings

_NICENESS = 10


def compile_kernel() -> None:
    """Compile the update, which one pair of updates of a tiny agent does, and mark it as ready.

    Raises:
        OSError: the user's cache folder cannot be written.
    """
    kernel_cache.load()
    values = {"env": "any", "actor_hidden": (4,), "critic_hidden": (4,), "threads": 1}
    agent = TD3(*make_settings(values), obs_dim=2, act_dim=1)
    buffer = ReplayBuffer(4, 2, 1)
    obs = np.zeros(2, np.float32)
    buffer.add(obs, np.zeros(1, np.float32), 0.0, obs, True)
    update = agent.use_fused()
    for threaded in (False, True):
        update.choice.parallel = threaded
        agent.update_from(buffer, np.zeros((2, 3), np.int64))
    kernel_cache.mark_ready()


def main(*, wait: bool = False) -> None:
    """Compile at low priority. Leave it to another process that does so already, or wait for it."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    # Every window and every run that finds no compiled update starts a process for it.
    with contextlib.suppress(Timeout), kernel_cache.compiler_lock(wait=wait):
        compile_kernel()


if __name__ == "__main__":
    main(wait=True)
