"""One of a run's parallel environments: its generators and the state of its episode."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Doubles, Floats
from td3core.envs.episode import EpisodeStart
from td3core.randomness import generator_state, restore_generator


@dataclass(slots=True)
class EnvSlot:
    """One of a run's parallel environments, without the environment itself.

    Its episode can be repeated from ``episode``, which determines the seed, and the actions taken.
    """

    number: int
    warm_up: np.random.Generator
    exploration: np.random.Generator
    episode: int = 0
    """Number of its episode; the episodes of a run are numbered from 0 as they begin."""
    began_at: int = 0
    """Step of the run after which its episode began."""
    length: int = 0
    """Steps taken in the episode."""
    total: float = 0.0
    """Return of the episode so far."""
    shaped_return: float = 0.0
    terminated: bool = False
    noise: Floats | None = None
    """Correlated exploration noise (act_dim,) of the last action in units of σ; None or zeros if
    the next value does not depend on it."""

    def begin(self, episode: int, env_steps: int) -> EpisodeStart:
        """Reset the state for a new episode."""
        self.episode, self.began_at = episode, env_steps
        self.length, self.total, self.shaped_return, self.terminated = 0, 0.0, 0.0, False
        self.noise = None
        return EpisodeStart(self.number, episode, env_steps)

    def episode_state(self) -> Doubles:
        """Return the state of the episode as a row (5,) for a checkpoint."""
        counts = (self.episode, self.began_at, self.length)
        return np.array([*counts, self.total, self.shaped_return], np.float64)

    def load(self, row: Doubles, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Restore state, generators and noise as :meth:`VectorEnv.state` returned them."""
        self.episode, self.began_at, self.length = (int(value) for value in row[:3])
        self.total, self.shaped_return = (float(value) for value in row[3:])
        suffix = f".{self.number}" if self.number else ""
        restore_generator(self.warm_up, tensors[f"generator.warm_up{suffix}"])
        restore_generator(self.exploration, tensors[f"generator.exploration{suffix}"])
        noise = tensors.get("episodes.noise")
        self.noise = None if noise is None else noise[self.number].copy()

    def add(self, reward: float, shaped: float, *, terminated: bool) -> None:
        """Count one step.

        Args:
            reward: The environment's own reward.
            shaped: The scaled and bounded reward that the agent learns from.
            terminated: True if the step led to a terminal state.
        """
        self.length += 1
        self.total += reward
        self.shaped_return += shaped
        self.terminated = terminated

    def generator_states(self) -> dict[str, NDArray[np.uint64]]:
        """Return the states (6,) of its generators under their names in a checkpoint."""
        suffix = f".{self.number}" if self.number else ""
        return {
            f"generator.warm_up{suffix}": generator_state(self.warm_up),
            f"generator.exploration{suffix}": generator_state(self.exploration),
        }
