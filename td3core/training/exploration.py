"""The actions taken while training."""

from collections.abc import Sequence

import numpy as np

from td3core.arrays import Floats
from td3core.config import Tunables
from td3core.envs.slot import EnvSlot
from td3core.inference.policy import Policy


class Exploration:
    """Chooses an action for each environment; every one has its own streams of random numbers.

    ``noise`` is σ as it has decayed so far. It belongs to the run, not to an environment: it is
    multiplied once for each action taken, in the order of the slots, so that it falls with the
    run's steps alike however many environments take them.
    """

    def __init__(
        self, slots: Sequence[EnvSlot], policy: Policy, act_dim: int, noise: float
    ) -> None:
        self._slots, self._policy, self._act_dim = slots, policy, act_dim
        self.noise = noise

    def uniform(self) -> Floats:
        """Return actions (n, act_dim), uniform in [-1, 1]: those of the warm-up."""
        rows = [slot.warm_up.uniform(-1.0, 1.0, self._act_dim) for slot in self._slots]
        return np.array(rows, np.float32)

    def noisy(self, obs: Floats, tunables: Tunables) -> Floats:
        """Return a = clip(π(s) + N(0, σ), -1, 1), shape (n, act_dim), for ``obs`` (n, obs_dim)."""
        if len(self._slots) == 1:
            # One observation as a vector: a matrix of one row takes longer.
            actions = (self._policy(obs[0]) + self._noise(self._slots[0], tunables))[None]
        else:
            noise = np.array([self._noise(slot, tunables) for slot in self._slots])
            actions = self._policy(obs) + noise
        # np.clip spends twice as long on finding out what to do.
        clipped: Floats = np.minimum(np.maximum(actions, -1.0, out=actions), 1.0, out=actions)
        return clipped

    def _noise(self, slot: EnvSlot, tunables: Tunables) -> Floats:
        drawn = slot.exploration.standard_normal(self._act_dim, np.float32)
        drawn *= np.float32(self.noise)
        if tunables.exploration_noise_decay < 1.0:
            floor = min(tunables.exploration_noise_min, self.noise)
            self.noise = max(self.noise * tunables.exploration_noise_decay, floor)
        return drawn
