"""What a run says while it runs: small frozen values, closed into one union.

Only numbers, text, tuples, paths and read-only NumPy arrays travel in them, so a window can show
them without importing torch.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from td3core.config import RunConfig, Tunables
from td3core.evaluation.result import success_of


class Phase(StrEnum):
    """What a living run is doing."""

    WARM_UP = "warm-up"
    LEARNING = "learning"
    EVALUATING = "evaluating"
    PAUSED = "paused"


METRICS = ("q1", "q2", "target", "critic1_loss", "critic2_loss", "actor_loss")
"""What is measured of the updates."""

TRAINING_COLUMNS = ("env_steps", "updates", *METRICS)
"""Columns of :attr:`Progress.training` and of ``training.csv`` (which adds the time).

Each row is a mean over the updates of :data:`td3core.training.trainer.LOG_STEPS` environment steps.
``q1``, ``q2`` and ``target`` are means over the batch; with one critic ``q2`` and ``critic2_loss``
are NaN; so is ``actor_loss`` where the delay left the actor alone.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The run directory exists and the first step is about to be taken."""

    run: Path
    config: RunConfig
    tunables: Tunables
    env_steps: int
    device: str
    threads: int
    products: str
    """The library that multiplies matrices (see :mod:`td3core.algorithm.matmul`)."""
    reward_threshold: float | None = None
    """The return from which the environment counts as solved, if it names one."""
    repeated_steps: int = 0
    """Steps on record after ``env_steps``, without a checkpoint: they are taken again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeEnded:
    """One training episode is over; ``env_steps`` is the step it ended on."""

    episode: int
    env_steps: int
    episode_return: float
    shaped_return: float
    """The sum of what the agent learnt from (see ``reward_scale`` and ``reward_floor``)."""
    length: int
    terminated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where the run stands; sent at most about ten times a second."""

    phase: Phase
    env_steps: int
    updates: int
    episodes: int
    steps_per_s: float
    wall_s: float
    """Seconds the run has been going, pauses and the processes before this one included."""
    exploration_noise: float
    revision: int
    tunables: Tunables
    training: NDArray[np.float64]
    """Rows since the last report, shape (rows, len(TRAINING_COLUMNS)), read-only."""
    ended: tuple[EpisodeEnded, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """Noise-free episodes were completed with the weights after ``env_steps`` steps."""

    env_steps: int
    returns: tuple[float, ...]
    lengths: tuple[int, ...]
    seed: int
    is_best: bool
    wall_s: float
    reward_threshold: float | None = None

    @property
    def success(self) -> float | None:
        """Share of the episodes that reach the environment's threshold; None if it has none."""
        return success_of(self.returns, self.reward_threshold)

    @property
    def mean(self) -> float:
        """Mean return."""
        return float(np.mean(self.returns))

    @property
    def std(self) -> float:
        """Standard deviation of the returns (population)."""
        return float(np.std(self.returns))


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A checkpoint is safely on disk."""

    env_steps: int
    path: Path
    mean_return: float | None = None
    run_bytes: int = 0
    """What the whole run takes on disk now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """Live changes took effect before environment step ``env_steps + 1``.

    ``changes`` holds (name, old value, new value); ``revision`` is the newest request they contain.
    """

    env_steps: int
    updates: int
    revision: int
    tunables: Tunables
    changes: tuple[tuple[str, Any, Any], ...]
    scheduled: bool = False
    """True if a schedule asked for them (see ``schedule`` of
    :func:`~td3core.training.launch.train`), not a user just now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """The journal has a new line that is no change of a setting."""

    env_steps: int
    event: str
    """``pause``, ``save``, ``stop``, ``resume`` or ``branch``."""
    time: str
    """UTC, ISO 8601."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """Something is amiss, yet the run goes on (a full disk, an odd environment)."""

    env_steps: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The run is over and saved; ``stopped`` is ``finished``, ``user`` or ``failed``."""

    run: Path
    stopped: str
    env_steps: int
    updates: int
    episodes: int
    wall_s: float
    """Seconds of the whole run, as in :class:`Progress`."""
    steps_per_s: float
    """Of this process, since its warm-up."""
    last_eval_return: float | None
    best_eval_return: float | None
    best_checkpoint: Path | None
    last_checkpoint: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The run could not go on. ``message`` is a plain sentence."""

    message: str
    details: str
    """The traceback of what nobody foresaw, or of what an environment raised; else empty."""
    ending: Ended | None = None
    """How far the run came; ``None`` if it never started."""
    request: bool = False
    """True if the request was wrong and nothing was started."""
    diverged: bool = False
    """True if a number blew up: ``message`` says which and when, and the weights were not saved."""

    @property
    def env_steps(self) -> int:
        """The last step taken."""
        return self.ending.env_steps if self.ending else 0

    @property
    def run(self) -> Path | None:
        """The run directory, if there is one."""
        return self.ending.run if self.ending else None

    @property
    def last_checkpoint(self) -> Path | None:
        """The agent as it was, if it was worth saving."""
        return self.ending.last_checkpoint if self.ending else None


Event = Started | Progress | Evaluated | Saved | Tuned | Noted | Warned | Ended | Failed
