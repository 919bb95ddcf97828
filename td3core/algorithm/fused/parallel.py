"""The update of :mod:`~td3core.algorithm.fused.kernel` on two threads, one for each critic.

Each thread does what the kernel does for its critic, in the same order, so the result is the same
bit for bit. Numba's pool must not be entered by two threads of a process at once: the caller sees
to that.
"""

from numba import njit, prange

from td3core.algorithm.fused.kernel import in_order, target_q, update_critic
from td3core.algorithm.fused.passes import fast

_parallel = njit(nogil=True, error_model="numpy", parallel=True)


@_parallel
def _target_qs(critics, w):
    for member in prange(critics.members):
        target_q(critics, member, w, w.critic_h[member], w.q[member])


@_parallel
def _update_critics(critics, w, step, sums):
    for member in prange(critics.members):
        update_critic(critics, member, w, w.critic_h[member], w.critic_g[member], step, sums)


update_many = fast(in_order(_target_qs, _update_critics))
