"""Which implementation of the update is the fastest here: torch's, or the compiled one."""

import time

import numpy as np

from td3core.algorithm import matmul
from td3core.algorithm.fused import kernel_cache
from td3core.algorithm.td3 import TD3
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.config import RunConfig, Tunables

NUMBA = "numba"
"""The compiled update; the other names are torch's matrix products (see :mod:`matmul`)."""

CLEARLY_FASTER = 1.1
"""Torch has to be faster by this factor: a close race would be decided by chance, and two runs with
the same seed would differ in their last bits."""

_BUDGET_S = 0.5
_ROUNDS = 20
_ROWS = 1_000


def choose(config: RunConfig, tunables: Tunables, obs_dim: int, act_dim: int) -> str:
    """Return the fastest way to update agents of these sizes; sets torch's matrix product."""
    widest = max((1, *config.actor_hidden, *config.critic_hidden))
    product = matmul.choose(tunables.batch_size, widest)
    if config.device != "cpu" or not kernel_cache.is_ready():
        return product
    agents = [TD3(config, tunables, obs_dim, act_dim) for _ in range(2)]
    agents[1].use_fused()
    buffer = ReplayBuffer(_ROWS, obs_dim, act_dim)
    buffer.stored = _ROWS
    source = np.random.default_rng(0)
    buffer.rows[:] = source.uniform(-1.0, 1.0, buffer.rows.shape)
    index = source.integers(0, _ROWS, (tunables.policy_delay, tunables.batch_size))
    for agent in agents:
        # The first call loads machine code, which on a busy computer takes longer than the rest.
        agent.update_from(buffer, index)
    best, began = [np.inf, np.inf], time.perf_counter()
    for _ in range(_ROUNDS):
        for i, agent in enumerate(agents):
            start = time.perf_counter()
            agent.update_from(buffer, index)
            # The quickest of many: whatever else runs here interrupts some, not all.
            best[i] = min(best[i], time.perf_counter() - start)
        if time.perf_counter() - began > _BUDGET_S:
            break
    return product if best[1] > CLEARLY_FASTER * best[0] else NUMBA
