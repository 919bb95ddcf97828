"""The update as one compiled call, in the order of :mod:`td3core.algorithm.td3`.

Numba compiles it to machine code that holds no GIL; matrix products are SciPy's BLAS. Everything is
float32, on the memory of the torch tensors, so that both paths share all state.

A flat vector of parameters holds, layer by layer, the weights (members, out, in) and the biases
(members, out). ``h`` and ``g`` are flat vectors too: the outputs (batch, out) of all layers one
after the other, and the gradients there. A relu is written so that a NaN stays a NaN.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8
_OBS_CLIP = 10.0
_TANH_ONE = 7.90531110763549805
"""From here on tanh is 1 in float32."""

fast = njit(nogil=True, error_model="numpy")


class Network(NamedTuple):
    """Everything of an actor, or of both critics."""

    widths: Any
    members: int
    relu: bool
    online: Any
    target: Any
    gradient: Any
    exp_avg: Any
    exp_avg_sq: Any
    step: Any


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
    q: Any  # (members, batch): Q'(s', ã)
    y: Any  # (batch,)
    actor_h: Any
    actor_g: Any
    critic_h: Any  # (members, ...)
    critic_g: Any  # (members, ...)


@fast
def _size(widths, members, layers):
    """Return the length of the parameters of the first layers."""
    total = 0
    for i in range(layers):
        total += members * (widths[i] + 1) * widths[i + 1]
    return total


@fast
def _layer(flat, widths, members, member, i):
    """Return weights (out, in) and bias (out,) of one layer of a member, as views."""
    n, m = widths[i], widths[i + 1]
    start = _size(widths, members, i)
    weight = start + member * m * n
    bias = start + members * m * n + member * m
    return flat[weight : weight + m * n].reshape(m, n), flat[bias : bias + m]


@fast
def _flat_outputs(h, widths, batch, i):
    """Return the outputs (batch * out,) of layer ``i``, as a view."""
    start = 0
    for j in range(1, i + 1):
        start += batch * widths[j]
    return h[start : start + batch * widths[i + 1]]


@fast
def _outputs(h, widths, batch, i):
    """Return the outputs (batch, out) of layer ``i``, as a view."""
    return _flat_outputs(h, widths, batch, i).reshape(batch, widths[i + 1])


@fast
def _tanh(x):
    """Return tanh(x) to a few units in the last place, in a form that compiles to vector code.

    The rational minimax approximation of Eigen (``generic_fast_tanh_float``), odd in x.
    """
    x = np.float32(_TANH_ONE) if x > np.float32(_TANH_ONE) else x
    x = np.float32(-_TANH_ONE) if x < np.float32(-_TANH_ONE) else x
    x2 = x * x
    p = np.float32(-2.76076847742355e-16)
    p = p * x2 + np.float32(2.00018790482477e-13)
    p = p * x2 + np.float32(-8.60467152213735e-11)
    p = p * x2 + np.float32(5.12229709037114e-08)
    p = p * x2 + np.float32(1.48572235717979e-05)
    p = p * x2 + np.float32(6.37261928875436e-04)
    p = (p * x2 + np.float32(4.89352455891786e-03)) * x
    q = np.float32(1.19825839466702e-06)
    q = q * x2 + np.float32(1.18534705686654e-04)
    q = q * x2 + np.float32(2.26843463243900e-03)
    return p / (q * x2 + np.float32(4.89352518554385e-03))


@fast
def _activate(out, bias, relu):
    """Add the bias and apply the activation, in place."""
    for row in range(out.shape[0]):
        if relu:
            for k in range(out.shape[1]):
                value = out[row, k] + bias[k]
                out[row, k] = np.float32(0.0) if value < np.float32(0.0) else value
        else:
            for k in range(out.shape[1]):
                out[row, k] = _tanh(out[row, k] + bias[k])


@fast
def _forward(net, flat, member, x, h):
    """Run one member with parameters ``flat`` on ``x`` (batch, in); return its outputs."""
    widths, batch, last = net.widths, x.shape[0], net.widths.shape[0] - 2
    for i in range(last + 1):
        weight, bias = _layer(flat, widths, net.members, member, i)
        out = _outputs(h, widths, batch, i)
        if widths[i + 1] == 1:
            np.dot(x, weight[0], _flat_outputs(h, widths, batch, i))
        else:
            np.dot(x, weight.T, out)
        if i < last:
            _activate(out, bias, net.relu)
            x = out
    for row in range(batch):
        for k in range(widths[last + 1]):
            out[row, k] += bias[k]
    return out


@fast
def _down(weight, g, below, h_below, relu):
    """Write the gradient at the inputs of the activations below into ``below`` (batch, in)."""
    batch, n = below.shape
    if weight.shape[0] == 1:
        for row in range(batch):
            scale = g[row, 0]
            for k in range(n):
                below[row, k] = scale * weight[0, k]
    else:
        np.dot(g, weight, below)
    if relu:
        for row in range(batch):
            for k in range(n):
                if h_below[row, k] <= np.float32(0.0):
                    below[row, k] = np.float32(0.0)
    else:
        for row in range(batch):
            for k in range(n):
                value = h_below[row, k]
                below[row, k] *= np.float32(1.0) - value * value


@fast
def _backward(net, member, x, h, g):
    """Write the gradient of one member; the last part of ``g`` holds that at its outputs."""
    widths, batch = net.widths, x.shape[0]
    for i in range(widths.shape[0] - 2, -1, -1):
        weight, _ = _layer(net.online, widths, net.members, member, i)
        weight_gradient, bias_gradient = _layer(net.gradient, widths, net.members, member, i)
        here = _outputs(g, widths, batch, i)
        inputs = x if i == 0 else _outputs(h, widths, batch, i - 1)
        if widths[i + 1] == 1:
            np.dot(_flat_outputs(g, widths, batch, i), inputs, weight_gradient[0])
        else:
            np.dot(here.T, inputs, weight_gradient)
        bias_gradient[:] = np.float32(0.0)
        for row in range(batch):
            for k in range(here.shape[1]):
                bias_gradient[k] += here[row, k]
        if i > 0:
            _down(weight, here, _outputs(g, widths, batch, i - 1), inputs, net.relu)


@fast
def adam(net, lr):
    """Take one step of Adam (Kingma and Ba, 2015, algorithm 1), in place."""
    net.step[0] += np.float32(1.0)
    t = np.float64(net.step[0])
    size = np.float32(lr / (1.0 - _BETA1**t))
    root = np.float32(np.sqrt(1.0 - _BETA2**t))
    one_minus_beta1, beta2 = np.float32(1.0 - _BETA1), np.float32(_BETA2)
    one_minus_beta2, epsilon = np.float32(1.0 - _BETA2), np.float32(_EPSILON)
    flat, gradient, exp_avg, exp_avg_sq = net.online, net.gradient, net.exp_avg, net.exp_avg_sq
    for i in range(flat.shape[0]):
        g = gradient[i]
        m = exp_avg[i] + one_minus_beta1 * (g - exp_avg[i])
        v = beta2 * exp_avg_sq[i] + one_minus_beta2 * g * g
        exp_avg[i] = m
        exp_avg_sq[i] = v
        flat[i] -= size * m / (np.sqrt(v) / root + epsilon)


@fast
def average_target(net, tau):
    """Move the target: θ' ← τθ + (1 - τ)θ'."""
    share, target, online = np.float32(tau), net.target, net.online
    for i in range(target.shape[0]):
        target[i] += share * (online[i] - target[i])


@fast
def _clipped(value, bound):
    if value > bound:
        return bound
    return -bound if value < -bound else value


@fast
def load(ring, rows, noise, shift, scale, normalise, w):
    """Gather the batch from the replay buffer: s, a, s', N(0, 1), r, 1 - terminated."""
    obs, act = w.obs.shape[1], noise.shape[1]
    for row in range(rows.shape[0]):
        source = ring[rows[row]]
        for k in range(obs):
            now, after = source[k], source[obs + act + 1 + k]
            if normalise:
                now = _clipped((now - shift[k]) * scale[k], np.float32(_OBS_CLIP))
                after = _clipped((after - shift[k]) * scale[k], np.float32(_OBS_CLIP))
            w.pair[row, k] = now
            w.next_pair[row, k] = after
        for k in range(act):
            w.pair[row, obs + k] = source[obs + k]
            w.next_pair[row, obs + k] = noise[row, k]
        w.reward[row] = source[obs + act]
        w.continues[row] = np.float32(1.0) - source[2 * obs + act + 1]


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
    action = _forward(actor, actor.target, 0, w.obs, w.actor_h)
    for row in range(batch):
        for k in range(action.shape[1]):
            noise = _clipped(w.next_pair[row, obs + k] * sigma, bound)
            noisy = _tanh(action[row, k]) + noise
            w.next_pair[row, obs + k] = _clipped(noisy, np.float32(1.0))


