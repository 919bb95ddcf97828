"""The update as one compiled call, in the order of :mod:`td3core.algorithm.td3`.

Numba compiles it to machine code that holds no GIL; matrix products are SciPy's BLAS. Everything is
float32, on the memory of the torch tensors, so that both paths share all state. The networks
themselves are in :mod:`~td3core.algorithm.fused.passes`.
"""

from typing import Any, NamedTuple

import numpy as np

from td3core.algorithm.fused.passes import (
    begin_step,
    descend,
    down,
    fast,
    forward,
    layer,
    outputs,
    tanh,
)
from td3core.algorithm.metric_slots import CRITIC_LOSS, SLOT, Q
from td3core.inference.normaliser import OBS_CLIP


class Live(NamedTuple):
    """The live settings of an update, by their names in ``Tunables``."""

    gamma: float
    tau: float
    policy_noise: float
    noise_clip: float
    actor_lr: float
    critic_lr: float
    policy_delay: int


class Work(NamedTuple):
    """The batch, and what is computed of it."""

    pair: Any  # (batch, obs + act): s, a
    next_pair: Any  # (batch, obs + act): s', first N(0, 1), then ã
    obs: Any  # (batch, obs): an actor's input
    reward: Any  # (batch,)
    continues: Any  # (batch,): 1 - terminated
    q: Any  # (members, batch): first Q'(s', ã), then Q(s, a)
    y: Any  # (batch,)
    actor_h: Any
    actor_g: Any
    critic_h: Any  # (members, ...); the first one is the target actor's too
    critic_g: Any  # (members, ...)


@fast
def _clipped(value, bound):
    if value > bound:
        return bound
    return -bound if value < -bound else value


@fast
def load(rows, at, index, noise, shift, scale, normalise, floor, w):
    """Gather the batch: s, a, s', N(0, 1), r, 1 - terminated."""
    obs, act, least = w.obs.shape[1], noise.shape[1], np.float32(floor)
    for row in range(index.shape[0]):
        source = rows[index[row]]
        for k in range(obs):
            now, after = source[at.obs + k], source[at.next_obs + k]
            if normalise:
                now = _clipped((now - shift[k]) * scale[k], np.float32(OBS_CLIP))
                after = _clipped((after - shift[k]) * scale[k], np.float32(OBS_CLIP))
            w.pair[row, k] = now
            w.next_pair[row, k] = after
        for k in range(act):
            w.pair[row, obs + k] = source[at.action + k]
            w.next_pair[row, obs + k] = noise[row, k]
        reward = source[at.reward]
        w.reward[row] = least if reward < least else reward
        w.continues[row] = np.float32(1.0) - source[at.terminated]


@fast
def _copy_obs(pair, obs):
    for row in range(obs.shape[0]):
        for k in range(obs.shape[1]):
            obs[row, k] = pair[row, k]


@fast
def target_action(actor, live, w):
    """Replace the noise in ``next_pair`` by ã = clip(π'(s') + clip(N(0, σ̃), -c, c), -1, 1)."""
    batch, obs = w.obs.shape
    sigma, bound = np.float32(live.policy_noise), np.float32(live.noise_clip)
    _copy_obs(w.next_pair, w.obs)
    action = forward(actor, actor.target, 0, w.obs, w.critic_h[0])
    for row in range(batch):
        for k in range(action.shape[1]):
            noise = _clipped(w.next_pair[row, obs + k] * sigma, bound)
            noisy = tanh(action[row, k]) + noise
            w.next_pair[row, obs + k] = _clipped(noisy, np.float32(1.0))


@fast
def target_q(critics, member, w, h, q):
    """Write Q'(s', ã) of one member into ``q`` (batch,)."""
    out = forward(critics, critics.target, member, w.next_pair, h)
    for row in range(q.shape[0]):
        q[row] = out[row, 0]


@fast
def fill_y(critics, live, w):
    """Fill in y = r + γ (1 - terminated) min(Q1', Q2')(s', ã); return its mean."""
    batch, gamma, total = w.y.shape[0], np.float32(live.gamma), 0.0
    for row in range(batch):
        smallest = w.q[0, row]
        for member in range(1, critics.members):
            value = w.q[member, row]
            # A NaN is not smaller than anything, and must not be lost.
            if value < smallest or value != value:
                smallest = value
        w.y[row] = smallest * w.continues[row] * gamma + w.reward[row]
        total += w.y[row]
    return total / batch


@fast
def update_critic(critics, member, w, h, g, step, sums):
    """Step one member on MSE(Q(s, a), y): ∂L/∂Q = 2 (Q - y) / N."""
    batch, last = w.y.shape[0], critics.widths.shape[0] - 2
    q = forward(critics, critics.online, member, w.pair, h)
    slope = outputs(g, critics.widths, batch, last)
    value, square = 0.0, 0.0
    for row in range(batch):
        error = q[row, 0] - w.y[row]
        slope[row, 0] = error * np.float32(2.0 / batch)
        w.q[member, row] = q[row, 0]
        value += q[row, 0]
        square += error * error
    sums[Q[member]] += value / batch
    sums[CRITIC_LOSS[member]] += square / batch
    descend(critics, member, w.pair, h, g, step)


