"""Observations brought to mean 0 and variance 1, as far as the run has seen them."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Floats

_PREFIX = "obs_norm"
_CLIP = 10.0
_EPSILON = 1e-8


class Normaliser:
    """Running mean and variance of observations, and the map they define.

    x̂ = clip((x - mean) / sqrt(variance + ε), -10, 10), for each dimension on its own. Mean and
    variance are those of all observations seen in training (Welford, 1962), never of evaluations.
    """

    def __init__(self, obs_dim: int) -> None:
        self._count = 0.0
        self._mean = np.zeros(obs_dim)
        self._squares = np.zeros(obs_dim)
        self._shift = np.zeros(obs_dim, dtype=np.float32)
        self._scale = np.ones(obs_dim, dtype=np.float32)

    def observe(self, obs: Floats) -> None:
        """Take one observation (obs_dim,) into the statistics."""
        self._count += 1.0
        delta = obs - self._mean
        self._mean += delta / self._count
        self._squares += delta * (obs - self._mean)
        self._settle()

    def __call__(self, obs: Floats) -> Floats:
        """Normalise observations (..., obs_dim)."""
        x = (obs - self._shift) * self._scale
        return np.clip(x, -_CLIP, _CLIP, out=x)

    def state(self) -> dict[str, NDArray[np.float64]]:
        """Return copies of the statistics, under the names they have in a checkpoint."""
        return {
            f"{_PREFIX}.count": np.array([self._count]),
            f"{_PREFIX}.mean": self._mean.copy(),
            f"{_PREFIX}.squares": self._squares.copy(),
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, NDArray[np.float64]], obs_dim: int) -> "Normaliser":
        """Build from what :meth:`state` returned."""
        found = cls(obs_dim)
        found.load_state(tensors)
        return found

    def load_state(self, tensors: Mapping[str, NDArray[np.float64]]) -> None:
        """Go on from what :meth:`state` returned."""
        self._count = float(tensors[f"{_PREFIX}.count"][0])
        self._mean = tensors[f"{_PREFIX}.mean"].astype(np.float64)
        self._squares = tensors[f"{_PREFIX}.squares"].astype(np.float64)
        self._settle()

    @staticmethod
    def shapes(obs_dim: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of every tensor of :meth:`state`."""
        return {
            f"{_PREFIX}.count": (1,),
            f"{_PREFIX}.mean": (obs_dim,),
            f"{_PREFIX}.squares": (obs_dim,),
        }

    @staticmethod
    def possible(tensors: Mapping[str, NDArray[np.float64]]) -> bool:
        """Say whether tensors of :meth:`state` could be those of observations in float32."""
        count, mean, squares = (tensors[f"{_PREFIX}.{n}"] for n in ("count", "mean", "squares"))
        largest = np.abs(mean).max(initial=0.0)
        never_negative = count[0] >= 0 and squares.min(initial=0.0) >= 0
        return bool(never_negative and largest <= np.finfo(np.float32).max)

    def _settle(self) -> None:
        # One observation has no variance; until there are two, nothing is scaled.
        variance = self._squares / self._count if self._count > 1 else np.ones_like(self._mean)
        self._shift = self._mean.astype(np.float32)
        self._scale = (1.0 / np.sqrt(variance + _EPSILON)).astype(np.float32)
