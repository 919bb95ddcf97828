"""Multilayer perceptrons with explicit forward and backward passes, on flat parameter vectors.

The twin critics are one :class:`MLPParameters` with two members: every product does both at once,
and optimiser and target averaging each touch one vector instead of a dozen tensors. All arrays a
pass needs are made once, so that an update allocates nothing.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

_relu_backward = torch.ops.aten.threshold_backward.grad_input
_tanh_backward = torch.ops.aten.tanh_backward.grad_input


class MLPParameters:
    """Weights and biases of ``members`` perceptrons of equal shape, in one flat vector.

    ``layers`` holds, from input to output, views (members, out, in) and (members, 1, out) of
    ``flat``. Gradients and an optimiser's moments have the same form.
    """

    def __init__(self, members: int, widths: Sequence[int], flat: Tensor) -> None:
        """Lay the layers over ``flat``."""
        self.members, self.widths, self.flat = members, tuple(widths), flat
        sizes = [size for n, m in pairwise(widths) for size in (members * m * n, members * m)]
        parts = iter(torch.split(self.flat, sizes))
        self.layers = [
            (next(parts).view(members, m, n), next(parts).view(members, 1, m))
            for n, m in pairwise(widths)
        ]

    def draw(self, source: np.random.Generator) -> None:
        """Draw U(-1/sqrt(fan_in), 1/sqrt(fan_in)), as the published TD3 has it from torch."""
        for member in range(self.members):
            for weight, bias in self.layers:
                bound = 1.0 / weight.shape[-1] ** 0.5
                for part in (weight[member], bias[member, 0]):
                    part.copy_(torch.from_numpy(source.uniform(-bound, bound, tuple(part.shape))))

    def like(self, flat: Tensor) -> "MLPParameters":
        """Return the same layers over another vector."""
        return MLPParameters(self.members, self.widths, flat)

    def named(self, *names: str) -> Iterator[tuple[str, Tensor]]:
        """Yield ``name.layer.weight`` (out, in) and ``name.layer.bias`` (out,) of each member."""
        for member, name in enumerate(names):
            for i, (weight, bias) in enumerate(self.layers):
                yield f"{name}.{i}.weight", weight[member]
                yield f"{name}.{i}.bias", bias[member, 0]


class MLPPass:
    """Forward and backward pass for one batch size: h ← f(W h + b), without f at the end.

    With ``members`` smaller than that of the weights only the first ones take part.
    """

    def __init__(
        self, weights: MLPParameters, activation: str, batch: int, members: int | None = None
    ) -> None:
        self.members = members or weights.members
        self._layers = [(w[: self.members], b[: self.members]) for w, b in weights.layers]
        self._relu = activation == "relu"
        make = weights.flat.new_empty
        self._outputs = [make(self.members, batch, w.shape[1]) for w, _ in self._layers]
        self._grads = [torch.empty_like(output) for output in self._outputs[:-1]]
        self._inputs: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, in), the same for every member, to (members, batch, out)."""
        x = x.expand(self.members, *x.shape)
        self._inputs = [x, *self._outputs[:-1]]
        for (weight, bias), output in zip(self._layers, self._outputs, strict=True):
            x = torch.baddbmm(bias, x, weight.mT, out=output)
            if output is not self._outputs[-1]:
                x = torch.relu_(x) if self._relu else torch.tanh_(x)
        return x

    def backward(self, grad_output: Tensor, gradient: MLPParameters) -> None:
        """Write ∂L/∂W = gᵀ h and ∂L/∂b = Σ g from g = ``grad_output`` = ∂L/∂output."""
        for i in reversed(range(len(self._layers))):
            weight_gradient, bias_gradient = gradient.layers[i]
            torch.bmm(grad_output.mT, self._inputs[i], out=weight_gradient)
            torch.sum(grad_output, 1, keepdim=True, out=bias_gradient)
            if i > 0:
                grad_output = self._backprop_layer(i, grad_output)

    def input_gradient(self, grad_output: Tensor, columns: slice) -> Tensor:
        """Return ∂L/∂input (members, batch, columns), without any gradient of the weights."""
        for i in reversed(range(1, len(self._layers))):
            grad_output = self._backprop_layer(i, grad_output)
        return torch.bmm(grad_output, self._layers[0][0][..., columns])

    def _backprop_layer(self, i: int, grad_output: Tensor) -> Tensor:
        """Return ∂L/∂(input of f) of layer i - 1 from ∂L/∂(output of layer i)."""
        weight, _ = self._layers[i]
        h, below = self._inputs[i], self._grads[i - 1]
        if weight.shape[1] == 1:
            # An outer product: three times faster than bmm.
            torch.mul(grad_output, weight, out=below)
        else:
            torch.bmm(grad_output, weight, out=below)
        if self._relu:
            return _relu_backward(below, h, 0, grad_input=below)  # type: ignore[no-any-return]
        return _tanh_backward(below, h, grad_input=below)  # type: ignore[no-any-return]
