"""Normalises observations to mean 0 and variance 1 with running statistics."""

from collections.abc import Mapping

import numpy as np

from td3core.arrays import Doubles, Floats

_PREFIX = "obs_norm"
OBS_CLIP = 10.0
"""Bound of a normalised observation."""
_EPSILON = 1e-8


class Normaliser:
    """Running mean and variance of observations, and the normalisation with them.

    x̂ = clip((x - mean) / sqrt(variance + ε), -10, 10) in each dimension, with ε = 1e-8. Mean and
    variance are over all training observations (algorithm of Welford, 1962); evaluations do not
    change them.
    """

    def __init__(self, obs_dim: int) -> None:
        self._count = 0.0
        self._mean = np.zeros(obs_dim)
        self._squares = np.zeros(obs_dim)
        self._shift = np.zeros(obs_dim, dtype=np.float32)
        self._scale = np.ones(obs_dim, dtype=np.float32)

    def observe(self, obs: Floats) -> None:
        """Update the statistics with one observation (obs_dim,)."""
        self._count += 1.0
        delta = obs - self._mean
        self._mean += delta / self._count
        self._squares += delta * (obs - self._mean)
        self._update_scale()

    def __call__(self, obs: Floats) -> Floats:
        """Normalise observations (..., obs_dim)."""
        x = (obs - self._shift) * self._scale
        return np.clip(x, -OBS_CLIP, OBS_CLIP, out=x)

    def affine(self) -> tuple[Floats, Floats]:
        """Return shift and scale (obs_dim,) of the normalisation, before it is clipped to ±10."""
        return self._shift, self._scale

    def state(self) -> dict[str, Doubles]:
        """Return copies of the statistics by their names in a checkpoint (see :meth:`shapes`)."""
        return {
            f"{_PREFIX}.count": np.array([self._count]),
            f"{_PREFIX}.mean": self._mean.copy(),
            f"{_PREFIX}.squares": self._squares.copy(),
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Doubles], obs_dim: int) -> "Normaliser":
        """Build from what :meth:`state` returned."""
        found = cls(obs_dim)
        found.load_state(tensors)
        return found

    def load_state(self, tensors: Mapping[str, Doubles]) -> None:
        """Restore what :meth:`state` returned."""
        self._count = float(tensors[f"{_PREFIX}.count"][0])
        self._mean = tensors[f"{_PREFIX}.mean"].astype(np.float64)
        self._squares = tensors[f"{_PREFIX}.squares"].astype(np.float64)
        self._update_scale()

    @staticmethod
    def shapes(obs_dim: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of every tensor of :meth:`state`."""
        return {
            f"{_PREFIX}.count": (1,),
            f"{_PREFIX}.mean": (obs_dim,),
            f"{_PREFIX}.squares": (obs_dim,),
        }

    @staticmethod
    def possible(tensors: Mapping[str, Doubles]) -> bool:
        """Return whether these tensors can be the :meth:`state` for float32 observations."""
        count, mean, squares = (tensors[f"{_PREFIX}.{n}"] for n in ("count", "mean", "squares"))
        largest = np.abs(mean).max(initial=0.0)
        never_negative = count[0] >= 0 and squares.min(initial=0.0) >= 0
        return bool(never_negative and largest <= np.finfo(np.float32).max)

    def _update_scale(self) -> None:
        # The variance is defined from two observations on; until then nothing is scaled.
        variance = self._squares / self._count if self._count > 1 else np.ones_like(self._mean)
        self._shift = self._mean.astype(np.float32)
        self._scale = (1.0 / np.sqrt(variance + _EPSILON)).astype(np.float32)
