"""The update of :mod:`~td3core.algorithm.fused.kernel` on two threads, one for each critic.

Each thread does what the kernel does for its critic, in the same order, so the result is the same
bit for bit. Numba's pool must not be entered by two threads of a process at once: the caller sees
to that.
"""

from numba import njit, prange

from td3core.algorithm.fused.kernel import (
    fill_y,
    load,
    target_action,
    target_q,
    update_actor,
    update_critic,
)
from td3core.algorithm.fused.passes import begin_step
from td3core.algorithm.metric_slots import TARGET

_parallel = njit(nogil=True, error_model="numpy", parallel=True)


@_parallel
def _target_qs(critics, w):
    for member in prange(critics.members):
        target_q(critics, member, w, w.critic_h[member], w.q[member])


@_parallel
def _update_critics(critics, w, step, sums):
    for member in prange(critics.members):
        update_critic(critics, member, w, w.critic_h[member], w.critic_g[member], step, sums)


@njit(nogil=True, error_model="numpy")
def update_many(
    ring, index, noise, shift, scale, normalise, actor, critics, live, updates, w, sums
):
    """Do what :func:`~td3core.algorithm.fused.kernel.update_many` does."""
    moved = 0
    for i in range(index.shape[0]):
        load(ring, index[i], noise[i], shift, scale, normalise, w)
        target_action(actor, live, w)
        _target_qs(critics, w)
        sums[TARGET] += fill_y(critics, live, w)
        moves_actor = (updates + i + 1) % live.policy_delay == 0
        step = begin_step(critics, live.critic_lr, live.tau, moves_actor)
        _update_critics(critics, w, step, sums)
        if moves_actor:
            update_actor(actor, critics, live, w, sums)
            moved += 1
    return moved
