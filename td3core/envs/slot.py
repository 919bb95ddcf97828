"""One of a run's parallel environments: its generators and where its episode stands."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from td3core.envs.episode import EpisodeStart
from td3core.randomness import generator_state, restore_generator


@dataclass(slots=True)
class EnvSlot:
    """One of the environments: its generators, and where its current episode stands.

    ``episode`` counts the episodes of the whole run in the order they begin. With the actions taken
    since, it is all that is needed to have the environment again.
    """

    number: int
    warm_up: np.random.Generator
    exploration: np.random.Generator
    episode: int = 0
    began_at: int = 0
    """The run's step its episode began after."""
    length: int = 0
    total: float = 0.0
    shaped_return: float = 0.0
    terminated: bool = False

    def begin(self, episode: int, env_steps: int) -> EpisodeStart:
        """Forget the episode before."""
        self.episode, self.began_at = episode, env_steps
        self.length, self.total, self.shaped_return, self.terminated = 0, 0.0, 0.0, False
        return EpisodeStart(self.number, episode, env_steps)

    def numbers(self) -> NDArray[np.float64]:
        """Return where its episode stands, as a row for a checkpoint."""
        count = (self.episode, self.began_at, self.length)
        return np.array([*count, self.total, self.shaped_return], np.float64)

    def load(self, numbers: NDArray[np.float64], tensors: Mapping[str, NDArray[Any]]) -> None:
        """Take back what :meth:`numbers` and :meth:`streams` returned."""
        self.episode, self.began_at, self.length = (int(value) for value in numbers[:3])
        self.total, self.shaped_return = (float(value) for value in numbers[3:])
        suffix = f".{self.number}" if self.number else ""
        restore_generator(self.warm_up, tensors[f"generator.warm_up{suffix}"])
        restore_generator(self.exploration, tensors[f"generator.exploration{suffix}"])

    def add(self, reward: float, shaped: float, *, terminated: bool) -> None:
        """Count one step: the environment's own reward, and what the agent learns from."""
        self.length += 1
        self.total += reward
        self.shaped_return += shaped
        self.terminated = terminated

    def streams(self) -> dict[str, NDArray[np.uint64]]:
        """Return the states of its generators, under the names they have in a checkpoint."""
        suffix = f".{self.number}" if self.number else ""
        return {
            f"generator.warm_up{suffix}": generator_state(self.warm_up),
            f"generator.exploration{suffix}": generator_state(self.exploration),
        }