@fast
def target_q(critics, member, w, h, q):
    """Write Q'(s', ã) of one member into ``q`` (batch,)."""
    out = _forward(critics, critics.target, member, w.next_pair, h)
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
def critic_gradient(critics, member, w, h, g, sums):
    """Write the gradient of MSE(Q(s, a), y) of one member: ∂L/∂Q = 2 (Q - y) / N."""
    batch, last = w.y.shape[0], critics.widths.shape[0] - 2
    q = _forward(critics, critics.online, member, w.pair, h)
    slope = _outputs(g, critics.widths, batch, last)
    value, square = 0.0, 0.0
    for row in range(batch):
        error = q[row, 0] - w.y[row]
        slope[row, 0] = error * np.float32(2.0 / batch)
        value += q[row, 0]
        square += error * error
    sums[member] += value / batch
    sums[3 + member] += square / batch
    _backward(critics, member, w.pair, h, g)


@fast
def _action_gradient(critics, w, out):
    """Write -∂mean Q1/∂a into ``out`` (batch, act); the critics get no gradient."""
    batch, last, widths = w.y.shape[0], critics.widths.shape[0] - 2, critics.widths
    slope = _outputs(w.critic_g[0], widths, batch, last)
    for row in range(batch):
        slope[row, 0] = np.float32(-1.0 / batch)
    for i in range(last, 0, -1):
        weight, _ = _layer(critics.online, widths, critics.members, 0, i)
        here = _outputs(w.critic_g[0], widths, batch, i)
        below = _outputs(w.critic_g[0], widths, batch, i - 1)
        _down(weight, here, below, _outputs(w.critic_h[0], widths, batch, i - 1), critics.relu)
    weight, _ = _layer(critics.online, widths, critics.members, 0, 0)
    columns = np.ascontiguousarray(weight[:, w.obs.shape[1] :])
    np.dot(_outputs(w.critic_g[0], widths, batch, 0), columns, out)


