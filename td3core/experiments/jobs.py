"""Jobs for a training process or thread, as values that can be sent to it."""

import importlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from td3core.config import RunConfig, Tunables
from td3core.envs.trust import can_hang
from td3core.protocol.codec import KINDS
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Event, Failed
from td3core.runs import lock
from td3core.runs.journal import Change
from td3core.runs.reader import ending_of
from td3core.system.json_lines import Codec
from td3core.system.numerics import AUTO


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A run from its first step; ``schedule`` holds live changes with their steps."""

    config: RunConfig
    tunables: Tunables
    runs_dir: Path
    schedule: tuple[Change, ...] = ()
    group: str = ""

    @property
    def numerics(self) -> str:
        """The numerics class it needs."""
        return self.config.numerics

    @property
    def may_hang(self) -> bool:
        """Whether its environment may hang, so that only killing the process stops it."""
        return can_hang(self.config.choice)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedRun:
    """A run to resume; ``steps`` is its new length, if given."""

    run: Path
    steps: int | None = None
    numerics: str = AUTO
    """The class it needs; ``auto`` for that of this process."""
    may_hang: bool = False
    """Whether its environment may hang, so that only killing the process stops it."""
    patience_s: float = 0.0
    """Seconds that another process may take to save the run and release it. If the run has finished
    by then, or taken more than ``steps``, its ending is reported."""
    exact: bool = False
    """Refuse to resume it if it would not continue bit for bit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A new run from a checkpoint, with some settings changed."""

    checkpoint: Path
    values: Mapping[str, Any]
    runs_dir: Path
    numerics: str = AUTO
    """The class it needs; ``auto`` for that of this process."""
    may_hang: bool = False
    """Whether its environment may hang, so that only killing the process stops it."""
    group: str = ""


Job = NewRun | ResumedRun | Branch


@dataclass(frozen=True, slots=True, kw_only=True)
class Preload:
    """Load everything training needs, and wait for a job of this numerics class."""

    numerics: str = AUTO


_LOOK_S = 0.1

CODEC = Codec(*KINDS, *get_args(Job), Preload)
"""Messages between a process that trains a run and the one that started it."""


def load_training() -> None:
    """Load what :func:`perform` needs, which takes a second or two."""
    importlib.import_module("td3core.training.launch")


def perform(job: Job, control: Control, report: Callable[[Event], None]) -> Ended | Failed:
    """Train until the run ends. Loads torch."""
    # Here, not at the top: code that only describes jobs must not wait for torch.
    from td3core.training import launch

    match job:
        case NewRun():
            return launch.train(
                job.config,
                job.tunables,
                control,
                report,
                job.runs_dir,
                job.schedule,
                group=job.group,
            )
        case ResumedRun():
            if (finished := _finished_meanwhile(job, control)) is not None:
                report(finished)
                return finished
            return launch.resume(job.run, control, report, steps=job.steps, exact=job.exact)
        case Branch():
            return launch.branch(
                job.checkpoint, job.values, control, report, job.runs_dir, group=job.group
            )


def _finished_meanwhile(job: ResumedRun, control: Control) -> Ended | None:
    """Wait until no other process holds the run; return its ending if no step is left."""
    end = time.monotonic() + job.patience_s
    while lock.holder(job.run) is not None and time.monotonic() < end and not control.stopping:
        time.sleep(_LOOK_S)
    ending = ending_of(job.run) if job.patience_s else None
    if ending is None:
        return None
    steps = ending.env_steps if job.steps is None else job.steps
    finished = ending.stopped == "finished" and ending.env_steps >= steps
    # Its user has given it more steps meanwhile, and stopped it again.
    return replace(ending, stopped="finished") if finished or ending.env_steps > steps else None
