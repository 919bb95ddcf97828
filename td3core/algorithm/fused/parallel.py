"""The update of :mod:`~td3core.algorithm.fused.kernel` on two threads.

Each thread computes half the rows of the batch, one of the critics, or every other layer of the
actor. Each number is still computed by one thread, in the order of the kernel. So the result is the
same bit for bit if a matrix product of half the rows equals those rows of the whole product, which
``FusedUpdate`` tests. The caller ensures that only one thread at a time uses Numba's thread pool.
"""

import numpy as np
from numba import njit, prange

from td3core.algorithm.fused.jit import OPTIONS, ZERO, called_from_python, fast
from td3core.algorithm.fused.kernel import ascend, fill_targets, in_order, update_critic
from td3core.algorithm.fused.passes import step_layer

THREADS = 2
_ROWS = 24
"""OpenBLAS processes 24 (or 12) rows per block and sums the remaining rows in another order."""
SMALLEST_BATCH = 2 * _ROWS
"""Smaller batches are not split."""

_parallel = njit(**OPTIONS, parallel=True)


@fast
def _half(w, thread):
    """Return the range of rows for a thread; empty for one of the two if the batch is small."""
    batch = w.y.shape[0]
    middle = (batch + _ROWS) // (2 * _ROWS) * _ROWS
    return (ZERO, middle) if thread == 0 else (middle, batch)


@_parallel
def _fill_targets(sources, at, i, actor, critics, live, w):
    for thread in prange(THREADS):
        first, end = _half(w, thread)
        if first < end:
            fill_targets(sources, at, i, actor, critics, live, w, first, end, w.critic_h[thread])


@_parallel
def _update_critics(critics, w, step, kept, sums):
    for thread in prange(critics.members):
        member = np.int64(thread)
        update_critic(critics, member, w, w.critic_h[member], w.critic_g[member], step, kept, sums)


@_parallel
def _ascend(actor, critics, live, w):
    for thread in prange(THREADS):
        first, end = _half(w, thread)
        if first < end:
            h, g = w.critic_h[thread], w.critic_g[thread]
            ascend(actor, critics, live, w, first, end, h, g)


@_parallel
def _step_actor(actor, w, step):
    for thread in prange(THREADS):
        for i in range(np.int64(thread), actor.widths.shape[0] - 1, THREADS):
            step_layer(actor, ZERO, i, w.obs, w.actor_h, w.actor_g, step)


update_many = called_from_python(in_order(_fill_targets, _update_critics, _ascend, _step_actor))
