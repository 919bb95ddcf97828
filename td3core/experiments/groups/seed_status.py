"""Status of each run of a group."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from td3core.protocol.events import (
    Ended,
    Evaluated,
    Event,
    Failed,
    Phase,
    Preparing,
    Progress,
    Started,
)
from td3core.protocol.run_status import RunStatus
from td3core.runs.listing import RunSummary
from td3core.text import NO_TEXT, Text


class SeedState(StrEnum):
    """State of a run of a group."""

    WAITING = "waiting"
    HELD = "held back"
    """Waiting, and not started until it is unpaused."""
    STARTING = "starting"
    TRAINING = "training"
    PAUSED = "paused"
    SAVING = "saving"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"

    @property
    def is_over(self) -> bool:
        """True if nothing more happens to the run."""
        return self in _OVER

    @property
    def stopped(self) -> str | None:
        """Its value of ``stopped`` in ``ending.json``; None if it has none."""
        return RunStatus(self).stopped if self.is_over else None

    @property
    def is_resumable(self) -> bool:
        """True if the run is over but has steps left."""
        return self.is_over and self is not SeedState.FINISHED

    @property
    def is_running(self) -> bool:
        """True if the run has a process."""
        return not self.is_over and self not in (SeedState.WAITING, SeedState.HELD)


SEED_STATES = {
    SeedState.WAITING: Text("waiting"),
    SeedState.HELD: Text("held back"),
    SeedState.STARTING: Text("starting"),
    SeedState.TRAINING: Text("training"),
    SeedState.PAUSED: Text("paused"),
    SeedState.SAVING: Text("saving"),
    SeedState.FINISHED: Text("finished"),
    SeedState.STOPPED: Text("stopped"),
    SeedState.FAILED: Text("failed"),
    SeedState.INTERRUPTED: Text("interrupted"),
}
"""Names of the states."""
_OVER = (SeedState.FINISHED, SeedState.STOPPED, SeedState.FAILED, SeedState.INTERRUPTED)
_PREPARING = "preparing"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedStatus:
    """Status of one run: a line in the progress of a group."""

    seed: int
    state: SeedState = SeedState.WAITING
    phase: str = ""
    run: Path | None = None
    env_steps: int = 0
    steps: int = 0
    last: float | None = None
    """Mean return of the last evaluation."""
    best: float | None = None
    steps_per_s: float = 0.0
    message: Text = NO_TEXT
    """Why the run failed."""
    refused: bool = False
    """True if its settings were wrong, so that nothing was started."""
    ending: Ended | None = None

    @property
    def is_preparing(self) -> bool:
        """True while it prepares something that takes a while, such as the compiled update."""
        return self.state is SeedState.STARTING and self.phase == _PREPARING

    def after(self, event: Event) -> "SeedStatus":
        """Return the status after an event of its run."""
        match event:
            case Preparing():
                return replace(self, phase=_PREPARING)
            case Started():
                return replace(
                    self,
                    phase="",
                    state=self._unless_saving(SeedState.TRAINING),
                    run=event.run,
                    env_steps=event.env_steps,
                    steps=event.config.steps,
                )
            case Progress():
                paused = event.phase is Phase.PAUSED
                state = SeedState.PAUSED if paused else SeedState.TRAINING
                return replace(
                    self,
                    state=self._unless_saving(state),
                    phase=str(event.phase),
                    env_steps=event.env_steps,
                    steps_per_s=event.steps_per_s,
                )
            case Evaluated():
                best = event.mean if self.best is None else max(self.best, event.mean)
                return replace(self, last=event.mean, best=best)
            case Ended():
                return self._ended(event, SeedState(event.state))
            case Failed(cancelled=True):
                return replace(self, state=SeedState.STOPPED)
            case Failed(ending=None):
                killed = self.run is not None and not event.request
                state = SeedState.INTERRUPTED if killed else SeedState.FAILED
                return replace(self, state=state, message=event.message, refused=event.request)
            case Failed(ending=Ended() as ending):
                return replace(self._ended(ending, SeedState.FAILED), message=event.message)
        return self

    def _ended(self, event: Ended, state: SeedState) -> "SeedStatus":
        return replace(
            self,
            state=state,
            run=event.run,
            env_steps=event.env_steps,
            steps_per_s=event.steps_per_s,
            last=self.last if event.last_eval_return is None else event.last_eval_return,
            best=self.best if event.best_eval_return is None else event.best_eval_return,
            ending=event,
        )

    def _unless_saving(self, state: SeedState) -> SeedState:
        return SeedState.SAVING if self.state is SeedState.SAVING else state


def status_on_disk(seed: int, steps: int, found: RunSummary | None) -> SeedStatus:
    """Return the status of a run from its files; ``found`` is None if it was never started."""
    if found is None:
        return SeedStatus(seed=seed, steps=steps)
    return SeedStatus(
        seed=seed,
        state=SeedState.TRAINING if found.state is RunStatus.RUNNING else SeedState(found.state),
        run=found.run,
        env_steps=found.env_steps,
        steps=found.steps,
        last=found.last_eval_return,
        best=found.best_eval_return,
        message=found.message,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Mean and sample standard deviation over seeds."""

    mean: float
    std: float | None
    """None for a single seed."""
    count: int


def spread(values: Sequence[float | None]) -> Spread | None:
    """Return mean and sample standard deviation of the known values; None without any."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    std = float(np.std(known, ddof=1)) if len(known) > 1 else None
    return Spread(mean=float(np.mean(known)), std=std, count=len(known))
