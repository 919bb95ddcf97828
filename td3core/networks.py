"""Multilayer perceptrons of the actor and the critics."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": torch.relu, "tanh": torch.tanh}


class MLP(nn.ModuleList):
    """Fully connected layers of the given widths, an activation between them, none at the end."""

    def __init__(self, widths: Sequence[int], activation: str, source: np.random.Generator) -> None:
        super().__init__(_blank(n, m) for n, m in pairwise(widths))
        self._activation = ACTIVATIONS[activation]
        for layer in self.layers():
            # U(-1/sqrt(fan_in), 1/sqrt(fan_in)), as the published TD3 has it from torch's default.
            bound = 1.0 / layer.in_features**0.5
            for parameter in (layer.weight, layer.bias):
                draw = source.uniform(-bound, bound, size=tuple(parameter.shape))
                parameter.data = torch.from_numpy(draw.astype(np.float32))

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, widths[0]) to (batch, widths[-1])."""
        *hidden, last = self.layers()
        for layer in hidden:
            x = self._activation(layer(x))
        output: Tensor = last(x)
        return output

    def layers(self) -> list[nn.Linear]:
        """Return the layers from input to output."""
        return [cast(nn.Linear, layer) for layer in self]


class Actor(MLP):
    """π(s): observation (batch, obs_dim) to action (batch, act_dim) in [-1, 1]."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the action of each observation."""
        return torch.tanh(super().forward(x))


class Critic(MLP):
    """Q(s, a): observation and action to a value (batch, 1)."""

    def forward(self, obs: Tensor, action: Tensor) -> Tensor:  # type: ignore[override]
        """Return the value of each pair."""
        return super().forward(torch.cat((obs, action), dim=-1))


def _blank(inputs: int, outputs: int) -> nn.Linear:
    # Linear's own initialisation would draw from the global generator.
    layer = skip_init(nn.Linear, inputs, outputs)  # type: ignore[no-untyped-call]
    return cast(nn.Linear, layer)
