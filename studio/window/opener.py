"""Opens agents and runs from anywhere: a dialog, drag and drop, or the command line."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Signal, SignalInstance, Slot
from PySide6.QtGui import QAction, QDragEnterEvent, QDropEvent, QKeySequence
from PySide6.QtWidgets import QFileDialog, QMainWindow

from studio.tasks.background_task import BackgroundTask, Stopped
from td3core.checkpoint import SUFFIX, read_header
from td3core.errors import RequestError
from td3core.runs.layout import DESCRIPTION
from td3core.system.regular_files import exists
from td3core.text import Text, tr

_FILTER = Text("Agents and runs ({pattern})", pattern=f"*{SUFFIX} run.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The contents of the opened paths, by kind."""

    agents: tuple[Path, ...] = ()
    foreign: tuple[Path, ...] = ()
    """Files of other programs, to be imported."""
    runs: tuple[Path, ...] = ()


class Opener(QObject):
    """Examines paths in the background. Imports no code that a file names."""

    agent_opened = Signal(Path)
    run_wanted = Signal(Path)
    """A run to be shown."""
    runs_opened = Signal(object)
    """Carries the paths of several runs."""
    import_wanted = Signal(Path)
    refused = Signal(object)
    left_out = Signal(object)
    """Only the first of several files was opened; carries a ``Text``."""

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._reader = BackgroundTask("open-path", self)
        self._reader.failed.connect(self.refused)
        self._shows_runs = True
        """Whether the runs being examined are still to be shown."""
        self.action = QAction(tr("Open agent or run…"), window)
        self.action.setObjectName("open_action")
        self.action.setShortcut(QKeySequence(QKeySequence.StandardKey.Open))
        self.action.setAutoRepeat(False)
        self.action.triggered.connect(self.ask)
        window.addAction(self.action)
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    @Slot()
    def stop(self) -> None:
        """Stop reading files: the window is closing."""
        self._reader.cancel()

    @Slot()
    def give_way(self) -> None:
        """Do not show the runs being examined: another one has been asked for meanwhile."""
        self._shows_runs = False

    @Slot()
    def ask(self) -> None:
        """Let the user choose agents, or the ``run.toml`` of a run."""
        names, _ = QFileDialog.getOpenFileNames(
            self._window, tr("Open agent or run"), "", str(_FILTER)
        )
        if names:
            self.open([Path(name) for name in names])

    def open(self, paths: Sequence[Path]) -> None:
        """Open checkpoints and runs; several runs are compared."""
        self._shows_runs = True
        self._reader.read(partial(_examine, tuple(paths)), self._show)

    def _show(self, found: _Found) -> None:
        runs = found.runs if self._shows_runs else ()
        if len(runs) == 1:
            self.run_wanted.emit(runs[0])
        elif runs:
            self.runs_opened.emit(list(runs))
        self._show_first(found.agents, self.agent_opened)
        self._show_first(found.foreign, self.import_wanted)

    def _show_first(self, files: tuple[Path, ...], opened: SignalInstance) -> None:
        for first in files[:1]:
            opened.emit(first)
        if len(files) > 1:
            self.left_out.emit(
                Text.counted(
                    "{file} was opened; {n} more file was left out: open one at a time.",
                    "{file} was opened; {n} more files were left out: open one at a time.",
                    n=len(files) - 1,
                    file=files[0].name,
                )
            )

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Accept files that are dropped on the window."""
        if isinstance(event, QDragEnterEvent) and event.mimeData().hasUrls():
            event.acceptProposedAction()
            return True
        if isinstance(event, QDropEvent) and event.type() == QEvent.Type.Drop:
            urls = event.mimeData().urls()
            paths = [Path(url.toLocalFile()) for url in urls if url.isLocalFile()]
            if paths:
                event.acceptProposedAction()
                self.open(paths)
                return True
        return super().eventFilter(watched, event)


def _examine(paths: tuple[Path, ...], _: Stopped) -> _Found:
    """Sort paths into agents, runs, and files of other programs.

    Raises:
        RequestError: a path is none of these.
    """
    # Imported on first use, so that it does not delay the start.
    from td3core.importers.registry import find_importer

    agents, runs, foreign = list[Path](), list[Path](), list[Path]()
    for path in (each.absolute() for each in paths):
        if path.name == DESCRIPTION:
            runs.append(path.parent)
        elif path.suffix != SUFFIX and not exists(path / DESCRIPTION) and find_importer(path):
            foreign.append(path)
        elif path.is_dir():
            runs.append(path)
        elif path.suffix == SUFFIX:
            read_header(path)
            agents.append(path)
        else:
            raise RequestError("{path} is neither an agent nor a run.", path=str(path))
    return _Found(agents=tuple(agents), runs=tuple(runs), foreign=tuple(foreign))
