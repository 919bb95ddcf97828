"""Acting with noise: the exploration noise of the training, or a push.

Both repeat exactly with the seed of the episode.
"""

import math
from collections.abc import Callable
from enum import StrEnum

import numpy as np

from td3core.arrays import Floats
from td3core.config import Tunables
from td3core.randomness import Purpose, correlated, generator

PUSH_AT_S = 2.0
"""Time of the first push of an episode, in seconds of simulated time."""
PUSH_S = 0.5
"""Duration of a push."""
_PUSH_NOISE = 1.0
"""Standard deviation during a push, in units of half the action range."""


class Variant(StrEnum):
    """How an agent acts."""

    PLAIN = "plain"
    NOISE = "noise"
    PUSH = "push"


class Pushes:
    """When an agent is pushed; pushes added during play are repeated in later episodes."""

    def __init__(self, fps: float) -> None:
        """Push once; ``fps`` is the number of steps per second."""
        self.fps = fps
        self.length = max(1, round(PUSH_S * fps))
        self.starts = [round(PUSH_AT_S * fps) + 1]
        """The first step of each push."""

    def add(self, step: int) -> None:
        """Also push from this step on."""
        if not self.active(step):
            self.starts.append(step)

    def active(self, step: int) -> bool:
        """Return whether the agent is pushed at a step, counted from 1."""
        return any(0 <= step - start < self.length for start in self.starts)


class Disturbed:
    """A policy in one episode, with Gaussian noise added to its actions.

    a = clip(π(s) + σ n_t, -1, 1), with the noise of the training: n_t ~ N(0, 1), independent or
    correlated from step to step. A push is independent noise instead, σ = 1. It is drawn for every
    step, used or not, so that the effect of a push depends only on the seed and the step.
    """

    def __init__(
        self,
        policy: Callable[[Floats], Floats],
        seed: int,
        exploration_noise: float = 0.0,
        pushes: Pushes | None = None,
        noise_correlation: float = 0.0,
        fps: float | None = None,
    ) -> None:
        """Begin an episode.

        Args:
            policy: Returns the action (act_dim,) in [-1, 1] for an observation (obs_dim,).
            seed: The seed of the reset.
            exploration_noise: σ at every step without a push, in units of half the action range.
            pushes: When the agent is pushed.
            noise_correlation: ρ of the noise from one step to the next.
            fps: Steps per second, if not those by which ``pushes`` counts.
        """
        self._policy, self._sigma, self._pushes = policy, exploration_noise, pushes
        self._random = generator(seed, Purpose.EXPLORATION)
        self._correlation = noise_correlation
        self._noise: Floats | None = None
        self._step, self._pace = 0, pushes.fps / fps if pushes and fps else 1.0

    def __call__(self, obs: Floats) -> Floats:
        """Return the action of the next step."""
        action = self._policy(obs)
        self._step += 1
        drawn = self._random.standard_normal(action.shape, np.float32)
        self._noise = correlated(self._noise, drawn, self._correlation)
        step = math.ceil(self._step * self._pace - 1e-9)
        pushed = self._pushes is not None and self._pushes.active(step)
        noise = _PUSH_NOISE * drawn if pushed else self._sigma * self._noise
        return np.clip(action + noise, -1.0, 1.0).astype(np.float32)


def noise_of(tunables: Tunables, left: float) -> float:
    """Return the σ that an agent explores with; ``left`` is the recorded σ, 0 if there is none."""
    return left or tunables.exploration_noise
