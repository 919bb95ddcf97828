"""The update of :mod:`~td3core.algorithm.fused.kernel` on two threads, one for each critic.

Each thread does what the kernel does for its critic, in the same order, so the result is the same
bit for bit. Numba's pool must not be entered by two threads of a process at once: the caller sees
to that.
"""

from numba import njit, prange

from td3core.algorithm.fused.kernel import (
    adam,
    average_target,
    critic_gradient,
    fill_y,
    load,
    target_action,
    target_q,
    update_actor,
)

_parallel = njit(nogil=True, error_model="numpy", parallel=True)


@_parallel
def _target_qs(critics, w):
    for member in prange(critics.members):
        target_q(critics, member, w, w.critic_h[member], w.q[member])


@_parallel
def _critic_gradients(critics, w, sums):
    for member in prange(critics.members):
        critic_gradient(critics, member, w, w.critic_h[member], w.critic_g[member], sums)


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
        sums[2] += fill_y(critics, live, w)
        _critic_gradients(critics, w, sums)
        adam(critics, live.critic_lr)
        if (updates + i + 1) % live.policy_delay == 0:
            update_actor(actor, critics, live, w, sums)
            average_target(actor, live.tau)
            average_target(critics, live.tau)
            moved += 1
    return moved
