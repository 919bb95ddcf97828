"""The update as one compiled call, in the order of :mod:`td3core.algorithm.td3`.

Numba compiles it to machine code that releases the GIL; matrix products use SciPy's BLAS.
Everything is float32, in the memory of the torch tensors, so that both engines share all state. The
networks themselves are in :mod:`~td3core.algorithm.fused.passes`.
"""

from typing import Any, NamedTuple

import numpy as np

from td3core.algorithm.fused.jit import ZERO, called_from_python, fast, inlined
from td3core.algorithm.fused.passes import (
    backward,
    begin_step,
    descend,
    forward,
    layer,
    outputs,
    step_layer,
    tanh,
)
from td3core.algorithm.fused.views import vector
from td3core.algorithm.metric_slots import CRITIC_LOSS, SLOT, Q
from td3core.inference.normaliser import OBS_CLIP

_LINE = 16
"""float32 numbers per cache line."""


class Live(NamedTuple):
    """The live settings of an update, by their names in ``Tunables``."""

    gamma: float
    tau: float
    policy_noise: float
    noise_clip: float
    actor_lr: float
    critic_lr: float
    action_penalty: float
    policy_delay: int
    dropped_quantiles: int


class Work(NamedTuple):
    """The batch, and all arrays computed from it."""

    pair: Any  # (batch, obs + act): s, a
    next_pair: Any  # (batch, obs + act): s', ã
    obs: Any  # (batch, obs): an actor's input
    reward: Any  # (batch,)
    continues: Any  # (batch,): 1 - terminated
    q: Any  # (members, batch): Q'(s', ã), then reused for Q(s, a)
    y: Any  # (batch,): the target; for quantile critics the mean of the kept quantiles
    atoms: Any  # (members * quantiles, batch): targets for quantile critics, ascending
    theta: Any  # (members, 2 * quantiles + 1, batch): their quantiles, gradients and losses
    td_error: Any  # (batch,): |Q1(s, a) - y| before the critics' step
    actor_h: Any
    actor_g: Any
    critic_h: Any  # (members, ...); also used for the target networks
    critic_g: Any  # (members, ...)


class Sources(NamedTuple):
    """Sources of the batches of several updates."""

    rows: Any  # (n, width): packed transitions
    index: Any  # (count, batch): the rows of each update
    noise: Any  # (count, batch, act): N(0, 1)
    shift: Any  # (obs,), subtracted from observations if `normalise`
    scale: Any  # (obs,), then multiplied with them
    normalise: bool
    floor: float  # lower bound of the rewards


@fast
def _clipped(value, bound):
    if value > bound:
        return bound
    return -bound if value < -bound else value


@fast
def _touch(rows, index):
    """Prefetch: read one number per cache line of these rows (batch,); return their sum.

    The rows are scattered in memory: these loads overlap, those of a gather hardly do.
    """
    total, width = np.float32(0.0), rows.shape[1]
    for k in range(index.shape[0]):
        row = rows[np.uintp(index[k])]
        for column in range(0, width, _LINE):
            total += row[column]
        total += row[width - 1]
    return total


@fast
def _load(sources, at, i, w, first, end):
    """Gather the rows of batch ``i``: s, a, s', r, 1 - terminated."""
    # Stored so that the compiler does not eliminate the loads; overwritten later.
    w.y[first] = _touch(sources.rows, sources.index[i, first:end])
    obs, act = w.obs.shape[1], sources.noise.shape[2]
    shift, scale, least = sources.shift, sources.scale, np.float32(sources.floor)
    # Unsigned: otherwise the compiler checks each index for negative values.
    here, there, action = np.uintp(at.obs), np.uintp(at.next_obs), np.uintp(at.action)
    for row in range(first, end):
        source = sources.rows[sources.index[i, row]]
        for k in range(obs):
            now, after = source[here + np.uintp(k)], source[there + np.uintp(k)]
            if sources.normalise:
                now = _clipped((now - shift[k]) * scale[k], np.float32(OBS_CLIP))
                after = _clipped((after - shift[k]) * scale[k], np.float32(OBS_CLIP))
            w.pair[row, k] = now
            w.next_pair[row, k] = after
        for k in range(act):
            w.pair[row, obs + k] = source[action + np.uintp(k)]
        reward = source[at.reward]
        w.reward[row] = least if reward < least else reward
        w.continues[row] = np.float32(1.0) - source[at.terminated]


