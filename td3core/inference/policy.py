"""The acting side of an agent: a forward pass for one or a few observations, in NumPy.

Training, evaluation, video and the render pane all act through this one class, so their returns
agree bit for bit, and the processes that only act need no torch.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from td3core.arrays import Floats
from td3core.inference.normaliser import Normaliser

if TYPE_CHECKING:
    # It brings Gymnasium along, which the window does without until something is played.
    pass


class Policy:
    """A deterministic actor: hidden layers with ``relu`` or ``tanh``, then a tanh output."""

    def __init__(
        self,
        layers: Sequence[tuple[Floats, Floats]],
        activation: str,
        normaliser: Normaliser | None = None,
    ) -> None:
        """Take (weight (out, in), bias (out,)) of each layer; they are used, not copied."""
        self._normaliser = normaliser
        self._hidden = list(layers[:-1])
        self._output = layers[-1]
        self._relu = activation == "relu"

    def __call__(self, obs: Floats) -> Floats:
        """Return actions in [-1, 1], shape (..., act_dim), for observations (..., obs_dim).

        Several rows at once are faster, but may differ in the last bits from one at a time.
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
