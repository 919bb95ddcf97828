"""Connects groups and the queue with the rest of the window."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QMessageBox, QWidget

from studio.consent.code_consent import CodeConsent
from studio.experiments.group_session import GroupSession
from studio.experiments.queue_file import QueuedRun
from studio.experiments.run_queue import RunQueue
from studio.session.controller import RunController, SessionState
from studio.session.history import RunHistory, read_history
from studio.setup.panel import SetupPanel
from studio.tasks.background_reader import BackgroundReader
from td3core.config.consent import Consent, LocatedModule
from td3core.experiments.groups.messages import NewGroup

_GROUP_BUSY = "A group is training. Use Train next, or stop the group first."
_RUN_BUSY = "A run is training. Wait for its end, or stop it first."


class ManyRuns(QObject):
    """Starts single runs, groups and what waits in the queue: never two of them at once."""

    refused = Signal(str)
    beginning = Signal()
    panel_wanted = Signal()
    opened = Signal(object)
    """A run that the user wants to see (:class:`~studio.session.history.RunHistory`)."""

    def __init__(
        self,
        controller: RunController,
        consent: CodeConsent,
        runs_dir: Path,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._controller, self._runs_dir = controller, runs_dir
        self._trains = False
        self._consent = consent
        self.session = GroupSession(self)
        self.queue = RunQueue(runs_dir, lambda: self.busy, self)
        self._reader = BackgroundReader("read-run", self)
        self._reader.refused.connect(self.refused)
        self.session.refused.connect(self.refused)
        self.queue.refused.connect(self.refused)
        self.queue.wanted.connect(self.start)
        controller.state_changed.connect(self._on_state)
        self.session.ended.connect(self.queue.on_ended)

    @property
    def busy(self) -> bool:
        """True while a run or a group trains."""
        return self._controller.busy or self.session.busy

    def use_setup(self, setup: SetupPanel) -> None:
        """Follow the choice where runs train."""
        self._controller.own_process = setup.own_process.isChecked()
        setup.own_process.toggled.connect(partial(setattr, self._controller, "own_process"))

    @Slot(object)
    def start(self, run: QueuedRun) -> None:
        """Start a run, or a group if it has several seeds."""
        if self.busy:
            self.refused.emit(_GROUP_BUSY if self.session.busy else _RUN_BUSY)
            return
        self._consent.obtain(run.config.choice, partial(self._start, run), self._on_declined)

    def _on_declined(self, module: LocatedModule) -> None:
        self.refused.emit(f"Nothing was started: the code in {module.path} was not allowed to run.")

    def _start(self, run: QueuedRun, consent: Consent) -> None:
        if self.busy:
            # Since the user was asked.
            self.refused.emit(_GROUP_BUSY if self.session.busy else _RUN_BUSY)
            return
        self.beginning.emit()
        if run.seeds:
            self.panel_wanted.emit()
            self.session.start(
                NewGroup(
                    runs_dir=self._runs_dir,
                    seeds=run.seeds,
                    config=run.config,
                    tunables=run.tunables,
                )
            )
        else:
            self._controller.start(run.config, run.tunables, self._runs_dir, consent=consent)

    def add(self, run: QueuedRun) -> None:
        """Add a run to the queue, and show the queue."""
        self.panel_wanted.emit()
        self.queue.add(run)

    @Slot(Path)
    def open_run(self, path: Path) -> None:
        """Show a run of the group in the plots, unless another one trains there."""
        if self._controller.busy:
            self.refused.emit(_RUN_BUSY)
            return
        self._reader.read(partial(read_history, path), self._on_read)

    def _on_read(self, history: RunHistory) -> None:
        if not self._controller.busy:
            self.opened.emit(history)

    @Slot(object)
    def _on_state(self, state: SessionState) -> None:
        if state is not SessionState.IDLE:
            # A run that is only followed starts nothing when it is left.
            self._trains = self._controller.busy or state is SessionState.STARTING
        elif self._trains:
            self._trains = False
            self.queue.on_ended()

    # Closing ------------------------------------------------------------------------------------

    @property
    def can_leave(self) -> bool:
        """Whether what trains can continue without the window."""
        return self.session.busy or self._controller.can_leave

    def stop_all(self) -> None:
        """Ask everything that trains to save and end, and start nothing more."""
        self.queue.close()
        # Not a followed one: it trains elsewhere.
        if self._controller.busy:
            self._controller.stop()
        self.session.command("stop")

    def leave_all(self) -> None:
        """Let everything that trains continue in the background."""
        self.queue.close()
        self._controller.leave()
        self.session.detach()

    def shutdown(self) -> None:
        """Stop reading, and wait until the queue is on disk."""
        self._reader.stop()
        self.queue.shutdown()


def ask_what_to_do(parent: QWidget) -> str:
    """Ask whether to ``stop`` what trains, to ``keep`` it in the background, or to ``cancel``."""
    box = QMessageBox(parent)
    box.setObjectName("close_question")
    box.setIcon(QMessageBox.Icon.Question)
    box.setWindowTitle("Training is in progress")
    box.setText("What is to happen to the training?")
    box.setInformativeText(
        "Runs that are stopped can be resumed. In the background they continue without the window."
    )
    roles = QMessageBox.ButtonRole
    stop = box.addButton("Save, stop and close", roles.AcceptRole)
    keep = box.addButton("Keep training in the background", roles.DestructiveRole)
    cancel = box.addButton(QMessageBox.StandardButton.Cancel)
    for button, name in ((stop, "stop"), (keep, "keep"), (cancel, "cancel")):
        button.setObjectName(f"close_{name}_button")
    box.setDefaultButton(stop)
    box.exec()
    clicked = box.clickedButton()
    return "stop" if clicked is stop else "keep" if clicked is keep else "cancel"
