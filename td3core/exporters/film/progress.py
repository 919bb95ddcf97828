"""Progress of a film."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FilmProgress:
    """Progress of a film."""

    scene: int = 0
    """The agent or checkpoint, counted from 0."""
    scenes: int = 1
    episode: int
    step: int
    """Step of the episode."""
    most: int | None
    """Maximum steps of the episode in the film; None if unknown."""
    frames: int
    """Frames of the film so far."""


Report = Callable[[FilmProgress], None]


def silent(progress: FilmProgress) -> None:
    """Report nothing."""
    del progress
