"""The forward pass of a network of dense layers in NumPy."""

from collections.abc import Iterator, Sequence

import numpy as np

from td3core.arrays import Floats
from td3core.inference.layer_norm import layer_norm

Layers = Sequence[tuple[Floats, Floats]]
"""Weight (out, in) and bias (out,) of each layer, from input to output."""

_ZERO: Floats = np.zeros((), np.float32)
"""As an array: NumPy would convert a Python number at every call."""


def layer_outputs(
    layers: Layers, x: Floats, activation: str, *, normalised: bool = False
) -> Iterator[Floats]:
    """Yield the outputs (..., out) of each layer for ``x`` (..., in), each in a new array.

    Args:
        layers: The layers; the last one is linear.
        x: Inputs of the first layer.
        activation: ``relu`` or ``tanh``, of the hidden layers.
        normalised: Whether each hidden layer is normalised before its activation.
    """
    *hidden, output = layers
    for weight, bias in hidden:
        x = _affine(weight, bias, x)
        if normalised:
            x = layer_norm(x)
        x = np.maximum(x, _ZERO, out=x) if activation == "relu" else np.tanh(x, out=x)
        yield x
    yield _affine(*output, x)


def _affine(weight: Floats, bias: Floats, x: Floats) -> Floats:
    """Return ``weight`` (out, in) times ``x`` (..., in), plus ``bias`` (out,)."""
    # For a vector, ``dot`` gives the same product in half the time.
    y: Floats = weight.dot(x) if x.ndim == 1 else x @ weight.T
    y += bias
    return y
