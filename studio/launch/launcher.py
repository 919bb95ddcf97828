"""The ways to start a run other than Train: resume one, branch from an agent, repeat changes."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QDialog, QWidget

from studio.launch.dialogs import MoreStepsDialog, RepeatDialog
from studio.session.controller import RunController
from studio.session.curves import RunCurves
from studio.session.history import RunHistory, read_history, read_parent_curves
from studio.session.model import RunModel
from studio.tasks.background_reader import BackgroundReader
from studio.tasks.background_task import Stopped
from td3core.checkpoint import Header, read_header
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import Change, changes_of
from td3core.runs.listing import RunSummary, summarise
from td3core.runs.metadata import RunStatus

T = TypeVar("T")

_RATES = ("actor_lr", "critic_lr")


class RunLauncher(QObject):
    """Reads what is needed in the background, asks the user, and hands over to the controller.

    What came before a run is read before the run touches its files.
    """

    beginning = Signal()
    """A run is about to begin."""
    resuming = Signal(object)
    """The run to be resumed, from its files (:class:`~studio.session.history.RunHistory`)."""
    refused = Signal(str)

    def __init__(
        self, controller: RunController, model: RunModel, runs_dir: Path, window: QWidget
    ) -> None:
        super().__init__(window)
        self._controller, self._model = controller, model
        self._runs_dir, self._window = runs_dir, window
        self._reader = BackgroundReader("read-run", self)
        self._reader.refused.connect(self.refused)

    def stop(self) -> None:
        """Drop what is being read."""
        self._reader.stop()

    def _read(self, function: Callable[[Stopped], T], then: Callable[[T], None]) -> None:
        """Read in the background and pass it on, unless a run is training then or now."""

        def pass_on(found: T) -> None:
            if not self._controller.busy:
                then(found)

        if not self._controller.busy:
            self._reader.read(function, pass_on)

    # Resuming -----------------------------------------------------------------------------------

    @Slot(Path)
    def resume(self, path: Path) -> None:
        """Resume a run; the user is asked for more steps if it has come to its end."""
        self._read(lambda _: summarise(RunDirectory.open(path)), self._ask_for_steps)

    def _ask_for_steps(self, found: RunSummary) -> None:
        steps = None
        if found.state is RunStatus.FINISHED or found.env_steps > found.steps:
            dialog = MoreStepsDialog(found, self._window)
            if dialog.exec() != QDialog.DialogCode.Accepted:
                return
            steps = dialog.steps
        self._read(partial(read_history, found.run), partial(self._resume, found.run, steps))

    def _resume(self, path: Path, steps: int | None, history: RunHistory) -> None:
        self.beginning.emit()
        self.resuming.emit(history)
        self._controller.resume(path, steps)

    # Branching ----------------------------------------------------------------------------------

    @Slot(Path)
    def branch(self, checkpoint: Path) -> None:
        """Ask for the settings of a branch from an agent, and start it."""
        ask = partial(self._ask_for_settings, checkpoint)
        self._read(lambda _: read_header(checkpoint), ask)

    def _ask_for_settings(self, checkpoint: Path, header: Header) -> None:
        # Not at the top: with all that a branch needs, it would hold up the start of the window.
        from studio.launch.branch_dialog import BranchDialog

        dialog = BranchDialog(checkpoint, header, self._window)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            self._branch(checkpoint, dialog.values())

    @Slot(Path)
    def branch_with_half_rates(self, checkpoint: Path) -> None:
        """Start a branch from an agent with half its learning rates."""

        def start(header: Header) -> None:
            halves = {name: getattr(header.tunables, name) / 2 for name in _RATES}
            self._branch(checkpoint, halves)

        self._read(lambda _: read_header(checkpoint), start)

    def _branch(self, checkpoint: Path, values: Mapping[str, Any]) -> None:
        def start(parent_curves: RunCurves) -> None:
            self.beginning.emit()
            self._model.expect_branch(parent_curves)
            self._controller.branch(checkpoint, values, self._runs_dir)

        self._read(partial(read_parent_curves, checkpoint), start)

    # Repeating ----------------------------------------------------------------------------------

    @Slot(Path)
    def repeat_changes(self, path: Path) -> None:
        """Start a new run with the settings of another, and its live changes at their steps."""

        def read(_: object) -> tuple[RunDirectory, list[Change]]:
            run = RunDirectory.open(path)
            return run, changes_of(run.journal())

        self._read(read, self._ask_for_seed)

    def _ask_for_seed(self, found: tuple[RunDirectory, list[Change]]) -> None:
        run, changes = found
        if not changes:
            self.refused.emit(f"No live setting was changed in {run.path.name}.")
            return
        dialog = RepeatDialog(run, changes, self._window)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            self.beginning.emit()
            config = replace(run.config, seed=dialog.seed)
            self._controller.start(config, run.first_tunables, self._runs_dir, changes)
