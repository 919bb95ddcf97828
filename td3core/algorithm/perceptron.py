"""Multilayer perceptrons, and their parameters in one vector."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from td3core.config.networks import NetworkGroup
from td3core.inference.layer_norm import EPSILON

_ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh}

Layers = Sequence[tuple[Tensor, Tensor]]
"""Weight (out, in) and bias (out,) of each layer, from input to output."""


class Perceptron:
    """Hidden layers with ``relu`` or ``tanh``, optionally normalised, and a linear output layer."""

    def __init__(self, layers: Layers, activation: str, *, layer_norm: bool = False) -> None:
        self.layers = layers
        self._activation = _ACTIVATIONS[activation]
        self._layer_norm = layer_norm

    def __call__(self, x: Tensor) -> Tensor:
        """Map (batch, in) to (batch, out)."""
        *hidden, output = self.layers
        for weight, bias in hidden:
            x = F.linear(x, weight, bias)
            if self._layer_norm:
                x = F.layer_norm(x, x.shape[-1:], eps=EPSILON)
            x = self._activation(x)
        return F.linear(x, *output)


class Parameters:
    """Weights and biases of a group of networks in one vector.

    The vector holds, layer by layer, the weights (out, in) of each network, then the biases (out,)
    of each. Optimiser, target averaging and the compiled update work on it. ``tensors`` are views
    of its parts in that order.
    """

    def __init__(self, group: NetworkGroup, flat: Tensor, *, learning: bool = False) -> None:
        """Create the networks as views of ``flat``; they require gradients if ``learning``."""
        self._names, self.flat = group.names, flat
        count = len(group.names)
        shapes = [
            shape
            for n, m in pairwise(group.widths)
            for shape in (*[(m, n)] * count, *[(m,)] * count)
        ]
        parts = torch.split(flat, [math.prod(shape) for shape in shapes])
        self.tensors = [
            part.view(shape).detach().requires_grad_(learning)
            for part, shape in zip(parts, shapes, strict=True)
        ]
        weights = [self.tensors[i :: 2 * count] for i in range(count)]
        biases = [self.tensors[count + i :: 2 * count] for i in range(count)]
        self.networks = [
            Perceptron(
                list(zip(*layers, strict=True)), group.activation, layer_norm=group.layer_norm
            )
            for layers in zip(weights, biases, strict=True)
        ]

    @torch.no_grad()
    def draw(self, source: np.random.Generator) -> None:
        """Draw from U(-1/sqrt(fan_in), 1/sqrt(fan_in)), torch's default, as the published TD3."""
        for network in self.networks:
            for weight, bias in network.layers:
                bound = 1.0 / weight.shape[1] ** 0.5
                for part in (weight, bias):
                    part.copy_(torch.from_numpy(source.uniform(-bound, bound, tuple(part.shape))))

    def named(self, suffix: str = "") -> Iterator[tuple[str, Tensor]]:
        """Yield every weight and bias, detached, by its name ``name<suffix>.layer.weight``."""
        for name, network in zip(self._names, self.networks, strict=True):
            for i, (weight, bias) in enumerate(network.layers):
                yield f"{name}{suffix}.{i}.weight", weight.detach()
                yield f"{name}{suffix}.{i}.bias", bias.detach()
