"""Films of the best agents of ended runs, shown in TensorBoard."""

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from studio.experiments.group_session import GroupSession
from studio.session.controller import RunController
from studio.tasks.background_task import BackgroundTask, Stopped
from studio.tasks.cli_process import CliProcess
from td3core.protocol.events import Ended, Failed
from td3core.runs.naming import full_name_of
from td3core.text import Text


class FinalFilms(QObject):
    """Films runs for TensorBoard, one after another, in separate processes.

    Only runs with event files are filmed, and none of sweeps and paired tests: there are too many.
    """

    told = Signal(str, object)
    """Log level and result of a film (``Text``)."""

    def __init__(
        self,
        folder: Callable[[], Path | None],
        variables: Callable[[], Mapping[str, str]],
        parent: QObject | None = None,
    ) -> None:
        """Film runs.

        Args:
            folder: Returns the folder for films; None if they are not wanted.
            variables: Returns the environment variables for a rendering process.
            parent: The owner.
        """
        super().__init__(parent)
        self._folder, self._variables = folder, variables
        self._waiting = deque[Path]()
        self._name = ""
        self._reader = BackgroundTask("find-event-files", self)
        self._reader.finished.connect(self._go_on)
        self._command = CliProcess(self)
        self._command.answered.connect(self._on_answered)
        self._command.refused.connect(self._on_refused)

    def watch(self, controller: RunController, groups: GroupSession) -> None:
        """Film a window's runs after they end; runs of a group once all of them have ended."""

        def on_event(event: object) -> None:
            ending = event.ending if isinstance(event, Failed) else event
            if isinstance(ending, Ended) and not (groups.busy and ending.run in _runs_of(groups)):
                self.add(ending.run)

        def on_group() -> None:
            for run in _runs_of(groups):
                self.add(run)

        controller.event_reported.connect(on_event)
        groups.ended.connect(on_group)

    @property
    def busy(self) -> bool:
        """True until the last film is made."""
        return self._reader.busy or self._command.busy or bool(self._waiting)

    def add(self, run: Path) -> None:
        """Film an ended run after waiting ones; does nothing if films are not wanted."""
        if self._folder() is not None and run not in self._waiting:
            self._waiting.append(run)
            self._go_on()

    @Slot()
    def cancel(self) -> None:
        """Stop filming: the window is closing, or films are no longer wanted."""
        self._waiting.clear()
        self._reader.cancel()
        self._command.cancel()

    @Slot()
    def _go_on(self) -> None:
        folder = self._folder()
        if not self._waiting or folder is None or self._reader.busy or self._command.busy:
            return
        run = self._waiting.popleft()
        self._reader.read(partial(_name_where_shown, run, folder), partial(self._film, run, folder))

    def _film(self, run: Path, folder: Path, name: str) -> None:
        if name:
            self._name = name
            words = ["film", "--tensorboard", str(folder), "--json", "--", str(run)]
            self._command.run(words, self._variables())

    @Slot(object)
    def _on_answered(self, found: dict[str, Any]) -> None:
        if any(film["new"] for film in found["films"]):
            self.told.emit("info", Text("TensorBoard shows a film of {run}.", run=self._name))
        self._go_on()

    @Slot(object)
    def _on_refused(self, reason: Text) -> None:
        text = Text("There is no film of {run}: {reason}", run=self._name, reason=reason)
        self.told.emit("warning", text)
        self._go_on()


def _runs_of(groups: GroupSession) -> list[Path]:
    """Return the runs of the current group, except waiting ones."""
    record = groups.current
    statuses = record.statuses.values() if record is not None else ()
    return [status.run for status in statuses if status.run is not None]


def _name_where_shown(run: Path, folder: Path, _: Stopped) -> str:
    """Return the name of a run that has event files; empty if it has none."""
    return full_name_of(run) if (folder / run.name).is_dir() else ""