@fast
def _copy_obs(pair, obs):
    for row in range(obs.shape[0]):
        for k in range(obs.shape[1]):
            obs[row, k] = pair[row, k]


@fast
def _target_action(actor, live, noise, w, first, end, h):
    """Write ã = clip(π'(s') + clip(N(0, σ̃), -c, c), -1, 1) into ``next_pair``.

    ``noise``: (rows, act), N(0, 1), treated as one vector so that the loop vectorises.
    """
    next_pair, obs = w.next_pair[first:end], w.obs[first:end]
    sigma, bound = np.float32(live.policy_noise), np.float32(live.noise_clip)
    _copy_obs(next_pair, obs)
    action = forward(actor, actor.target, ZERO, obs, h, end - first, ZERO)
    flat, drawn = vector(action, ZERO, action.size), vector(noise, ZERO, noise.size)
    for k in range(flat.shape[0]):
        noisy = tanh(flat[k]) + _clipped(drawn[k] * sigma, bound)
        flat[k] = _clipped(noisy, np.float32(1.0))
    for row in range(end - first):
        for k in range(action.shape[1]):
            next_pair[row, obs.shape[1] + k] = action[row, k]


@fast
def fill_targets(sources, at, i, actor, critics, live, w, first, end, h):
    """Gather rows of batch ``i``, and compute y = r + γ (1 - terminated) min(Q1', Q2')(s', ã).

    Only for the rows from ``first`` to ``end``; ``h`` receives the outputs of the target networks.
    """
    _load(sources, at, i, w, first, end)
    _target_action(actor, live, sources.noise[i, first:end], w, first, end, h)
    quantiles = critics.widths[critics.widths.shape[0] - 1]
    for member in range(critics.members):
        out = forward(critics, critics.target, member, w.next_pair[first:end], h, end - first, ZERO)
        if quantiles > 1:
            for row in range(first, end):
                for k in range(quantiles):
                    w.atoms[member * quantiles + k, row] = out[row - first, k]
        else:
            for row in range(first, end):
                w.q[member, row] = out[row - first, 0]
    gamma = np.float32(live.gamma)
    if quantiles > 1:
        _truncate(w, first, end, kept_atoms(critics, live), gamma)
        return
    for row in range(first, end):
        smallest = w.q[0, row]
        for member in range(1, critics.members):
            value = w.q[member, row]
            # Comparisons with NaN are false, but a NaN must be propagated.
            if value < smallest or value != value:
                smallest = value
        w.y[row] = smallest * w.continues[row] * gamma + w.reward[row]


@fast
def kept_atoms(critics, live):
    """Return how many atoms, pooled over all critics, are kept as targets."""
    quantiles = critics.widths[critics.widths.shape[0] - 1]
    return critics.members * (quantiles - min(live.dropped_quantiles, quantiles - 1))


@fast
def _sort(atoms):
    """Sort each column (atoms, rows) in ascending order, in place.

    Batcher's odd-even merge sort (Knuth, *The Art of Computer Programming*, vol. 3, 5.2.2 M): its
    comparisons do not depend on the data, so all columns are sorted at once.
    """
    count = atoms.shape[0]
    top = 1
    while 2 * top < count:
        top *= 2
    p = top
    while p > 0:
        q, r, d = top, 0, p
        while True:
            for i in range(count - d):
                if i & p == r:
                    low, high = atoms[i], atoms[i + d]
                    for row in range(low.shape[0]):
                        a, b = low[row], high[row]
                        low[row] = b if b < a else a
                        high[row] = a if b < a else b
            if q == p:
                break
            d, q, r = q - p, q // 2, p
        p //= 2


@fast
def _truncate(w, first, end, kept, gamma):
    """Compute targets from the smallest atoms: y_i = r + γ (1 - terminated) z_(i), i <= kept."""
    atoms = w.atoms[:, first:end]
    _sort(atoms)
    y, reward, continues = w.y[first:end], w.reward[first:end], w.continues[first:end]
    y[:] = np.float32(0.0)
    for i in range(kept):
        atom = atoms[i]
        for row in range(end - first):
            value = atom[row] * continues[row] * gamma + reward[row]
            atom[row] = value
            y[row] += value
    for row in range(end - first):
        y[row] /= np.float32(kept)


