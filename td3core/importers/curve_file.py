"""Curves of another program, as an importer returns them."""

import math
from dataclasses import dataclass, replace

from td3core.text import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationPoint:
    """An evaluation: its step and the return of each episode, or only their mean."""

    env_steps: int
    returns: tuple[float, ...]
    lengths: tuple[int, ...] = ()
    time_s: float = math.nan
    """Seconds since the start; NaN if not on record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodePoint:
    """A training episode, at the step it ended."""

    env_steps: int
    episode_return: float
    length: int = 0
    time_s: float = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveFile:
    """Contents of a file of curves; points are in the order of their steps."""

    kind: str
    """The program that wrote it."""
    sources: tuple[tuple[str, str], ...]
    """Name and SHA-256 of each file."""
    evaluations: tuple[EvaluationPoint, ...] = ()
    episodes: tuple[EpisodePoint, ...] = ()
    training: tuple[tuple[int, dict[str, float]], ...] = ()
    """Steps, and metrics by name in ``training.csv``."""
    env_id: str = ""
    """The environment, if the file states it."""
    likely_env: str = ""
    """Environment suggested by file names."""
    notes: tuple[Text, ...] = ()

    @property
    def env_steps(self) -> int:
        """The last step."""
        ends = (each[-1].env_steps for each in (self.evaluations, self.episodes) if each)
        return max((*ends, *(step for step, _ in self.training[-1:])), default=0)

    def up_to(self, env_steps: int) -> "CurveFile":
        """Return the points up to this step, inclusive."""
        return replace(
            self,
            evaluations=tuple(each for each in self.evaluations if each.env_steps <= env_steps),
            episodes=tuple(each for each in self.episodes if each.env_steps <= env_steps),
            training=tuple(each for each in self.training if each[0] <= env_steps),
        )
