"""The actor's forward pass in NumPy.

Training, evaluation, video and the render pane all use this one class, so their returns agree bit
for bit, and processes that only act need no torch.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from td3core.arrays import Doubles, Floats
from td3core.config.networks import NetworkGroup
from td3core.inference.forward import Layers, layer_outputs
from td3core.inference.normaliser import Normaliser

if TYPE_CHECKING:
    from cattrs import Converter


class Policy:
    """A deterministic actor: hidden layers with ``relu`` or ``tanh``, then a tanh output."""

    def __init__(
        self,
        layers: Layers,
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
        self._layers, self._activation = list(layers), activation

    def __call__(self, obs: Floats) -> Floats:
        """Return actions in [-1, 1], shape (..., act_dim), for observations (..., obs_dim).

        Several rows at once are faster, but may differ from single rows in the last bits.
        """
        x = obs if self._normaliser is None else self._normaliser(obs)
        *_, x = layer_outputs(self._layers, x, self._activation)
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
        plain: dict[str, Any] = {"layers": self._layers, "activation": self._activation}
        return converter.unstructure(plain | {"normaliser": normaliser})

    @classmethod
    def from_plain(cls, value: Any, converter: "Converter") -> "Policy":
        """Return the policy that :meth:`as_plain` converted, the same bit for bit."""
        layers = converter.structure(value["layers"], tuple[tuple[Floats, Floats], ...])
        if value["normaliser"] is None:
            return cls(layers, value["activation"])
        tensors = converter.structure(value["normaliser"], dict[str, Doubles])
        normaliser = Normaliser.from_tensors(tensors, layers[0][0].shape[1])
        return cls(layers, value["activation"], normaliser)