@fast
def _add_slopes(theta, atom, level, gradient, losses):
    """Add the quantile Huber loss of ``theta`` (rows,) for ``atom`` (rows,), and its gradient."""
    under, over = np.float32(level), np.float32(1.0 - level)
    one, half = np.float32(1.0), np.float32(0.5)
    for row in range(theta.shape[0]):
        error = atom[row] - theta[row]
        bounded = one if error > one else error
        bounded = -one if bounded < -one else bounded
        slope = (over if error < np.float32(0.0) else under) * bounded
        gradient[row] -= slope
        losses[row] += slope * (error - half * bounded)


@fast
def _quantile_loss(member, w, q, slope, kept, sums):
    """Compute the gradient of the quantile Huber loss (Dabney et al., 2018, equation 10)."""
    batch, count = q.shape
    theta, gradient = w.theta[member, :count], w.theta[member, count : 2 * count]
    losses, values = w.theta[member, 2 * count], w.q[member]
    losses[:] = np.float32(0.0)
    values[:] = np.float32(0.0)
    for k in range(count):
        here, there = theta[k], gradient[k]
        for row in range(batch):
            here[row] = q[row, k]
            values[row] += here[row]
        there[:] = np.float32(0.0)
        for i in range(kept):
            _add_slopes(here, w.atoms[i], (k + 0.5) / count, there, losses)
    size = np.float32(1.0 / (np.float64(batch) * count * kept))
    value, loss = 0.0, 0.0
    for row in range(batch):
        for k in range(count):
            slope[row, k] = gradient[k, row] * size
        values[row] /= np.float32(count)
        value += values[row]
        loss += losses[row]
    sums[Q[member]] += value / batch
    sums[CRITIC_LOSS[member]] += loss / (np.float64(batch) * count * kept)


@fast
def _mean(values):
    total = 0.0
    for row in range(values.shape[0]):
        total += values[row]
    return total / values.shape[0]


@fast
def update_critic(critics, member, w, h, g, step, kept, sums):
    """Step one member on MSE(Q(s, a), y): ∂L/∂Q = 2 (Q - y) / N; or on its quantile loss."""
    batch, last = w.y.shape[0], critics.widths.shape[0] - 2
    q = forward(critics, critics.online, member, w.pair, h, batch, ZERO)
    slope = outputs(g, critics.widths, batch, last)
    if critics.widths[last + 1] > 1:
        _quantile_loss(member, w, q, slope, kept, sums)
        descend(critics, member, w.pair, h, g, step)
        return
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
    """Add mean |Q1 - Q2| and the largest |Q - y| of both critics, as before their step."""
    batch, gap, largest = w.y.shape[0], 0.0, 0.0
    for row in range(batch):
        for member in range(critics.members):
            error = abs(w.q[member, row] - w.y[row])
            # Comparisons with NaN are false, but a NaN must be propagated.
            if error > largest or error != error:
                largest = error
        gap += abs(w.q[0, row] - w.q[critics.members - 1, row])
        w.td_error[row] = abs(w.q[0, row] - w.y[row])
    sums[SLOT.q_gap] += gap / batch
    sums[SLOT.td_max] += largest


@fast
def _action_gradient(critics, member, w, h, g, rows, size, out):
    """Write ``size`` ∂mean Q/∂a into ``out`` (rows, act); the critics get no gradient."""
    last, widths = critics.widths.shape[0] - 2, critics.widths
    here = outputs(g, widths, rows, last)
    for row in range(rows):
        for k in range(here.shape[1]):
            here[row, k] = size
    for i in range(last, 0, -1):
        backward(critics, member, i, h, g, rows, ZERO, rows)
    weight, _ = layer(critics.online, widths, critics.members, member, ZERO)
    columns = np.ascontiguousarray(weight[:, w.obs.shape[1] :])
    np.dot(outputs(g, widths, rows, ZERO), columns, out)


@fast
def _ascend_quantiles(critics, w, pair, first, end, h, g, slope):
    """Write minus the gradient of the mean of all quantiles of all critics into ``slope``."""
    rows, count = end - first, critics.members * critics.widths[critics.widths.shape[0] - 1]
    size = np.float32(-1.0 / (np.float64(w.y.shape[0]) * count))
    values, one = w.q[0, first:end], np.empty_like(slope)
    for member in range(critics.members):
        q = forward(critics, critics.online, member, pair, h, rows, ZERO)
        for row in range(rows):
            total = np.float32(0.0) if member == 0 else values[row]
            for k in range(q.shape[1]):
                total += q[row, k]
            values[row] = total
        _action_gradient(critics, member, w, h, g, rows, size, one)
        for row in range(rows):
            for k in range(slope.shape[1]):
                slope[row, k] = one[row, k] if member == 0 else slope[row, k] + one[row, k]
    for row in range(rows):
        values[row] /= np.float32(count)


