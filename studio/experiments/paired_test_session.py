"""Owns the paired test of a change: two groups of branches in sequence, and their verdict."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from studio.experiments.group_session import GroupSession
from studio.experiments.paired_test_file import KeptTest, PairedTestFile, Standing, standing
from studio.tasks.background_queue import BackgroundQueue
from studio.tasks.background_task import BackgroundTask
from td3core.analysis.paired import PairedDifference
from td3core.checkpoint import read_header
from td3core.experiments.groups.group import FOLDER, Group, NewGroup
from td3core.experiments.groups.messages import GroupStarted, ResumedGroup
from td3core.experiments.groups.seed_status import SeedState
from td3core.experiments.paired_tests import judge
from td3core.protocol.steering import Verb
from td3core.system.capacity import usable_cores
from td3core.text import Text


class PairedTestStage(Enum):
    """Stage of a paired test."""

    NONE = 0
    WAITING = 1
    """Waiting for a free core."""
    WITH_CHANGE = 2
    WITHOUT = 3
    JUDGING = 4
    DONE = 5
    ENDED = 6
    """Ended without a verdict; can be continued."""


_ARMS = 2
_BUSY = (
    PairedTestStage.WAITING,
    PairedTestStage.WITH_CHANGE,
    PairedTestStage.WITHOUT,
    PairedTestStage.JUDGING,
)


class PairedTestSession(QObject):
    """One paired test at a time; it waits for a free core and trains next to other runs.

    It is kept in the folder of runs until it is closed, so that the next window can continue it.
    """

    changed = Signal()
    """:attr:`stage` or :attr:`share` has changed."""
    judged = Signal()
    """The :attr:`verdict` is known."""
    found = Signal()
    """A paired test of an earlier window was found, with or without verdict."""
    refused = Signal(object)
    busy_changed = Signal(bool)

    def __init__(
        self, runs_dir: Path, cores_in_use: Callable[[], int], parent: QObject | None = None
    ) -> None:
        """``cores_in_use``: returns the number of cores used by this window's other runs."""
        super().__init__(parent)
        self._runs_dir, self._cores_in_use = runs_dir, cores_in_use
        self.groups = GroupSession(_allow, self)
        self.groups.group_started.connect(self._on_group)
        self.groups.ended.connect(self._on_ended)
        self.groups.status_changed.connect(self.changed)
        self.groups.refused.connect(self.refused)
        self._reader = BackgroundTask("read-paired-test", self)
        self._reader.failed.connect(self._on_unread)
        self._file = PairedTestFile(runs_dir)
        self._disk = BackgroundQueue("keep-paired-test", self)
        self._disk.failed.connect(self.refused)
        self.kept: KeptTest | None = None
        """The current or last paired test; None if there was none, or once it is closed."""
        self.runs: list[dict[int, Path]] = []
        """Runs of each finished arm, by seed: with the change first."""
        self.finished = 0
        """Number of finished runs when it ended without a verdict."""
        self._stopping = False
        self.stage = PairedTestStage.NONE
        self.verdict: PairedDifference | None = None

    @property
    def busy(self) -> bool:
        """True from the request until the verdict, or until it was stopped."""
        return self.stage in _BUSY

    @property
    def trains(self) -> bool:
        """True while a process is training."""
        return self.groups.busy

    @property
    def share(self) -> float:
        """Completed share of all its steps, from 0 to 1."""
        if self.kept is None or not self.busy:
            return 0.0
        test = self.kept.test
        record = self.groups.current
        statuses = record.statuses.values() if record is not None and self.groups.busy else ()
        done = sum(max(min(s.env_steps - test.begins_at, test.steps), 0) for s in statuses)
        done += len(self.runs) * len(test.seeds) * test.steps
        return min(done / test.total_steps, 1.0)

    @property
    def free_cores(self) -> int:
        """Number of cores that nothing in this window uses."""
        return usable_cores() - self._cores_in_use()

    def start(self, kept: KeptTest) -> None:
        """Try a change as soon as a core is free."""
        if self.busy:
            self.refused.emit(Text("Another change is being tried. Wait for its end, or stop it."))
            return
        self._take(kept)
        self._wait()

    def find(self) -> None:
        """Look for a paired test left by an earlier window."""
        self._disk.add(self._find, self._on_found)

    def proceed(self) -> None:
        """Continue a paired test that ended without a verdict."""
        if self.stage is PairedTestStage.ENDED and self.kept is not None:
            kept = self.kept
            self._reader.read(lambda _: standing(self._runs_dir, kept), self._on_standing)

    def close(self) -> None:
        """Close a finished paired test; its runs stay."""
        if not self.busy and self.kept is not None:
            self.kept, self.verdict = None, None
            self._disk.add(self._file.discard)
            self._enter(PairedTestStage.NONE)

    @Slot()
    def begin_if_free(self) -> None:
        """Start a waiting paired test if there is a free core."""
        if self.stage is PairedTestStage.WAITING and self.free_cores > 0:
            self._train()

    @Slot()
    def stop(self) -> None:
        """End the paired test without a verdict; its runs are saved."""
        if not self.busy:
            return
        self._stopping = True
        if self.groups.busy:
            self.groups.command(Verb.STOP)
        else:
            self._reader.cancel()
            self._end_early()

    def shutdown(self) -> None:
        """Stop reading, and leave the paired test to the next window."""
        self._reader.cancel()
        self._disk.add(self._file.leave)
        self._disk.finish()

    def _take(self, kept: KeptTest, runs: Sequence[dict[int, Path]] = ()) -> None:
        self.kept, self.runs, self.verdict = kept, list(runs), None
        self._stopping = False
        self._disk.add(partial(self._file.write, kept))

    def _wait(self) -> None:
        self._enter(PairedTestStage.WAITING)
        self.busy_changed.emit(True)
        self.begin_if_free()

    # Paired tests of earlier windows --------------------------------------------------------------

    def _find(self) -> Standing | None:
        kept = self._file.find()
        return None if kept is None else standing(self._runs_dir, kept)

    def _on_found(self, found: Standing | None) -> None:
        if found is None or self.kept is not None:
            return
        self.kept, self.runs, self.finished = found.kept, list(found.runs), found.finished
        if len(self.runs) == _ARMS:
            runs = self.runs
            self._reader.read(lambda _: judge(*runs), self._on_found_judged)
        else:
            self._enter(PairedTestStage.ENDED)
            self.found.emit()

    def _on_found_judged(self, verdict: PairedDifference) -> None:
        self.verdict = verdict
        self._enter(PairedTestStage.DONE)
        self.found.emit()

    def _on_standing(self, found: Standing) -> None:
        if self.stage is PairedTestStage.ENDED:
            self._take(found.kept, found.runs)
            self._wait()

    # Training -----------------------------------------------------------------------------------

    def _train(self) -> None:
        """Train the next arm, or compare both."""
        assert self.kept is not None
        if len(self.runs) == _ARMS:
            self._enter(PairedTestStage.JUDGING)
            runs = self.runs
            self._reader.read(lambda _: judge(*runs), self._on_judged)
            return
        self._enter(PairedTestStage.WITHOUT if self.runs else PairedTestStage.WITH_CHANGE)
        checkpoint = self.kept.test.checkpoint
        # The run may have continued since, and replaced its last checkpoint.
        self._reader.read(lambda _: read_header(checkpoint).counters.env_steps, self._train_from)

    def _train_from(self, env_steps: int) -> None:
        kept, place = self.kept, len(self.runs)
        assert kept is not None
        test = kept.test
        if env_steps != test.begins_at:
            self._on_unread(
                Text(
                    "{checkpoint} is now at step {now}, not {then}: both arms of a paired test must"
                    " branch from the same agent. Try the change again.",
                    checkpoint=test.checkpoint.name,
                    now=f"{env_steps:,}",
                    then=f"{test.begins_at:,}",
                )
            )
            return
        arm = test.without if place else test.with_change
        job: NewGroup | ResumedGroup = NewGroup(
            runs_dir=self._runs_dir,
            seeds=test.seeds,
            config=arm.config,
            tunables=arm.tunables,
            jobs=max(min(self.free_cores, len(test.seeds)), 1),
            checkpoint=test.checkpoint,
        )
        if place < len(kept.groups):
            job = ResumedGroup(path=self._runs_dir / FOLDER / kept.groups[place])
        self.groups.start(job, kept.series)
        if not self.groups.busy:
            self._end_early()

    @Slot(object)
    def _on_group(self, event: GroupStarted) -> None:
        kept = self.kept
        if kept is not None and len(kept.groups) == len(self.runs):
            self.kept = replace(kept, groups=(*kept.groups, event.group.name))
            self._disk.add(partial(self._file.write, self.kept))

    @Slot()
    def _on_ended(self) -> None:
        record = self.groups.current
        statuses = {} if record is None else record.statuses
        over = sum(each.state is SeedState.FINISHED for each in statuses.values())
        if self._stopping or record is None:
            self._end_early(over)
            return
        for seed, status in statuses.items():
            if status.state is not SeedState.FINISHED:
                reason = status.message or Text("it did not finish")
                self.refused.emit(
                    Text(
                        "The paired test did not finish. Seed {seed}: {reason}",
                        seed=seed,
                        reason=reason,
                    )
                )
                self._end_early(over)
                return
        self.runs.append({seed: s.run for seed, s in statuses.items() if s.run is not None})
        self._train()

    def _on_judged(self, verdict: PairedDifference) -> None:
        self.verdict = verdict
        self._end(PairedTestStage.DONE)
        self.judged.emit()

    def _on_unread(self, problem: object) -> None:
        self.refused.emit(problem)
        if self.kept is not None:
            self._end_early()

    def _end_early(self, over: int = 0) -> None:
        """End without a verdict; ``over``: finished runs of the arm that was training."""
        seeds = self.kept.test.seeds if self.kept is not None else ()
        self.finished = len(self.runs) * len(seeds) + over
        self._end(PairedTestStage.ENDED)

    def _end(self, stage: PairedTestStage) -> None:
        self._enter(stage)
        self.busy_changed.emit(False)

    def _enter(self, stage: PairedTestStage) -> None:
        self.stage = stage
        self.changed.emit()


def _allow(_: Group, then: Callable[[], None]) -> None:
    """Allow a group of branches to train: the code of their run has been allowed before."""
    then()
