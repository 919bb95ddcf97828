"""The update as one compiled call, in the order of :mod:`td3core.algorithm.td3`.

Numba compiles it to machine code that holds no GIL; matrix products are SciPy's BLAS. Everything is
float32, on the memory of the torch tensors, so that both paths share all state.

A flat vector of parameters holds, layer by layer, the weights (members, out, in) and the biases
(members, out). ``h`` is a flat vector too: the outputs (batch, width) of all layers, one after the
other. A relu is written so that a NaN stays a NaN.
"""

import numpy as np
from numba import njit

_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8

_fast = njit(nogil=True, cache=True, error_model="numpy")


@_fast
def _size(widths, members, layers):
    """Return the length of the parameters of the first layers."""
    total = 0
    for i in range(layers):
        total += members * (widths[i] + 1) * widths[i + 1]
    return total


@_fast
def _layer(flat, widths, members, member, i):
    """Return weights (out, in) and bias (out,) of one layer of a member, as views."""
    n, m = widths[i], widths[i + 1]
    start = _size(widths, members, i)
    weight = start + member * m * n
    bias = start + members * m * n + member * m
    return flat[weight : weight + m * n].reshape(m, n), flat[bias : bias + m]


@_fast
def _flat_outputs(h, widths, batch, i):
    """Return the outputs (batch * out,) of layer ``i``, as a view."""
    start = 0
    for j in range(1, i + 1):
        start += batch * widths[j]
    return h[start : start + batch * widths[i + 1]]


@_fast
def _outputs(h, widths, batch, i):
    """Return the outputs (batch, out) of layer ``i``, as a view."""
    return _flat_outputs(h, widths, batch, i).reshape(batch, widths[i + 1])


@_fast
def _forward(flat, widths, members, member, x, h, relu):
    """Run one member on ``x`` (batch, in); without activation at the end."""
    batch, last = x.shape[0], widths.shape[0] - 2
    for i in range(last + 1):
        weight, bias = _layer(flat, widths, members, member, i)
        out = _outputs(h, widths, batch, i)
        if widths[i + 1] == 1:
            np.dot(x, weight[0], _flat_outputs(h, widths, batch, i))
        else:
            np.dot(x, weight.T, out)
        if i == last:
            for row in range(batch):
                for k in range(out.shape[1]):
                    out[row, k] += bias[k]
        elif relu:
            for row in range(batch):
                for k in range(out.shape[1]):
                    value = out[row, k] + bias[k]
                    out[row, k] = np.float32(0.0) if value < np.float32(0.0) else value
        else:
            for row in range(batch):
                for k in range(out.shape[1]):
                    out[row, k] = np.tanh(out[row, k] + bias[k])
        x = out


@_fast
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


@_fast
def _backward(flat, gradient, widths, members, member, x, h, g, relu):
    """Write the gradient of one member; the last outputs in ``g`` hold the gradient there."""
    batch = x.shape[0]
    for i in range(widths.shape[0] - 2, -1, -1):
        weight, _ = _layer(flat, widths, members, member, i)
        weight_gradient, bias_gradient = _layer(gradient, widths, members, member, i)
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
            _down(weight, here, _outputs(g, widths, batch, i - 1), inputs, relu)


@_fast
def _adam(flat, gradient, exp_avg, exp_avg_sq, step, lr):
    """Take one step of Adam (Kingma and Ba, 2015, algorithm 1), in place."""
    step[0] += np.float32(1.0)
    t = np.float64(step[0])
    size = np.float32(lr / (1.0 - _BETA1**t))
    root = np.float32(np.sqrt(1.0 - _BETA2**t))
    one_minus_beta1, beta2 = np.float32(1.0 - _BETA1), np.float32(_BETA2)
    one_minus_beta2, epsilon = np.float32(1.0 - _BETA2), np.float32(_EPSILON)
    for i in range(flat.shape[0]):
        g = gradient[i]
        m = exp_avg[i] + one_minus_beta1 * (g - exp_avg[i])
        v = beta2 * exp_avg_sq[i] + one_minus_beta2 * g * g
        exp_avg[i] = m
        exp_avg_sq[i] = v
        flat[i] -= size * m / (np.sqrt(v) / root + epsilon)


@_fast
def _average(target, online, tau):
    share = np.float32(tau)
    for i in range(target.shape[0]):
        target[i] += share * (online[i] - target[i])


@_fast
def _load(ring, index, noise, shift, scale, clip, normalise, obs, act, pair, next_pair, reward, going):
    """Gather the batch: (s, a), (s', noise), r, and 1 - terminated."""
    for row in range(index.shape[0]):
        source = ring[index[row]]
        for k in range(obs):
            pair[row, k] = source[k]
            next_pair[row, k] = source[obs + act + 1 + k]
        if normalise:
            for k in range(obs):
                pair[row, k] = _clipped((pair[row, k] - shift[k]) * scale[k], clip)
                next_pair[row, k] = _clipped((next_pair[row, k] - shift[k]) * scale[k], clip)
        for k in range(act):
            pair[row, obs + k] = source[obs + k]
            next_pair[row, obs + k] = noise[row, k]
        reward[row] = source[obs + act]
        going[row] = np.float32(1.0) - source[2 * obs + act + 1]


@_fast
def _clipped(value, bound):
    if value > bound:
        return bound
    return -bound if value < -bound else value


@_fast
def _columns(pair, start, out):
    for row in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[row, k] = pair[row, start + k]