@fast
def _measure_errors(critics, w, sums):
    """Add mean |Q1 - Q2|, and the largest |Q - y| of either critic, all before their step."""
    batch, gap, largest = w.y.shape[0], 0.0, 0.0
    for row in range(batch):
        for member in range(critics.members):
            error = abs(w.q[member, row] - w.y[row])
            # A NaN is not larger than anything, and must not be lost.
            if error > largest or error != error:
                largest = error
        gap += abs(w.q[0, row] - w.q[critics.members - 1, row])
    sums[SLOT.q_gap] += gap / batch
    sums[SLOT.td_max] += largest


@fast
def _action_gradient(critics, w, out):
    """Write -∂mean Q1/∂a into ``out`` (batch, act); the critics get no gradient."""
    batch, last, widths = w.y.shape[0], critics.widths.shape[0] - 2, critics.widths
    h, g = w.critic_h[0], w.critic_g[0]
    here = outputs(g, widths, batch, last)
    for row in range(batch):
        here[row, 0] = np.float32(-1.0 / batch)
    for i in range(last, 0, -1):
        weight, _ = layer(critics.online, widths, critics.members, 0, i)
        inputs, below = outputs(h, widths, batch, i - 1), outputs(g, widths, batch, i - 1)
        here = down(weight, here, inputs, below, critics.relu)
    weight, _ = layer(critics.online, widths, critics.members, 0, 0)
    columns = np.ascontiguousarray(weight[:, w.obs.shape[1] :])
    np.dot(here, columns, out)


@fast
def update_actor(actor, critics, live, w, sums):
    """Step the actor on L = -mean Q1(s, π(s)), through ∂L/∂a, and move its target."""
    batch, obs = w.obs.shape
    _copy_obs(w.pair, w.obs)
    action = forward(actor, actor.online, 0, w.obs, w.actor_h)
    for row in range(batch):
        for k in range(action.shape[1]):
            action[row, k] = tanh(action[row, k])
            w.pair[row, obs + k] = action[row, k]
    q = forward(critics, critics.online, 0, w.pair, w.critic_h[0])
    total = 0.0
    for row in range(batch):
        total += q[row, 0]
    sums[SLOT.actor_loss] -= total / batch
    slope = outputs(w.actor_g, actor.widths, batch, actor.widths.shape[0] - 2)
    _action_gradient(critics, w, slope)
    for row in range(batch):
        for k in range(action.shape[1]):
            slope[row, k] *= np.float32(1.0) - action[row, k] * action[row, k]
    step = begin_step(actor, live.actor_lr, live.tau, True)
    descend(actor, 0, w.obs, w.actor_h, w.actor_g, step)


@fast
def _target_qs(critics, w):
    for member in range(critics.members):
        target_q(critics, member, w, w.critic_h[0], w.q[member])


@fast
def _update_critics(critics, w, step, sums):
    for member in range(critics.members):
        update_critic(critics, member, w, w.critic_h[0], w.critic_g[0], step, sums)


def in_order(target_qs: Any, update_critics: Any) -> Any:
    """Return the update, to be compiled, with these ways of going through both critics.

    Args:
        target_qs: fills in Q'(s', ã) of each critic.
        update_critics: steps each critic.
    """

    def update_many(
        rows,
        at,
        index,
        noise,
        shift,
        scale,
        normalise,
        floor,
        actor,
        critics,
        live,
        updates,
        w,
        sums,
    ):
        """Do an update for each row of ``index``, after the first ``updates`` of the run.

        Args:
            rows: transitions (n, width).
            at: their :class:`~td3core.buffer.rows.RowLayout`.
            index: the rows of each update (count, batch).
            noise: N(0, 1), (count, batch, act).
            shift: (obs,), subtracted from observations if ``normalise``.
            scale: (obs,), multiplied with them then.
            normalise: whether observations are normalised.
            floor: lower bound of the rewards.
            actor: a :class:`Network`.
            critics: a :class:`Network` of one or two members.
            live: the :class:`Live` settings.
            updates: the number of updates done before.
            w: the :class:`Work` arrays.
            sums: what an update measures, at the places of ``metric_slots``; added to.

        Returns:
            How many updates moved the actor and the targets.
        """
        moved = 0
        for i in range(index.shape[0]):
            load(rows, at, index[i], noise[i], shift, scale, normalise, floor, w)
            target_action(actor, live, w)
            target_qs(critics, w)
            sums[SLOT.target] += fill_y(critics, live, w)
            moves_actor = (updates + i + 1) % live.policy_delay == 0
            # The actor's step does not ask the targets, so those of the critics may move before it.
            step = begin_step(critics, live.critic_lr, live.tau, moves_actor)
            update_critics(critics, w, step, sums)
            _measure_errors(critics, w, sums)
            if moves_actor:
                update_actor(actor, critics, live, w, sums)
                moved += 1
        return moved

    return update_many


update_many = fast(in_order(_target_qs, _update_critics))
