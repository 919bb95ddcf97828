"""The actor's forward pass in NumPy.

Training, evaluation, video and the render pane all use this one class, so their returns agree bit
for bit, and processes that only act need no torch.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from td3core.arrays import Floats
from td3core.inference.normaliser import Normaliser


class Policy:
    """A deterministic actor: hidden layers with ``relu`` or ``tanh``, then a tanh output."""

    def __init__(
        self,
        layers: Sequence[tuple[Floats, Floats]],
        activation: str,
        normaliser: Normaliser | None = None,
    ) -> None:
        """Build from the layers, which are not copied.

        Args:
            layers: Weight (out, in) and bias (out,) of each layer.
            activation: ``relu`` or ``tanh``, of the hidden layers.
            normaliser: Applied to the observations first.
        """
        self._normaliser = normaliser
        self._hidden = list(layers[:-1])
        self._output = layers[-1]
        self._relu = activation == "relu"

    def __call__(self, obs: Floats) -> Floats:
        """Return actions in [-1, 1], shape (..., act_dim), for observations (..., obs_dim).

        Several rows at once are faster, but may differ from single rows in the last bits.
        """
        x = obs if self._normaliser is None else self._normaliser(obs)
        for weight, bias in self._hidden:
            x = x @ weight.T
            x += bias
            x = np.maximum(x, 0.0, out=x) if self._relu else np.tanh(x, out=x)
        weight, bias = self._output
        x = x @ weight.T
        x += bias
        return np.tanh(x, out=x)

    @classmethod
    def from_tensors(
        cls,
        tensors: Mapping[str, Floats],
        activation: str,
        normaliser: Normaliser | None = None,
    ) -> "Policy":
        """Build from a checkpoint's ``actor.<layer>.weight`` and ``actor.<layer>.bias``."""
        count = sum(1 for name in tensors if name.startswith("actor.") and name.endswith(".weight"))
        layers = [(tensors[f"actor.{i}.weight"], tensors[f"actor.{i}.bias"]) for i in range(count)]
        return cls(layers, activation, normaliser)
