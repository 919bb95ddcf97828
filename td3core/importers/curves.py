"""Curves of another program: what an importer returns, and how they become tables of a run."""

from dataclasses import dataclass

from td3core.text import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationPoint:
    """An evaluation: its step and the return of each episode, or their mean alone."""

    env_steps: int
    returns: tuple[float, ...]
    lengths: tuple[int, ...] = ()
    time_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodePoint:
    """A training episode, at the step it ended."""

    env_steps: int
    episode_return: float
    length: int = 0
    time_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveFile:
    """What a file of curves says; points are in the order of their steps."""

    kind: str
    """What wrote it."""
    sources: tuple[tuple[str, str], ...]
    """Name and SHA-256 of each file."""
    evaluations: tuple[EvaluationPoint, ...] = ()
    episodes: tuple[EpisodePoint, ...] = ()
    training: tuple[tuple[int, dict[str, float]], ...] = ()
    """Steps, and metrics by their names in ``training.csv``."""
    env_id: str = ""
    """The environment, where the file says it."""
    likely_env: str = ""
    """What names of files suggest."""
    notes: tuple[Text, ...] = ()

    @property
    def env_steps(self) -> int:
        """The last step."""
        ends = (each[-1].env_steps for each in (self.evaluations, self.episodes) if each)
        return max((*ends, *(step for step, _ in self.training[-1:])), default=0)
