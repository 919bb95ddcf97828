"""Opens the inspection of a checkpoint's replay buffer from a plot or the list of agents."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from studio.replay.checkpoint_list import CheckpointPanel
from studio.session.model import RunModel
from studio.tasks.background_task import BackgroundTask
from studio.widgets.controls import bring_to_front
from td3core.runs.layout import run_of
from td3core.runs.naming import full_name_of


class Inspecting(QObject):
    """Opens the dialog for a checkpoint; finds the one of the current run nearest to a step."""

    def __init__(self, model: RunModel, agents: CheckpointPanel, window: QWidget) -> None:
        super().__init__(window)
        self._model, self._agents, self._window = model, agents, window
        self._naming = BackgroundTask("name-run", self)
        agents.inspect_requested.connect(self.show)

    def nearest(self, step: float) -> tuple[int, Path] | None:
        """Return step and file of the saved agent of the current run nearest to a step."""
        files = self._agents.model.current_files() or ()
        found = min(files, key=lambda file: abs(file.env_steps - step), default=None)
        return None if found is None else (found.env_steps, found.path)

    @Slot(Path)
    def show(self, path: Path) -> None:
        """Inspect a checkpoint."""
        record, run = self._model.record, run_of(path.absolute())
        self._naming.cancel()
        if run is None:
            self._open(path, path.absolute().parent.name)
        elif record.run is not None and record.run.absolute() == run:
            self._open(path, record.title)
        else:
            self._naming.read(lambda _: full_name_of(run), partial(self._open, path))

    def _open(self, path: Path, title: str) -> None:
        # Imported on first use, so that it does not delay the start.
        from studio.inspection.dialog import InspectionDialog

        for dialog in self._window.findChildren(InspectionDialog):
            dialog.close()
        bring_to_front(InspectionDialog(path, title, self._window))
