"""The actor's forward pass in NumPy.

Training, evaluation, video and the render pane all use this one class, so their returns agree bit
for bit, and processes that only act need no torch.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from td3core.arrays import Doubles, Floats
from td3core.config.networks import NetworkGroup
from td3core.inference.normaliser import Normaliser

if TYPE_CHECKING:
    from cattrs import Converter

_ZERO: Floats = np.zeros((), np.float32)
"""As an array: NumPy would convert a Python number at every call."""


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
            x = _affine(weight, bias, x)
            x = np.maximum(x, _ZERO, out=x) if self._relu else np.tanh(x, out=x)
        x = _affine(*self._output, x)
        return np.tanh(x, out=x)

    @classmethod
    def from_tensors(
        cls,
        tensors: Mapping[str, Floats],
        actor: NetworkGroup,
        normaliser: Normaliser | None = None,
    ) -> "Policy":
        """Build from a checkpoint's tensors."""
        (name,) = actor.names
        layers = [(tensors[weight], tensors[bias]) for weight, bias in actor.layers(name)]
        return cls(layers, actor.activation, normaliser)

    def as_plain(self, converter: "Converter") -> object:
        """Return the policy as a JSON value: its layers and preprocessing."""
        normaliser = None if self._normaliser is None else self._normaliser.state()
        layers = [*self._hidden, self._output]
        activation = "relu" if self._relu else "tanh"
        plain = {"layers": layers, "activation": activation, "normaliser": normaliser}
        return converter.unstructure(plain)

    @classmethod
    def from_plain(cls, value: Any, converter: "Converter") -> "Policy":
        """Return the policy that :meth:`as_plain` converted, the same bit for bit."""
        layers = converter.structure(value["layers"], tuple[tuple[Floats, Floats], ...])
        if value["normaliser"] is None:
            return cls(layers, value["activation"])
        tensors = converter.structure(value["normaliser"], dict[str, Doubles])
        normaliser = Normaliser.from_tensors(tensors, layers[0][0].shape[1])
        return cls(layers, value["activation"], normaliser)


def _affine(weight: Floats, bias: Floats, x: Floats) -> Floats:
    """Return ``weight`` (out, in) times ``x`` (..., in), plus ``bias`` (out,)."""
    # For a vector, ``dot`` gives the same product in half the time.
    y: Floats = weight.dot(x) if x.ndim == 1 else x @ weight.T
    y += bias
    return y
