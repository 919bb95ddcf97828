"""Forward and backward passes of perceptrons, and their optimiser, for the compiled update.

A flat vector of parameters holds, layer by layer, the weights (members, out, in) and the biases
(members, out). ``h`` and ``g`` are flat vectors, too: the outputs (batch, out) of all layers in
sequence, and the gradients there. With layer normalisation, ``h`` also holds the inputs of the
activations (batch, out), layer by layer, and then the reciprocal standard deviations of the
pre-activations (batch,). relu propagates NaN.
"""

from typing import Any, NamedTuple

import numpy as np

from td3core.algorithm.adam import BETA1, BETA2, EPSILON
from td3core.algorithm.fused.jit import ZERO, fast
from td3core.algorithm.fused.views import matrix, vector
from td3core.inference.layer_norm import EPSILON as NORM_EPSILON

_STILL_FIRST, _STILL_SECOND = 4, 500
"""Multiples of the smallest subnormal up to which a moment times β1 (β2) rounds to the moment."""
_LARGEST_SIZE = 0.1
"""A larger step size, as in the first updates, could still move a parameter that is 0."""
_MAGNITUDE = 0x7FFFFFFF
"""All bits of a float32 except its sign."""
_TANH_ONE = 7.90531110763549805
"""In float32, tanh is 1 from here on."""
_LANES = 32
"""Partial sums per row, added in a fixed order: vectorises on any processor, with identical bits. A
single sum would wait for each addition."""


class Network(NamedTuple):
    """Parameters and optimiser state of an actor, or of both critics."""

    widths: Any
    members: int
    relu: bool
    layer_norm: bool
    online: Any
    target: Any
    gradient: Any
    exp_avg: Any
    exp_avg_sq: Any
    step: Any


class Step(NamedTuple):
    """Numbers shared by all parameters of a network in one step of the optimiser."""

    size: Any  # float32: the learning rate with the bias correction of the first moment
    root: Any  # float32: the bias correction of the second moment
    tau: Any  # float32
    moves_target: bool


@fast
def _size(widths, members, layers):
    """Return the number of parameters in the first ``layers`` layers."""
    total = 0
    for i in range(layers):
        total += members * (widths[i] + 1) * widths[i + 1]
    return total


@fast
def _places(widths, members, member, i):
    """Return the offsets of weights and bias of one layer of a member."""
    n, m = widths[i], widths[i + 1]
    start = _size(widths, members, i)
    return start + member * m * n, start + members * m * n + member * m


@fast
def layer(flat, widths, members, member, i):
    """Return weights (out, in) and bias (out,) of one layer of a member, as views."""
    n, m = widths[i], widths[i + 1]
    weight, bias = _places(widths, members, member, i)
    return matrix(flat, weight, m, n), vector(flat, bias, m)


@fast
def _start_of_outputs(widths, batch, i):
    start = 0
    for j in range(1, i + 1):
        start += batch * widths[j]
    return start


@fast
def _flat_outputs(h, widths, batch, i):
    """Return the outputs (batch * out,) of layer ``i``, as a view."""
    return vector(h, _start_of_outputs(widths, batch, i), batch * widths[i + 1])


@fast
def outputs(h, widths, batch, i):
    """Return the outputs (batch, out) of layer ``i``, as a view."""
    return matrix(h, _start_of_outputs(widths, batch, i), batch, widths[i + 1])


@fast
def size_of_h(widths, batch, layer_norm):
    """Return the length of the vector ``h``; with ``layer_norm`` False, of ``g`` as well."""
    total = 0
    for j in range(1, widths.shape[0]):
        total += batch * widths[j]
    return 2 * total + batch * (widths.shape[0] - 2) if layer_norm else total


@fast
def _normalised(h, widths, batch, i):
    """Return the inputs of the activations (batch, out) of layer ``i``, as a view."""
    return outputs(h[size_of_h(widths, batch, False) :], widths, batch, i)


@fast
def _scales(h, widths, batch, i):
    """Return the reciprocal deviations (batch,) of layer ``i``'s pre-activations, as a view."""
    start = 2 * size_of_h(widths, batch, False) + batch * i
    return h[start : start + batch]


