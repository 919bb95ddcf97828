"""Owns the trial of a change: two groups of branches, one after the other, and their verdict."""

from collections.abc import Callable
from enum import Enum
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from studio.experiments.group_session import GroupSession
from studio.tasks.background_task import BackgroundTask
from td3core.analysis.paired import PairedDifference
from td3core.experiments.groups.group import Group
from td3core.experiments.groups.messages import NewGroup
from td3core.experiments.groups.seed_status import SeedState
from td3core.experiments.trials import Trial, judge
from td3core.protocol.steering import Verb
from td3core.system.capacity import usable_cores
from td3core.text import Text


class TrialStage(Enum):
    """How far a trial is."""

    NONE = 0
    WAITING = 1
    """For a free core."""
    WITH_CHANGE = 2
    WITHOUT = 3
    JUDGING = 4
    DONE = 5


class TrialSession(QObject):
    """One trial at a time; it waits for a free core and trains beside what else does."""

    changed = Signal()
    """What :attr:`stage` or :attr:`share` says has changed."""
    judged = Signal()
    """The :attr:`verdict` is there."""
    refused = Signal(object)
    busy_changed = Signal(bool)

    def __init__(
        self, runs_dir: Path, cores_in_use: Callable[[], int], parent: QObject | None = None
    ) -> None:
        """``cores_in_use``: how many cores this window's other runs take."""
        super().__init__(parent)
        self._runs_dir, self._cores_in_use = runs_dir, cores_in_use
        self.groups = GroupSession(_allow, self)
        self.groups.ended.connect(self._on_ended)
        self.groups.status_changed.connect(self.changed)
        self.groups.refused.connect(self.refused)
        self._reader = BackgroundTask("judge-trial", self)
        self._reader.failed.connect(self._on_unread)
        self.series = ""
        self.runs: list[dict[int, Path]] = []
        """Of each arm that is over, by seed: with the change first."""
        self._stopping = False
        self.stage = TrialStage.NONE
        self.trial: Trial | None = None
        self.verdict: PairedDifference | None = None

    @property
    def busy(self) -> bool:
        """True from the request until the verdict, or until it was stopped."""
        return self.stage not in (TrialStage.NONE, TrialStage.DONE)

    @property
    def trains(self) -> bool:
        """True while it has a process."""
        return self.groups.busy

    @property
    def share(self) -> float:
        """How much of all its steps is done, from 0 to 1."""
        if self.trial is None or not self.busy:
            return 0.0
        start = self.trial.with_change.config.steps - self.trial.steps
        record = self.groups.current
        statuses = record.statuses.values() if record is not None and self.groups.busy else ()
        done = sum(max(min(s.env_steps - start, self.trial.steps), 0) for s in statuses)
        done += len(self.runs) * len(self.trial.seeds) * self.trial.steps
        return min(done / self.trial.total_steps, 1.0)

    @property
    def free_cores(self) -> int:
        """Cores that nothing of this window takes."""
        return usable_cores() - self._cores_in_use()

    def start(self, trial: Trial, series: str) -> None:
        """Try a change as soon as a core is free; ``series`` is what the comparison is called."""
        if self.busy:
            self.refused.emit(Text("Another change is being tried. Wait for its end, or stop it."))
            return
        self.trial, self.series, self.verdict = trial, series, None
        self.runs, self._stopping = [], False
        self._enter(TrialStage.WAITING)
        self.busy_changed.emit(True)
        self.begin_if_free()

    @Slot()
    def begin_if_free(self) -> None:
        """Begin what waits, if there is a core for it by now."""
        if self.stage is TrialStage.WAITING and self.free_cores > 0:
            self._train()

    @Slot()
    def stop(self) -> None:
        """End the trial without a verdict; its runs are saved."""
        if not self.busy:
            return
        self._stopping = True
        if self.groups.busy:
            self.groups.command(Verb.STOP)
        else:
            self._reader.cancel()
            self._end(TrialStage.NONE)

    def shutdown(self) -> None:
        """Stop reading."""
        self._reader.cancel()

    def _train(self) -> None:
        trial = self.trial
        assert trial is not None
        first = not self.runs
        arm = trial.with_change if first else trial.without
        self._enter(TrialStage.WITH_CHANGE if first else TrialStage.WITHOUT)
        self.groups.start(
            NewGroup(
                runs_dir=self._runs_dir,
                seeds=trial.seeds,
                config=arm.config,
                tunables=arm.tunables,
                jobs=max(min(self.free_cores, len(trial.seeds)), 1),
                checkpoint=trial.checkpoint,
            ),
            self.series,
        )
        if not self.groups.busy:
            self._end(TrialStage.NONE)

    @Slot()
    def _on_ended(self) -> None:
        record, trial = self.groups.current, self.trial
        if trial is None or self._stopping or record is None:
            self._end(TrialStage.NONE)
            return
        statuses = record.statuses
        for seed, status in statuses.items():
            if status.state is not SeedState.FINISHED:
                reason = status.message or Text("it did not finish")
                self.refused.emit(
                    Text(
                        "The change could not be tried to the end. Seed {seed}: {reason}",
                        seed=seed,
                        reason=reason,
                    )
                )
                self._end(TrialStage.NONE)
                return
        self.runs.append({seed: s.run for seed, s in statuses.items() if s.run is not None})
        if len(self.runs) < 2:
            self._train()
            return
        self._enter(TrialStage.JUDGING)
        runs = self.runs
        self._reader.read(lambda _: judge(*runs), self._on_judged)

    def _on_judged(self, verdict: PairedDifference) -> None:
        self.verdict = verdict
        self._end(TrialStage.DONE)
        self.judged.emit()

    def _on_unread(self, problem: object) -> None:
        self.refused.emit(problem)
        self._end(TrialStage.NONE)

    def _end(self, stage: TrialStage) -> None:
        self._enter(stage)
        self.busy_changed.emit(False)

    def _enter(self, stage: TrialStage) -> None:
        self.stage = stage
        self.changed.emit()


def _allow(_: Group, then: Callable[[], None]) -> None:
    """Let a group of branches train: the code of their run has been allowed before."""
    then()
