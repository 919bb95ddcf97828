"""The critics' forward pass in NumPy: values of a saved agent's actions, without torch."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from td3core.arrays import Doubles, Floats
from td3core.config.networks import NetworkGroup
from td3core.inference.forward import Layers, layer_outputs
from td3core.inference.normaliser import Normaliser

if TYPE_CHECKING:
    from cattrs import Converter


class Critic:
    """One or two critics: hidden layers with ``relu`` or ``tanh``, then a linear output layer.

    A critic with several outputs estimates quantiles of the return; its value is their mean.
    """

    def __init__(
        self,
        critics: Sequence[Layers],
        activation: str,
        normaliser: Normaliser | None = None,
        *,
        layer_norm: bool = False,
        dropped: int = 0,
    ) -> None:
        """Build from the layers of each critic, which are not copied.

        Args:
            critics: The layers of Q₁ and, unless the agent has only one, Q₂.
            activation: ``relu`` or ``tanh``, of the hidden layers.
            normaliser: Applied to the observations first.
            layer_norm: Whether each hidden layer is normalised before its activation.
            dropped: Number of quantiles per critic that a target leaves out.
        """
        self._critics = [list(layers) for layers in critics]
        self._activation, self._normaliser = activation, normaliser
        self._layer_norm, self._dropped = layer_norm, dropped

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
        return self.judge(obs, action)[0]

    def target_value(self, obs: Floats, action: Floats) -> Floats:
        """Return the value of the critics that is used in targets, shape (...).

        That is min(Q₁, Q₂)(s, a), or the mean of the kept quantiles.
        """
        return self.judge(obs, action)[1]

    def judge(self, obs: Floats, action: Floats) -> tuple[Floats, Floats]:
        """Return Q(s, a) of each critic, shape (count, ...), and :meth:`target_value`."""
        x = obs if self._normaliser is None else self._normaliser(obs)
        pair = np.concatenate([x, action], axis=-1).astype(np.float32, copy=False)
        outputs = [self._outputs(layers, pair) for layers in self._critics]
        values: Floats = np.stack([each.mean(axis=-1) for each in outputs])
        quantiles = outputs[0].shape[-1]
        if quantiles == 1:
            return values, values.min(axis=0)
        kept = self.count * max(quantiles - self._dropped, 1)
        atoms = np.sort(np.concatenate(outputs, axis=-1), axis=-1)[..., :kept]
        return values, atoms.mean(axis=-1)

    def as_plain(self, converter: "Converter") -> object:
        """Return the critics as a JSON value: their layers and preprocessing."""
        normaliser = None if self._normaliser is None else self._normaliser.state()
        plain: dict[str, Any] = {"critics": self._critics, "activation": self._activation}
        plain |= {"normaliser": normaliser, "dropped": self._dropped}
        return converter.unstructure(plain | {"layer_norm": self._layer_norm})

    @classmethod
    def from_plain(cls, value: Any, converter: "Converter") -> "Critic":
        """Return the critics that :meth:`as_plain` converted, the same bit for bit."""
        kind = tuple[tuple[tuple[Floats, Floats], ...], ...]
        critics, activation = converter.structure(value["critics"], kind), value["activation"]
        normaliser = None
        if value["normaliser"] is not None:
            tensors = converter.structure(value["normaliser"], dict[str, Doubles])
            obs_dim = tensors["obs_norm.mean"].size
            normaliser = Normaliser.from_tensors(tensors, obs_dim)
        layer_norm, dropped = value["layer_norm"], value["dropped"]
        return cls(critics, activation, normaliser, layer_norm=layer_norm, dropped=dropped)

    def _outputs(self, layers: Layers, x: Floats) -> Floats:
        *_, found = layer_outputs(layers, x, self._activation, normalised=self._layer_norm)
        return found

    @classmethod
    def from_tensors(
        cls,
        tensors: Mapping[str, Floats],
        critics: NetworkGroup,
        normaliser: Normaliser | None = None,
        *,
        dropped: int = 0,
    ) -> "Critic | None":
        """Build from a checkpoint's tensors; None if they hold no critic."""
        names = [critics.layers(name) for name in critics.names]
        if names[0][0][0] not in tensors:
            return None
        layers = [[(tensors[weight], tensors[bias]) for weight, bias in each] for each in names]
        norm = critics.layer_norm
        return cls(layers, critics.activation, normaliser, layer_norm=norm, dropped=dropped)
