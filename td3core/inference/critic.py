"""The critics' forward pass in NumPy: what saved agents expect of an action, without torch."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from td3core.arrays import Doubles, Floats
from td3core.config.networks import NetworkGroup
from td3core.inference.layer_norm import layer_norm
from td3core.inference.normaliser import Normaliser

if TYPE_CHECKING:
    from cattrs import Converter

Layers = Sequence[tuple[Floats, Floats]]
"""Weight (out, in) and bias (out,) of each layer, from input to output."""


class Critic:
    """One or two critics: hidden layers with ``relu`` or ``tanh``, then a linear output layer.

    Of several outputs, which are quantiles of the return, the value is the mean.
    """

    def __init__(
        self,
        critics: Sequence[Layers],
        activation: str,
        normaliser: Normaliser | None = None,
        *,
        layer_norm: bool = False,
    ) -> None:
        """Build from the layers of each critic, which are not copied.

        Args:
            critics: The layers of Q₁ and, unless the agent has only one, Q₂.
            activation: ``relu`` or ``tanh``, of the hidden layers.
            normaliser: Applied to the observations first.
            layer_norm: Whether each hidden layer is normalised before its activation.
        """
        self._critics = [list(layers) for layers in critics]
        self._relu = activation == "relu"
        self._normaliser = normaliser
        self._layer_norm = layer_norm

    @property
    def count(self) -> int:
        """Number of critics, 1 or 2."""
        return len(self._critics)

    def __call__(self, obs: Floats, action: Floats) -> Floats:
        """Return Q(s, a) of each critic, shape (count, ...).

        Args:
            obs: Observations (..., obs_dim).
            action: Actions (..., act_dim) in [-1, 1].
        """
        x = obs if self._normaliser is None else self._normaliser(obs)
        pair = np.concatenate([x, action], axis=-1).astype(np.float32, copy=False)
        return np.stack([self._values(layers, pair) for layers in self._critics])

    def minimum(self, obs: Floats, action: Floats) -> Floats:
        """Return min(Q₁, Q₂)(s, a), shape (...)."""
        smallest: Floats = self(obs, action).min(axis=0)
        return smallest

    def as_plain(self, converter: "Converter") -> object:
        """Return what a line of JSON holds: the layers of each, and what is done before them."""
        normaliser = None if self._normaliser is None else self._normaliser.state()
        activation = "relu" if self._relu else "tanh"
        plain = {"critics": self._critics, "activation": activation, "normaliser": normaliser}
        return converter.unstructure(plain | {"layer_norm": self._layer_norm})

    @classmethod
    def from_plain(cls, value: Any, converter: "Converter") -> "Critic":
        """Return the critics of a line, the same bit for bit."""
        kind = tuple[tuple[tuple[Floats, Floats], ...], ...]
        critics, activation = converter.structure(value["critics"], kind), value["activation"]
        normaliser = None
        if value["normaliser"] is not None:
            tensors = converter.structure(value["normaliser"], dict[str, Doubles])
            obs_dim = tensors["obs_norm.mean"].size
            normaliser = Normaliser.from_tensors(tensors, obs_dim)
        return cls(critics, activation, normaliser, layer_norm=value["layer_norm"])

    def _values(self, layers: Layers, x: Floats) -> Floats:
        *hidden, (last_weight, last_bias) = layers
        for weight, bias in hidden:
            x = x @ weight.T
            x += bias
            if self._layer_norm:
                x = layer_norm(x)
            x = np.maximum(x, 0.0, out=x) if self._relu else np.tanh(x, out=x)
        value: Floats = (x @ last_weight.T + last_bias).mean(-1)
        return value

    @classmethod
    def from_tensors(
        cls,
        tensors: Mapping[str, Floats],
        critics: NetworkGroup,
        normaliser: Normaliser | None = None,
    ) -> "Critic | None":
        """Build from a checkpoint's tensors; None if they hold no critic."""
        names = [critics.layers(name) for name in critics.names]
        if names[0][0][0] not in tensors:
            return None
        layers = [[(tensors[weight], tensors[bias]) for weight, bias in each] for each in names]
        return cls(layers, critics.activation, normaliser, layer_norm=critics.layer_norm)
