"""Events that a run reports: small frozen values, in one closed union.

They hold only numbers, text, tuples, paths and read-only NumPy arrays, so a window can show them
without importing torch.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from td3core.arrays import Doubles
from td3core.config import RunConfig, Tunables
from td3core.evaluation.result import success_of
from td3core.protocol.run_status import RunStatus
from td3core.text import NO_TEXT, Text

if TYPE_CHECKING:
    from cattrs import Converter


class Phase(StrEnum):
    """Activity of a running run."""

    WARM_UP = "warm-up"
    LEARNING = "learning"
    EVALUATING = "evaluating"
    PAUSED = "paused"

    @classmethod
    def at(cls, env_steps: int, learning_starts: int, *, imported: bool) -> "Phase":
        """Return warm-up or learning; an imported agent acts from the first step on."""
        return cls.LEARNING if imported or env_steps >= learning_starts else cls.WARM_UP


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparing:
    """The run needs something that takes a while to prepare; ``message`` is a plain sentence."""

    message: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The run directory exists and the first step is about to be taken."""

    run: Path
    config: RunConfig
    tunables: Tunables
    env_steps: int
    device: str
    threads: int
    engine: Text = NO_TEXT
    """Name of the update's engine (see :mod:`td3core.algorithm.engine`)."""
    reward_threshold: float | None = None
    """The return at which the environment counts as solved, if it names one."""
    repeated_steps: int = 0
    """Recorded steps after ``env_steps`` that no checkpoint covers: they are taken again."""
    name: str = ""
    """Name of the run (see :mod:`td3core.runs.naming`)."""
    branched_from: str = ""
    """Folder of the run whose agent of step ``env_steps`` it begins with; empty for other runs, and
    for a branch that is resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeEnded:
    """One training episode ended, at step ``env_steps``."""

    episode: int
    env_steps: int
    episode_return: float
    shaped_return: float
    """Sum of the rewards the agent learns from (see ``reward_scale``, ``reward_floor``)."""
    length: int
    """In steps; 0 if not on record."""
    terminated: bool
    wall_s: float = math.nan
    """Wall time of the run when it ended, as in :class:`Progress`; NaN if not on record."""
    info: Mapping[str, float] = field(default_factory=dict)
    """Means over its steps of values in the environment's info, by column, such as
    ``info.x_velocity``; NaN for values that it did not return."""


_EPISODE = tuple(each.name for each in fields(EpisodeEnded) if each.name != "info")
_values_of = attrgetter(*_EPISODE)


class Episodes(Sequence[EpisodeEnded]):
    """Ended episodes as rows of an array: a long run has tens of thousands.

    The :class:`EpisodeEnded` objects are made on access.
    """

    __slots__ = ("_rows", "info_columns")

    def __init__(self, rows: Doubles, info_columns: Sequence[str] = ()) -> None:
        """Take rows (n, 7 + len(info_columns)): fields of :class:`EpisodeEnded`, then its info.

        Counts must be whole numbers.
        """
        self._rows = rows
        self.info_columns = tuple(info_columns)
        """Columns of the environment's info that are on record."""

    @classmethod
    def of(cls, episodes: Iterable[EpisodeEnded] = ()) -> "Episodes":
        """Make the rows from single episodes."""
        taken = list(episodes)
        info = tuple(dict.fromkeys(name for each in taken for name in each.info))
        rows = np.array(
            [(*_values_of(each), *(each.info.get(n, math.nan) for n in info)) for each in taken],
            dtype=np.float64,
        )
        return cls(rows.reshape(-1, len(_EPISODE) + len(info)), info)

    def columns(self, *names: str) -> Doubles:
        """Return some fields or info columns of all episodes, shape (n, len(names))."""
        known = (*_EPISODE, *self.info_columns)
        return self._rows[:, [known.index(name) for name in names]]

    def __add__(self, later: "Episodes") -> "Episodes":
        """Return both, with the info columns of both."""
        info = tuple(dict.fromkeys((*self.info_columns, *later.info_columns)))
        return Episodes(np.concatenate([each._with_info(info) for each in (self, later)]), info)

    def _with_info(self, info_columns: Sequence[str]) -> Doubles:
        """Return the rows with these info columns; NaN in those not on record."""
        if self.info_columns == info_columns:
            return self._rows
        rows = np.full((len(self), len(_EPISODE) + len(info_columns)), math.nan)
        rows[:, : len(_EPISODE)] = self._rows[:, : len(_EPISODE)]
        for name in self.info_columns:
            rows[:, len(_EPISODE) + info_columns.index(name)] = self.columns(name)[:, 0]
        return rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> EpisodeEnded: ...
    @overload
    def __getitem__(self, at: slice) -> "Episodes": ...
    def __getitem__(self, at: int | slice) -> "EpisodeEnded | Episodes":
        rows = self._rows[at]
        if isinstance(at, slice):
            return Episodes(rows, self.info_columns)
        return _episode(rows.tolist(), self.info_columns)

    def __iter__(self) -> Iterator[EpisodeEnded]:
        return (_episode(row, self.info_columns) for row in self._rows.tolist())

    def as_plain(self, converter: "Converter") -> object:
        """Return the episodes as a list, for a line of JSON."""
        return converter.unstructure(tuple(self))

    @classmethod
    def from_plain(cls, value: Any, converter: "Converter") -> "Episodes":
        """Return the episodes of a line of JSON."""
        return cls.of(converter.structure(value, tuple[EpisodeEnded, ...]))


