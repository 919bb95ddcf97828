"""The sweep that this window runs, in a separate process."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from studio.consent.code_consent import CodeConsent
from studio.tasks.background_task import BackgroundTask
from studio.tasks.cli_process import CliProcess
from td3core.experiments.sweeps.file import read
from td3core.experiments.sweeps.folder import SweepFolder
from td3core.experiments.sweeps.spec import SweepSpec
from td3core.system.allowed_code import LocatedModule
from td3core.text import Text

_ASK_AGAIN_MS = 500
"""Retry interval: a process that is starting cannot be asked to stop yet."""


class SweepProcess(QObject):
    """Starts, continues and stops one sweep at a time.

    The user is asked before code named by the sweep's file runs.
    """

    refused = Signal(object)
    started = Signal()
    ended = Signal(str)
    """The process of the sweep of this name has ended, or will not start."""

    def __init__(self, runs_dir: Path, consent: CodeConsent, parent: QObject) -> None:
        super().__init__(parent)
        self._runs_dir, self._consent = runs_dir, consent
        self._stopping, self._stop_name = False, ""
        self.name = ""
        """The sweep starting or running here; empty without one."""
        self._process = CliProcess(self)
        self._process.refused.connect(self._on_refused)
        self._process.answered.connect(self._end)
        self._read = BackgroundTask("start-sweep", self)
        self._read.failed.connect(self._on_refused)
        self._stop = BackgroundTask("stop-sweep", self)
        self._stop.failed.connect(self._on_not_stopped)
        self._again = QTimer(self, singleShot=True, interval=_ASK_AGAIN_MS)
        self._again.timeout.connect(self._ask_to_stop)

    @property
    def busy(self) -> bool:
        """True from the request to start a sweep here until it has ended."""
        return bool(self.name)

    def start(self, file: Path) -> None:
        """Start or continue the sweep described by a file."""
        self._begin(file.name, [str(file)], lambda: read(file, file.stem)[1])

    def resume(self, name: str) -> None:
        """Continue a sweep of the runs folder."""
        self._begin(name, ["resume", name], SweepFolder(self._runs_dir, name).spec)

    def stop(self, name: str) -> None:
        """Ask a sweep, of this process or another one, to save its runs and stop."""
        if name == self.name and not self._process.busy:
            # No process to stop yet.
            self._read.cancel()
            self._end()
            return
        self._stopping = True
        self._stop_name = name
        self._ask_to_stop()

    def shutdown(self) -> None:
        """End the process and stop reading; the runs of a sweep save themselves."""
        self._again.stop()
        self._process.cancel()
        self._read.cancel()
        self._stop.cancel()
        self.name = ""

    def _begin(self, called: str, words: list[str], read: Callable[[], SweepSpec]) -> None:
        if self.busy:
            return
        self.name = called
        self._stopping = False
        self._read.read(lambda _: read(), partial(self._ask, words))

    def _ask(self, words: list[str], spec: SweepSpec) -> None:
        """Start once the user has allowed all code named by the file."""
        self.name = spec.name
        self._consent.obtain_all(spec.env_choices(), partial(self._run, words), self._on_declined)

    def _run(self, words: list[str]) -> None:
        if not self.busy:
            return
        self._process.run(["sweep", *words, "--runs-dir", str(self._runs_dir), "--json"])
        self.started.emit()

    def _on_declined(self, module: LocatedModule) -> None:
        declined = Text(
            "The sweep was not started: the code in {path} was not allowed to run.",
            path=module.path,
        )
        self._on_refused(declined)

    @Slot()
    def _ask_to_stop(self) -> None:
        folder = SweepFolder(self._runs_dir, self._stop_name)
        self._stop.read(lambda _: folder.ask_to_stop(), lambda _: None)

    @Slot(object)
    def _on_not_stopped(self, sentence: Text) -> None:
        if self._process.busy and self._stop_name == self.name:
            self._again.start()
        elif self._stopping:
            self.refused.emit(sentence)

    @Slot(object)
    def _on_refused(self, sentence: Text) -> None:
        self.refused.emit(sentence)
        self._end()

    @Slot()
    def _end(self) -> None:
        name, self.name = self.name, ""
        self._again.stop()
        self.ended.emit(name)