@fast
def tanh(x):
    """Return the hyperbolic tangent to a few units in the last place; vectorises.

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
                out[row, k] = tanh(out[row, k] + bias[k])


@fast
def _total(lanes):
    """Return the sum of ``lanes``, added in this fixed order."""
    total, quarter = np.float32(0.0), _LANES // 4
    for j in range(quarter):
        low, high = lanes[j] + lanes[j + quarter], lanes[j + 2 * quarter] + lanes[j + 3 * quarter]
        total += low + high
    return total


@fast
def _mean_with_bias(row, bias, lanes):
    """Add the bias to a row (out,), in place, and return the mean of the result."""
    lanes[:] = np.float32(0.0)
    for start in range(0, row.shape[0], _LANES):
        part, shift = row[start : start + _LANES], bias[start : start + _LANES]
        for j in range(part.shape[0]):
            value = part[j] + shift[j]
            part[j] = value
            lanes[j] += value
    return _total(lanes) / np.float32(row.shape[0])


@fast
def _variance(row, mean, lanes):
    lanes[:] = np.float32(0.0)
    for start in range(0, row.shape[0], _LANES):
        part = row[start : start + _LANES]
        for j in range(part.shape[0]):
            difference = part[j] - mean
            lanes[j] += difference * difference
    return _total(lanes) / np.float32(row.shape[0])


@fast
def _normalise(out, bias, normalised, scales, relu):
    """Add the bias, normalise each row and apply the activation, in place.

    ``normalised`` (rows, out) and ``scales`` (rows,) keep what the backward pass needs.
    """
    lanes = np.empty(_LANES, np.float32)
    for row in range(out.shape[0]):
        mean = _mean_with_bias(out[row], bias, lanes)
        variance = _variance(out[row], mean, lanes)
        scale = np.float32(1.0) / np.sqrt(variance + np.float32(NORM_EPSILON))
        scales[row] = scale
        if relu:
            for k in range(out.shape[1]):
                value = (out[row, k] - mean) * scale
                normalised[row, k] = value
                out[row, k] = np.float32(0.0) if value < np.float32(0.0) else value
        else:
            for k in range(out.shape[1]):
                value = (out[row, k] - mean) * scale
                normalised[row, k] = value
                out[row, k] = tanh(value)


@fast
def _through_normalisation(gradient, normalised, scales):
    """Backpropagate ``gradient`` (rows, out) through the normalisation, in place.

    With n = (z - mean) / deviation: ∂L/∂z = (∂L/∂n - mean(∂L/∂n) - n mean(n ∂L/∂n)) / deviation.
    """
    one, other = np.empty(_LANES, np.float32), np.empty(_LANES, np.float32)
    for row in range(gradient.shape[0]):
        one[:] = np.float32(0.0)
        other[:] = np.float32(0.0)
        for start in range(0, gradient.shape[1], _LANES):
            part = gradient[row, start : start + _LANES]
            unit = normalised[row, start : start + _LANES]
            for j in range(part.shape[0]):
                one[j] += part[j]
                other[j] += part[j] * unit[j]
        mean = _total(one) / np.float32(gradient.shape[1])
        along = _total(other) / np.float32(gradient.shape[1])
        scale = scales[row]
        for k in range(gradient.shape[1]):
            gradient[row, k] = (gradient[row, k] - mean - normalised[row, k] * along) * scale


@fast
def forward(net, flat, member, x, h, batch, first):
    """Run one member with parameters ``flat`` on ``x`` (rows, in); return its outputs.

    They are rows of the outputs in ``h``, which holds the whole ``batch``: from ``first`` on.
    """
    widths, end, last = net.widths, first + x.shape[0], net.widths.shape[0] - 2
    for i in range(last + 1):
        weight, bias = layer(flat, widths, net.members, member, i)
        out = outputs(h, widths, batch, i)[first:end]
        if widths[i + 1] == 1:
            np.dot(x, weight[0], _flat_outputs(h, widths, batch, i)[first:end])
        else:
            np.dot(x, weight.T, out)
        if i < last:
            if net.layer_norm:
                normalised = _normalised(h, widths, batch, i)[first:end]
                scales = _scales(h, widths, batch, i)[first:end]
                _normalise(out, bias, normalised, scales, net.relu)
            else:
                _activate(out, bias, net.relu)
            x = out
    for row in range(out.shape[0]):
        for k in range(widths[last + 1]):
            out[row, k] += bias[k]
    return out


@fast
def _slope(gradient, h, relu):
    """Return the gradient at the input of an activation, given that at its output ``h``."""
    if relu:
        return np.float32(0.0) if h <= np.float32(0.0) else gradient
    return gradient * (np.float32(1.0) - h * h)


@fast
def backward(net, member, i, h, g, batch, first, end):
    """Write the gradient at the pre-activations of layer ``i - 1`` into ``g``.

    Only for the rows from ``first`` to ``end``; ``h`` and ``g`` hold the whole ``batch``.
    """
    widths = net.widths
    weight, _ = layer(net.online, widths, net.members, member, i)
    here = outputs(g, widths, batch, i)[first:end]
    inputs = outputs(h, widths, batch, i - 1)[first:end]
    below = outputs(g, widths, batch, i - 1)[first:end]
    if widths[i + 1] == 1:
        for row in range(end - first):
            gradient = here[row, 0]
            for k in range(widths[i]):
                below[row, k] = _slope(gradient * weight[0, k], inputs[row, k], net.relu)
    else:
        np.dot(here, weight, below)
        for row in range(end - first):
            for k in range(widths[i]):
                below[row, k] = _slope(below[row, k], inputs[row, k], net.relu)
    if net.layer_norm:
        normalised = _normalised(h, widths, batch, i - 1)[first:end]
        _through_normalisation(below, normalised, _scales(h, widths, batch, i - 1)[first:end])


@fast
def _sum_rows(rows, total):
    total[:] = np.float32(0.0)
    for row in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            total[k] += rows[row, k]


@fast
def begin_step(net, lr, tau, moves_target):
    """Count a step of Adam, and return its constants."""
    net.step[0] += np.float32(1.0)
    t = np.float64(net.step[0])
    size, root = np.float32(lr / (1.0 - BETA1**t)), np.float32(np.sqrt(1.0 - BETA2**t))
    return Step(size, root, np.float32(tau), moves_target)


@fast
def _step_part(net, start, length, step):
    """Step some parameters by Adam (Kingma and Ba, 2015, algorithm 1), and move their target."""
    online, gradient = vector(net.online, start, length), vector(net.gradient, start, length)
    first, second = vector(net.exp_avg, start, length), vector(net.exp_avg_sq, start, length)
    _adam(online, gradient, first, second, step)
    if step.moves_target:
        _average(vector(net.target, start, length), online, step.tau)


@fast
def _adam(online, gradient, exp_avg, exp_avg_sq, step):
    """Step some parameters.

    The gradient of a dead unit is 0, and its moments decay until rounding keeps them at a subnormal
    number. On some processors, arithmetic with subnormals is a hundred times slower. Their step is
    lost in rounding, so replacing them by 0 in the computation changes no bits.
    """
    one_minus_beta1, beta2 = np.float32(1.0 - BETA1), np.float32(BETA2)
    one_minus_beta2, epsilon = np.float32(1.0 - BETA2), np.float32(EPSILON)
    may_be_still = step.size < np.float32(_LARGEST_SIZE)
    first, second = exp_avg.view(np.int32), exp_avg_sq.view(np.int32)
    for i in range(online.shape[0]):
        g, m, v = gradient[i], exp_avg[i], exp_avg_sq[i]
        dead = may_be_still and g == np.float32(0.0)
        m_still = dead and first[i] & _MAGNITUDE <= _STILL_FIRST
        v_still = dead and second[i] <= _STILL_SECOND
        m0 = np.float32(0.0) if m_still else m
        v0 = np.float32(0.0) if v_still else v
        m1 = m0 + one_minus_beta1 * (g - m0)
        v1 = beta2 * v0 + one_minus_beta2 * g * g
        exp_avg[i] = m if m_still else m1
        exp_avg_sq[i] = v if v_still else v1
        online[i] -= step.size * m1 / (np.sqrt(v1) / step.root + epsilon)


@fast
def _average(target, online, tau):
    """Move the target: θ' ← τθ + (1 - τ)θ'."""
    for i in range(target.shape[0]):
        target[i] += tau * (online[i] - target[i])


@fast
def step_layer(net, member, i, x, h, g, step):
    """Step layer ``i`` of one member, given the gradient at its outputs in ``g``."""
    widths, members, batch = net.widths, net.members, x.shape[0]
    weight, bias = _places(widths, members, member, i)
    weight_gradient, bias_gradient = layer(net.gradient, widths, members, member, i)
    here = outputs(g, widths, batch, i)
    inputs = x if i == 0 else outputs(h, widths, batch, i - 1)
    if widths[i + 1] == 1:
        np.dot(vector(here, ZERO, batch), inputs, weight_gradient[0])
    else:
        np.dot(here.T, inputs, weight_gradient)
    _sum_rows(here, bias_gradient)
    _step_part(net, weight, widths[i] * widths[i + 1], step)
    _step_part(net, bias, widths[i + 1], step)


@fast
def descend(net, member, x, h, g, step):
    """Step one member; the last part of ``g`` holds the gradient at its outputs.

    Each layer is stepped once its gradient has been propagated to the layer below: gradient and
    weights are then still in the cache.
    """
    batch = x.shape[0]
    for i in range(net.widths.shape[0] - 2, -1, -1):
        if i > 0:
            backward(net, member, i, h, g, batch, ZERO, batch)
        step_layer(net, member, i, x, h, g, step)
