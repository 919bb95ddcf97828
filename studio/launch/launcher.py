"""The ways to start a run other than Train: resume one, branch from an agent, repeat changes."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QDialog, QWidget

from studio.consent.code_consent import CodeConsent, nothing_started
from studio.launch.beside import RunsBeside
from studio.launch.dialogs import (
    ChangesDialog,
    MoreStepsDialog,
    OtherClassDialog,
    RepeatDialog,
    with_visible_changes,
)
from studio.session.controller import RunController
from studio.session.curves import RunCurves
from studio.session.history import RunHistory, read_history, read_parent_curves
from studio.session.model import RunModel
from studio.tasks.background_task import BackgroundTask, Stopped
from td3core.checkpoint import Header
from td3core.config import RunConfig, Tunables, schedule_of
from td3core.config.settings import RATES
from td3core.envs.trust import can_hang
from td3core.experiments.jobs import Branch, NewRun, ResumedRun
from td3core.protocol.run_status import RunStatus
from td3core.runs.branching import branch_settings, changes_from
from td3core.runs.directory import RunDirectory, header_of, note_module_folder
from td3core.runs.journal import Change, changes_to_repeat
from td3core.runs.listing import RunSummary, summarise
from td3core.runs.naming import full_name_of
from td3core.runs.resumption import class_of_run
from td3core.system.allowed_code import LocatedModule
from td3core.system.numerics import is_here
from td3core.text import Text

T = TypeVar("T")

_ACCEPTED = Text("The run that you have just accepted is about to start.")


class RunLauncher(QObject):
    """Reads the files in the background, asks the user, and hands over to the controller.

    A run's history is read before the run writes to its files.
    """

    beginning = Signal()
    """A run is about to begin."""
    resuming = Signal(object)
    """The run to be resumed, from its files (:class:`~studio.session.history.RunHistory`)."""
    verifying = Signal(Path, str)
    """A run that may be verified: its code is allowed, or it names none."""
    continuing_with = Signal(object)
    """The live settings to request from the run that was just resumed (:class:`Tunables`)."""
    queue_wanted = Signal(object, object, object)
    """A branch for the queue: its checkpoint, :class:`RunConfig` and :class:`Tunables`."""
    refused = Signal(object)
    branch_refused = Signal(object)
    """Why a branch from the queue cannot start; empty if something else was started meanwhile."""

    def __init__(
        self,
        controller: RunController,
        model: RunModel,
        consent: CodeConsent,
        runs_dir: Path,
        window: QWidget,
        *,
        obstacle: Callable[[], Text | None],
        edited: Callable[[Path], Tunables | None],
    ) -> None:
        """Start runs in ``runs_dir``.

        Args:
            controller: trains the runs.
            model: shows the runs.
            consent: obtains consent to their code.
            runs_dir: the folder of new runs.
            window: the parent of dialogs.
            obstacle: returns why no run can be started now; None if one can.
            edited: returns the user's live settings for a run, if any.
        """
        super().__init__(window)
        self._controller, self._model, self._consent = controller, model, consent
        self._runs_dir, self._window = runs_dir, window
        self.obstacle, self._edited = obstacle, edited
        self.beside = RunsBeside(self)
        self.beside.refused.connect(self.refused)
        self._reader = BackgroundTask("read-run", self)
        self._reader.failed.connect(self.refused)
        # Separate, so that nothing replaces it: the user has accepted what is to start.
        self._accepted = BackgroundTask("read-accepted", self)
        self._accepted.failed.connect(self.refused)
        # The same: the branch is no longer in the queue.
        self._waited = BackgroundTask("read-branch", self)
        self._waited.failed.connect(self.branch_refused)
        self._verified = BackgroundTask("read-settings", self)
        self._verified.failed.connect(self.refused)

    def stop(self) -> None:
        """Stop reading; runs in separate processes continue."""
        self.beside.leave()
        self._reader.cancel()
        self._accepted.cancel()
        self._waited.cancel()
        self._verified.cancel()

    def _read(
        self,
        function: Callable[[Stopped], T],
        then: Callable[[T], None],
        *,
        accepted: bool = False,
    ) -> None:
        """Read in the background, then pass on the result; neither while a run is training.

        What the user has ``accepted`` is read in its own task: nothing else may start meanwhile.
        """
        task = self._accepted if accepted else self._reader

        def pass_on(found: T) -> None:
            task.cancel()
            if self._may_start():
                then(found)

        if self._may_start():
            task.read(function, pass_on)

    def _may_start(self) -> bool:
        problem = self.obstacle() or (_ACCEPTED if self._accepted.busy else None)
        if problem is not None:
            self.refused.emit(problem)
        return problem is None

    def _obtain(self, config: RunConfig, then: Callable[[], None]) -> None:
        """Continue once the code of an environment is allowed, unless a run is training then."""

        def pass_on() -> None:
            if self._may_start():
                then()

        self._consent.obtain(config.choice, pass_on, self._on_declined)

    def _on_declined(self, module: LocatedModule) -> None:
        self.refused.emit(nothing_started(module))

    # Resuming -----------------------------------------------------------------------------------

    @Slot(Path)
    def resume(self, path: Path) -> None:
        """Resume a run; a finished one needs more steps, which the user is asked for."""

        def read(_: object) -> tuple[RunConfig, RunSummary, str]:
            run = RunDirectory.open(path)
            run.require_agent()
            note_module_folder(path)
            return run.config, summarise(run), class_of_run(run)

        def ask(found: tuple[RunConfig, RunSummary, str]) -> None:
            config, summary, name = found
            if is_here(name) or self._accepts_other_class(summary, name):
                job = ResumedRun(run=summary.run, numerics=name, may_hang=can_hang(config.choice))
                self._obtain(config, partial(self._ask_for_steps, summary, job))

        self._read(read, ask)

    def _accepts_other_class(self, found: RunSummary, numerics: str) -> bool:
        dialog = OtherClassDialog(found, numerics, self._window)
        return dialog.exec() == QDialog.DialogCode.Accepted

    def _ask_for_steps(self, found: RunSummary, job: ResumedRun) -> None:
        if found.state is RunStatus.FINISHED or found.env_steps > found.steps:
            dialog = MoreStepsDialog(found, self._window)
            if dialog.exec() != QDialog.DialogCode.Accepted:
                return
            job = replace(job, steps=dialog.steps)
        then = partial(self._ask_for_changes, job, self._edited(found.run.absolute()))
        rules = self._model.record.rules
        self._read(partial(read_history, found.run, rules=rules), then, accepted=True)

    def _ask_for_changes(
        self, job: ResumedRun, wanted: Tunables | None, history: RunHistory
    ) -> None:
        """Offer the live settings changed since the run ended; then resume it."""
        changed, progress = None, history.record.progress
        if wanted is not None and progress is not None:
            changed = with_visible_changes(progress.tunables, wanted)
        if changed is not None and progress is not None:
            dialog = ChangesDialog(history.record.title, progress, changed, self._window)
            if dialog.exec() != QDialog.DialogCode.Accepted:
                return
            changed = changed if dialog.make_changes else None
        # The queue may have started a run during the question.
        if not self._may_start():
            return
        self.beginning.emit()
        self.resuming.emit(history)
        self._controller.begin(job)
        if changed is not None and self._controller.busy:
            # Before the run has begun, to take effect before the first step.
            self.continuing_with.emit(changed)

    # Branching ----------------------------------------------------------------------------------

    @Slot(Path)
    def branch(self, checkpoint: Path) -> None:
        """Ask for the settings of a branch from an agent, and start or queue it."""

        def ask(header: Header) -> None:
            then = partial(self._ask_for_settings, checkpoint, header)
            self._consent.obtain(header.config.choice, then, self._on_declined)

        self._reader.read(lambda _: header_of(checkpoint), ask)

    def _ask_for_settings(self, checkpoint: Path, header: Header) -> None:
        # Not at the top: its imports would delay the window's start.
        from studio.launch.branch_dialog import BranchDialog, When

        occupied = self.obstacle() is not None
        dialog = BranchDialog(checkpoint, header, self._window, occupied=occupied)
        if dialog.exec() != QDialog.DialogCode.Accepted:
            return
        values = dialog.values()
        job = self._branch_job(checkpoint, header, values)
        if dialog.when is When.QUEUED:
            config, tunables = branch_settings(checkpoint, header, values)
            self.queue_wanted.emit(checkpoint, config, tunables)
        elif dialog.when is When.BESIDE:
            self.beside.start(job)
        else:
            self._branch(job)

    @Slot(Path)
    def branch_with_half_rates(self, checkpoint: Path) -> None:
        """Start a branch from an agent with half its learning rates."""

        def start(header: Header) -> None:
            halves = {name: _half(header.tunables, name) for name in RATES}
            job = self._branch_job(checkpoint, header, halves)
            self._obtain(header.config, partial(self._branch, job))

        self._read(lambda _: header_of(checkpoint), start)

    def branch_as(self, checkpoint: Path, config: RunConfig, tunables: Tunables) -> None:
        """Start a queued branch with these settings, or emit ``branch_refused``."""

        def read(stopped: Stopped) -> tuple[Header, RunCurves]:
            return header_of(checkpoint), read_parent_curves(checkpoint, stopped)

        def start(found: tuple[Header, RunCurves]) -> None:
            if self.obstacle():
                self.branch_refused.emit("")
                return
            header, curves = found
            self._model.expect_branch(curves)
            values = changes_from(header, config, tunables)
            self._controller.begin(self._branch_job(checkpoint, header, values))

        self._waited.read(read, start)

    def _branch_job(self, checkpoint: Path, header: Header, values: Mapping[str, Any]) -> Branch:
        return Branch(
            checkpoint=checkpoint,
            values=values,
            runs_dir=self._runs_dir,
            numerics=str(values.get("numerics", header.config.numerics)),
            may_hang=can_hang(header.config.choice),
        )

    def _branch(self, job: Branch) -> None:
        def start(parent_curves: RunCurves) -> None:
            self.beginning.emit()
            self._model.expect_branch(parent_curves)
            self._controller.begin(job)

        self._read(partial(read_parent_curves, job.checkpoint), start, accepted=True)

    # Repeating ----------------------------------------------------------------------------------

    @Slot(Path)
    def repeat_changes(self, path: Path) -> None:
        """Start a new run with the settings of another, and its live changes at their steps."""

        def read(_: object) -> tuple[RunDirectory, list[Change], str]:
            run = RunDirectory.open(path)
            note_module_folder(path)
            return run, changes_to_repeat(run.journal_file), full_name_of(path)

        def ask(found: tuple[RunDirectory, list[Change], str]) -> None:
            run, changes, title = found
            if changes:
                self._obtain(run.config, partial(self._ask_for_seed, run, changes, title))
            else:
                self.refused.emit(Text("No live setting was changed in {run}.", run=title))

        self._read(read, ask)

    def _ask_for_seed(self, run: RunDirectory, changes: list[Change], title: str) -> None:
        dialog = RepeatDialog(run, changes, title, self._window)
        if dialog.exec() == QDialog.DialogCode.Accepted and self._may_start():
            self.beginning.emit()
            config = replace(run.config, seed=dialog.seed)
            self._controller.begin(
                NewRun(
                    config=config,
                    tunables=run.first_tunables,
                    runs_dir=self._runs_dir,
                    schedule=tuple(changes),
                )
            )

    # Verifying ----------------------------------------------------------------------------------

    @Slot(Path)
    def verify(self, path: Path) -> None:
        """Announce that a run can be verified, once its code is allowed; others may be training."""

        def read(_: object) -> tuple[RunConfig, str]:
            note_module_folder(path)
            return RunDirectory.open(path).config, full_name_of(path)

        def ask(found: tuple[RunConfig, str]) -> None:
            config, title = found
            verify = partial(self.verifying.emit, path, title)
            self._consent.obtain(config.choice, verify, self._on_declined)

        self._verified.read(read, ask)


def _half(tunables: Tunables, name: str) -> float | str:
    """Return half of a setting, or its schedule with all values halved."""
    schedule = schedule_of(tunables, name)
    value: float = getattr(tunables, name)
    return value / 2 if schedule is None else schedule.scaled(0.5)