@_fast
def _update(
    ring, index, noise, shift, scale, normalise,
    aw, actor, actor_target, actor_gradient, actor_m, actor_v, actor_step,
    cw, members, critic, critic_target, critic_gradient, critic_m, critic_v, critic_step,
    live, moves_actor, actor_relu, critic_relu,
    pair, next_pair, seen, reward, going, y, h, g, sums,
):
    batch, obs, act = index.shape[0], aw[0], aw[aw.shape[0] - 1]
    gamma, tau, sigma, bound = live[0], live[1], np.float32(live[2]), np.float32(live[3])
    critic_lr, actor_lr = live[4], live[5]
    _load(ring, index, noise, shift, scale, np.float32(10.0), normalise, obs, act,
          pair, next_pair, reward, going)
    # ã = clip(π'(s') + clip(N(0, σ̃), -c, c), -1, 1)
    _columns(next_pair, 0, seen)
    _forward(actor_target, aw, 1, 0, seen, h, actor_relu)
    out = _outputs(h, aw, batch, aw.shape[0] - 2)
    for row in range(batch):
        for k in range(act):
            drawn = _clipped(next_pair[row, obs + k] * sigma, bound)
            next_pair[row, obs + k] = _clipped(np.tanh(out[row, k]) + drawn, np.float32(1.0))
    # y = r + γ (1 - terminated) min(Q1', Q2')(s', ã)
    last = cw.shape[0] - 2
    for member in range(members):
        _forward(critic_target, cw, members, member, next_pair, h, critic_relu)
        q = _outputs(h, cw, batch, last)
        for row in range(batch):
            value = q[row, 0]
            if member == 0 or value < y[row] or value != value:
                y[row] = value
    discount, total = np.float32(gamma), 0.0
    for row in range(batch):
        y[row] = y[row] * going[row] * discount + reward[row]
        total += y[row]
    sums[2] += total / batch
    # Both critics step on L = MSE(Q1(s, a), y) + MSE(Q2(s, a), y): ∂L/∂Q = 2 (Q - y) / N
    for member in range(members):
        _forward(critic, cw, members, member, pair, h, critic_relu)
        q, slope = _outputs(h, cw, batch, last), _outputs(g, cw, batch, last)
        value, square = 0.0, 0.0
        for row in range(batch):
            error = q[row, 0] - y[row]
            slope[row, 0] = error * np.float32(2.0 / batch)
            value += q[row, 0]
            square += error * error
        sums[member] += value / batch
        sums[3 + member] += square / batch
        _backward(critic, critic_gradient, cw, members, member, pair, h, g, critic_relu)
    _adam(critic, critic_gradient, critic_m, critic_v, critic_step, critic_lr)
    if not moves_actor:
        return
    # The actor steps on L = -mean Q1(s, π(s)), through ∂L/∂a; the critics get no gradient.
    _columns(pair, 0, seen)
    actor_size = 0
    for i in range(1, aw.shape[0]):
        actor_size += batch * aw[i]
    ha, ga = h[:actor_size], g[:actor_size]
    hc, gc = h[actor_size:], g[actor_size:]
    _forward(actor, aw, 1, 0, seen, ha, actor_relu)
    out = _outputs(ha, aw, batch, aw.shape[0] - 2)
    for row in range(batch):
        for k in range(act):
            out[row, k] = np.tanh(out[row, k])
            pair[row, obs + k] = out[row, k]
    _forward(critic, cw, members, 0, pair, hc, critic_relu)
    q, slope = _outputs(hc, cw, batch, last), _outputs(gc, cw, batch, last)
    value = 0.0
    for row in range(batch):
        value += q[row, 0]
        slope[row, 0] = np.float32(-1.0 / batch)
    sums[5] -= value / batch
    for i in range(last, 0, -1):
        weight, _ = _layer(critic, cw, members, 0, i)
        _down(weight, _outputs(gc, cw, batch, i), _outputs(gc, cw, batch, i - 1),
              _outputs(hc, cw, batch, i - 1), critic_relu)
    weight, _ = _layer(critic, cw, members, 0, 0)
    columns = np.ascontiguousarray(weight[:, obs:])
    slope = _outputs(ga, aw, batch, aw.shape[0] - 2)
    np.dot(_outputs(gc, cw, batch, 0), columns, slope)
    for row in range(batch):
        for k in range(act):
            slope[row, k] *= np.float32(1.0) - out[row, k] * out[row, k]
    _backward(actor, actor_gradient, aw, 1, 0, seen, ha, ga, actor_relu)
    _adam(actor, actor_gradient, actor_m, actor_v, actor_step, actor_lr)
    _average(actor_target, actor, tau)
    _average(critic_target, critic, tau)


@_fast
def update_many(
    ring, index, noise, shift, scale, normalise,
    aw, actor, actor_target, actor_gradient, actor_m, actor_v, actor_step,
    cw, members, critic, critic_target, critic_gradient, critic_m, critic_v, critic_step,
    live, updates, policy_delay, actor_relu, critic_relu,
    pair, next_pair, seen, reward, going, y, h, g, sums,
):
    """Do ``len(index)`` updates after the first ``updates``; return how many moved the actor."""
    moved = 0
    for i in range(index.shape[0]):
        moves_actor = (updates + i + 1) % policy_delay == 0
        moved += moves_actor
        _update(
            ring, index[i], noise[i], shift, scale, normalise,
            aw, actor, actor_target, actor_gradient, actor_m, actor_v, actor_step,
            cw, members, critic, critic_target, critic_gradient, critic_m, critic_v, critic_step,
            live, moves_actor, actor_relu, critic_relu,
            pair, next_pair, seen, reward, going, y, h, g, sums,
        )
    return moved