@fast
def update_actor(actor, critics, live, w, sums):
    """Step the actor on L = -mean Q1(s, π(s)), through ∂L/∂a."""
    batch, obs = w.obs.shape
    _copy_obs(w.pair, w.obs)
    action = _forward(actor, actor.online, 0, w.obs, w.actor_h)
    for row in range(batch):
        for k in range(action.shape[1]):
            action[row, k] = _tanh(action[row, k])
            w.pair[row, obs + k] = action[row, k]
    q = _forward(critics, critics.online, 0, w.pair, w.critic_h[0])
    total = 0.0
    for row in range(batch):
        total += q[row, 0]
    sums[5] -= total / batch
    slope = _outputs(w.actor_g, actor.widths, batch, actor.widths.shape[0] - 2)
    _action_gradient(critics, w, slope)
    for row in range(batch):
        for k in range(action.shape[1]):
            slope[row, k] *= np.float32(1.0) - action[row, k] * action[row, k]
    _backward(actor, 0, w.obs, w.actor_h, w.actor_g)
    adam(actor, live.actor_lr)


@fast
def update_many(
    ring, index, noise, shift, scale, normalise, actor, critics, live, updates, w, sums
):
    """Do an update for each row of ``index``, after the first ``updates`` of the run.

    Args:
        ring: rows of the replay buffer (n, width).
        index: rows drawn (count, batch).
        noise: N(0, 1), (count, batch, act).
        shift: (obs,), subtracted from observations if ``normalise``.
        scale: (obs,), multiplied with them then.
        normalise: whether observations are normalised.
        actor: a :class:`Network`.
        critics: a :class:`Network` of one or two members.
        live: the :class:`Live` settings.
        updates: the number of updates done before.
        w: the :class:`Work` arrays.
        sums: what an update measures, in the order of its metrics; added to.

    Returns:
        How many updates moved the actor and the targets.
    """
    moved = 0
    h, g = w.critic_h[0], w.critic_g[0]
    for i in range(index.shape[0]):
        load(ring, index[i], noise[i], shift, scale, normalise, w)
        target_action(actor, live, w)
        for member in range(critics.members):
            target_q(critics, member, w, h, w.q[member])
        sums[2] += fill_y(critics, live, w)
        for member in range(critics.members):
            critic_gradient(critics, member, w, h, g, sums)
        adam(critics, live.critic_lr)
        if (updates + i + 1) % live.policy_delay == 0:
            update_actor(actor, critics, live, w, sums)
            average_target(actor, live.tau)
            average_target(critics, live.tau)
            moved += 1
    return moved