@fast
def ascend(actor, critics, live, w, first, end, h, g):
    """Write the gradients of L = -mean Q1(s, π(s)) + λ mean π(s)² at the actor's layers.

    Only for the rows from ``first`` to ``end``; ``h`` and ``g`` receive the critic's outputs and
    the gradients there.
    """
    batch, last = w.y.shape[0], actor.widths.shape[0] - 2
    pair, obs = w.pair[first:end], w.obs[first:end]
    _copy_obs(pair, obs)
    action = forward(actor, actor.online, ZERO, obs, w.actor_h, batch, first)
    flat = vector(action, ZERO, action.size)
    for k in range(flat.shape[0]):
        flat[k] = tanh(flat[k])
    for row in range(end - first):
        for k in range(action.shape[1]):
            pair[row, obs.shape[1] + k] = action[row, k]
    slope = outputs(w.actor_g, actor.widths, batch, last)[first:end]
    if critics.widths[critics.widths.shape[0] - 1] > 1:
        _ascend_quantiles(critics, w, pair, first, end, h, g, slope)
    else:
        q = forward(critics, critics.online, ZERO, pair, h, end - first, ZERO)
        for row in range(first, end):
            w.q[0, row] = q[row - first, 0]
        size = np.float32(-1.0 / batch)
        _action_gradient(critics, ZERO, w, h, g, end - first, size, slope)
    penalty = np.float32(2.0 * live.action_penalty / (batch * action.shape[1]))
    for row in range(end - first):
        for k in range(action.shape[1]):
            slope[row, k] += penalty * action[row, k]
            slope[row, k] *= np.float32(1.0) - action[row, k] * action[row, k]
    for i in range(last, 0, -1):
        backward(actor, ZERO, i, w.actor_h, w.actor_g, batch, first, end)


@inlined
def _fill_targets(sources, at, i, actor, critics, live, w):
    fill_targets(sources, at, i, actor, critics, live, w, ZERO, w.y.shape[0], w.critic_h[0])


@inlined
def _update_critics(critics, w, step, kept, sums):
    for member in range(critics.members):
        update_critic(critics, member, w, w.critic_h[0], w.critic_g[0], step, kept, sums)


@inlined
def _ascend(actor, critics, live, w):
    ascend(actor, critics, live, w, ZERO, w.y.shape[0], w.critic_h[0], w.critic_g[0])


@inlined
def _step_actor(actor, w, step):
    for i in range(actor.widths.shape[0] - 2, -1, -1):
        step_layer(actor, ZERO, i, w.obs, w.actor_h, w.actor_g, step)


def in_order(fill_targets: Any, update_critics: Any, ascend: Any, step_actor: Any) -> Any:
    """Return the update, not compiled yet, with these implementations of its four parts."""

    def update_many(sources, at, actor, critics, live, updates, w, sums):
        """Do an update for each row of ``sources.index``, after the first ``updates`` of the run.

        Args:
            sources: a :class:`Sources`.
            at: the :class:`~td3core.buffer.rows.RowLayout` of the rows of ``sources``.
            actor: a :class:`Network`.
            critics: a :class:`Network` of one or two members.
            live: the :class:`Live` settings.
            updates: the number of updates done before.
            w: the :class:`Work` arrays.
            sums: sums of the metrics, indexed as in ``metric_slots``; incremented.

        Returns:
            How many updates moved the actor and the targets.
        """
        moved = 0
        for i in range(sources.index.shape[0]):
            fill_targets(sources, at, i, actor, critics, live, w)
            sums[SLOT.target] += _mean(w.y)
            moves_actor = (updates + i + 1) % live.policy_delay == 0
            # The actor's step does not use the targets, so the critics' targets may move before it.
            step = begin_step(critics, live.critic_lr, live.tau, moves_actor)
            update_critics(critics, w, step, kept_atoms(critics, live), sums)
            _measure_errors(critics, w, sums)
            if moves_actor:
                ascend(actor, critics, live, w)
                sums[SLOT.actor_loss] -= _mean(w.q[0])
                step_actor(actor, w, begin_step(actor, live.actor_lr, live.tau, True))
                moved += 1
        return moved

    return update_many


update_many = called_from_python(in_order(_fill_targets, _update_critics, _ascend, _step_actor))