def _episode(row: Sequence[float], info_columns: Sequence[str]) -> EpisodeEnded:
    episode, env_steps, episode_return, shaped_return, length, terminated, wall_s, *info = row
    return EpisodeEnded(
        episode=int(episode),
        env_steps=int(env_steps),
        episode_return=episode_return,
        shaped_return=shaped_return,
        length=int(length),
        terminated=terminated == 1.0,
        wall_s=wall_s,
        info=dict(zip(info_columns, info, strict=True)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of the run; sent at most about ten times a second."""

    phase: Phase
    env_steps: int
    updates: int
    episodes: int
    steps_per_s: float
    wall_s: float
    """Wall time of the run over all processes that trained it, pauses included."""
    exploration_noise: float
    revision: int
    tunables: Tunables
    training: Doubles
    """Rows since the last report, shape (rows, len(TRAINING_COLUMNS)), read-only: means over the
    updates of an interval (see :mod:`td3core.protocol.metrics`)."""
    training_times: Doubles = field(default_factory=lambda: np.empty((0, 2)))
    """Steps of these rows, and seconds since the start at which they were reached, shape (rows, 2).
    """
    ended: Episodes = field(default_factory=Episodes.of)

    def after(self, earlier: "Progress") -> "Progress":
        """Return this report and the one before it, merged into one."""
        training = np.concatenate((earlier.training, self.training))
        training.flags.writeable = False
        return replace(
            self,
            training=training,
            training_times=np.concatenate((earlier.training_times, self.training_times)),
            ended=earlier.ended + self.ended,
        )


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
    measured: Mapping[str, float] = field(default_factory=dict)
    """Other measurements, by the names of :data:`~td3core.protocol.rows.EVALUATION_METRICS`."""

    @property
    def success(self) -> float | None:
        """Share of the episodes that reach the environment's threshold; None if it has none."""
        return success_of(self.returns, self.reward_threshold)

    @property
    def mean(self) -> float:
        """Mean return."""
        # Equals np.mean, but halves the time to read a report.
        return float(np.add.reduce(self.returns) / len(self.returns))

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
    """Bytes of the whole run on disk now."""


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
    time: str = ""
    """UTC, ISO 8601, of a change read from the journal; empty for one made just now."""
    scheduled: bool = False
    """True if they were scheduled (see ``schedule`` of :func:`~td3core.training.launch.train`),
    rather than just requested by a user."""
    refused: Text = NO_TEXT
    """Why the request was not done; nothing has changed then."""


class JournalEvent(StrEnum):
    """Kinds of journal entries besides changes of settings."""

    PAUSE = "pause"
    SAVE = "save"
    """The user asked for a checkpoint."""
    STOP = "stop"
    RESUME = "resume"
    BRANCH = "branch"
    IMPORT = "import"
    INEXACT = "inexact"
    """The run differs from one that was never interrupted; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """The journal has a new line that is not a change of a setting."""

    env_steps: int
    event: str
    """A :class:`JournalEvent`; a journal of a newer version may have others."""
    time: str
    """UTC, ISO 8601."""
    message: Text | None = None
    """Details, if any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkChange:
    """Change of a network by one update."""

    network: str
    """``actor``, ``critic1``, ``critic2``, or a target, such as ``actor_target``."""
    step: float
    """Norm of the change of its weights and biases; 0 if the update did not change it."""
    weight: float
    """Norm of its weights and biases before the update."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """One update and its intermediate values; reported only on request.

    States and actions are means over the batch for each dimension, observations as the networks
    see them. Tuples by critic have one entry if there is only one critic.
    """

    env_steps: int
    updates: int
    """Updates so far, including this one."""
    tunables: Tunables
    """The live settings of the update."""
    moved_actor: bool
    """Whether the update moved the actor and all targets."""
    single: bool
    """Whether the run pauses after it."""
    obs: Doubles
    action: Doubles
    reward: float
    terminated: float
    """Share of terminated transitions; with n-step returns, of their discount."""
    next_obs: Doubles
    target_policy: Doubles
    """π'(s')"""
    next_action: Doubles
    """ã, with noise."""
    noise: float
    """Mean |noise|, after clipping."""
    noise_clipped: float
    """Share of clipped noise."""
    target_q: tuple[float, ...]
    """Q'(s', ã) by critic."""
    target_min: float
    """Mean over the batch of min(Q1', Q2'); TQC: of the kept quantiles."""
    first_smaller: float
    """Share of transitions whose minimum is Q1' (1 with one critic); TQC: share of kept quantiles
    from critic 1."""
    y: float
    q: tuple[float, ...]
    """Q(s, a) by critic, before the step."""
    critic_loss: tuple[float, ...]
    policy: Doubles
    """π(s); empty if the update did not move the actor, whose loss is None then."""
    actor_loss: float | None
    changes: tuple[NetworkChange, ...]
    """Changes of all networks by the update."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """Something is wrong, but the run continues (a full disk, an odd environment)."""

    env_steps: int
    message: Text
    no_deviation: bool = False
    """True if an uninterrupted run would warn as well, so that this is no deviation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The run is over and saved; ``stopped`` is ``finished``, ``user`` or ``failed``."""

    run: Path
    stopped: str
    env_steps: int
    updates: int
    episodes: int
    wall_s: float
    """As in :class:`Progress`."""
    steps_per_s: float
    """Speed in this process, since the warm-up."""
    last_eval_return: float | None
    best_eval_return: float | None
    best_checkpoint: Path | None
    last_checkpoint: Path | None

    @property
    def state(self) -> RunStatus:
        """The state that this ending leaves the run in."""
        return RunStatus.after(self.stopped)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The run could not continue. ``message`` is a plain sentence."""

    message: Text
    details: str
    """Traceback of an unexpected error or an environment's exception; else empty."""
    ending: Ended | None = None
    """How far the run got; ``None`` if it never started."""
    saved_steps: int = 0
    """The step of ``last_checkpoint``; 0 without one."""
    request: bool = False
    """True if the request was wrong and nothing was started."""
    diverged: bool = False
    """True if a number became NaN or infinite: ``message`` names it; the weights were not saved."""
    cancelled: bool = False
    """True if a stop was requested before anything was started: no error."""
    locked: bool = False
    """True if another process holds the run, and nothing was started."""

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
        """The last saved agent, if there is one."""
        return self.ending.last_checkpoint if self.ending else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """The process of a followed run is gone, and the run has not ended.

    Only a follower in another process reports this. If the run is resumed, ``Started`` comes next.
    """

    run: Path
    env_steps: int


Event = (
    Preparing
    | Started
    | Progress
    | Evaluated
    | Saved
    | Tuned
    | Noted
    | Traced
    | Warned
    | Ended
    | Failed
    | Interrupted
)
