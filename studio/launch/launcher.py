"""The ways to begin that are not Train: resume a run, branch from an agent, repeat its changes."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QDialog, QWidget

from studio.launch.dialogs import MoreStepsDialog, RepeatDialog
from studio.session.controller import RunController
from studio.session.history import (
    SMOOTHED_EPISODES,
    RunCurves,
    RunHistory,
    read_history,
    read_parent_curves,
)
from studio.session.model import RunModel
from studio.tasks.background_task import BackgroundTask
from td3core.checkpoint import Header, read_header
from td3core.errors import RequestError
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import changes_of
from td3core.runs.listing import summarise
from td3core.runs.metadata import RunStatus

_RATES = ("actor_lr", "critic_lr")


class RunLauncher(QObject):
    """Asks what has to be asked, reads what came before, and hands the rest to the controller.

    What came before is read beside the window, and before the run touches its files.
    """

    beginning = Signal()
    """A run is about to begin."""
    resuming = Signal(object)
    """The run that goes on, as its files tell it (:class:`~studio.session.history.RunHistory`)."""
    refused = Signal(str)

    def __init__(
        self, controller: RunController, model: RunModel, runs_dir: Path, window: QWidget
    ) -> None:
        super().__init__(window)
        self._controller, self._model = controller, model
        self._runs_dir, self._window = runs_dir, window
        self._then: Callable[[Any], None] = lambda _: None
        self._reader = BackgroundTask("read-run", self)
        self._reader.said.connect(self._on_read)
        self._reader.failed.connect(self.refused)

    def stop(self) -> None:
        """Give up what is being read."""
        self._reader.stop()

    # Resuming -----------------------------------------------------------------------------------

    @Slot(Path)
    def resume(self, path: Path) -> None:
        """Go on with a run; one that has come to its end is asked for more steps."""
        if self._controller.busy:
            return
        try:
            found = summarise(RunDirectory.open(path))
        except RequestError as problem:
            self.refused.emit(str(problem))
            return
        steps = None
        if found.state is RunStatus.FINISHED or found.env_steps > found.steps:
            dialog = MoreStepsDialog(found, self._window)
            if dialog.exec() != QDialog.DialogCode.Accepted:
                return
            steps = dialog.steps

        def go_on(recorded: RunHistory) -> None:
            self.resuming.emit(recorded)
            self._controller.resume(path, steps)

        self._read(lambda stopped: read_history(path, SMOOTHED_EPISODES, stopped), go_on)

    # Branching ----------------------------------------------------------------------------------

    @Slot(Path)
    def branch(self, checkpoint: Path) -> None:
        """Ask with which settings to go on from an agent, and begin a new run there."""
        header = self._header(checkpoint)
        if header is None:
            return
        # Not at the top: with all that a branch needs, it would make the window wait.
        from studio.launch.branch_dialog import BranchDialog

        dialog = BranchDialog(checkpoint, header, self._window)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            self._branch(checkpoint, dialog.values())

    @Slot(Path)
    def branch_with_half_rates(self, checkpoint: Path) -> None:
        """Go on from an agent with half its learning rates, in a new run."""
        header = self._header(checkpoint)
        if header is not None:
            halves = {name: getattr(header.tunables, name) / 2 for name in _RATES}
            self._branch(checkpoint, halves)

    def _header(self, checkpoint: Path) -> Header | None:
        """Return what a checkpoint says of itself, if a run can begin now and it can be read."""
        if self._controller.busy:
            return None
        try:
            return read_header(checkpoint)
        except RequestError as problem:
            self.refused.emit(str(problem))
            return None

    def _branch(self, checkpoint: Path, values: Mapping[str, Any]) -> None:
        def begin(past: RunCurves) -> None:
            self._model.expect_branch(past)
            self._controller.branch(checkpoint, values, self._runs_dir)

        self._read(
            lambda stopped: read_parent_curves(checkpoint, SMOOTHED_EPISODES, stopped), begin
        )

    # Repeating ----------------------------------------------------------------------------------

    @Slot(Path)
    def repeat_changes(self, path: Path) -> None:
        """Begin a new run with the settings of another, and its live changes at their steps."""
        if self._controller.busy:
            return
        try:
            run = RunDirectory.open(path)
        except RequestError as problem:
            self.refused.emit(str(problem))
            return
        changes = changes_of(run.journal())
        if not changes:
            self.refused.emit(f"No live setting was changed in {path.name}.")
            return
        dialog = RepeatDialog(run, changes, self._window)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            self.beginning.emit()
            config = replace(run.config, seed=dialog.seed)
            self._controller.start(config, run.first_tunables, self._runs_dir, changes)

    # Reading ------------------------------------------------------------------------------------

    def _read(self, read: Callable[[Callable[[], bool]], Any], then: Callable[[Any], None]) -> None:
        """Read beside the window, then do what is to be done with what was found."""

        def work(say: Callable[[object], None], stopped: Callable[[], bool]) -> None:
            try:
                say(read(stopped))
            except RequestError as problem:
                say(problem)

        self._then = then
        self._reader.start(work)

    @Slot(object)
    def _on_read(self, found: object) -> None:
        if isinstance(found, RequestError):
            self.refused.emit(str(found))
        elif not self._controller.busy:
            self.beginning.emit()
            self._then(found)
