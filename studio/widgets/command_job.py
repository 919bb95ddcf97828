"""One headless command with its progress, and a file that is removed if it stays unfinished."""

import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QProgressBar, QVBoxLayout, QWidget

from studio.tasks.background_queue import BackgroundQueue
from studio.tasks.cli_process import CliProcess
from studio.widgets.labels import breakable, plain_label
from studio.widgets.setting_names import in_labels
from td3core.cli.progress_line import CommandProgress
from td3core.text import Text, tr


class CommandJob(QWidget):
    """Runs a command in the background; shows its progress and how it ended."""

    answered = Signal(object)
    """The object printed by the command with ``--json``."""
    busy_changed = Signal(bool)
    ended = Signal(bool)
    """The command has ended by itself; carries whether it succeeded."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        """``name`` is the prefix of its parts' object names."""
        super().__init__(parent)
        self._variables: Mapping[str, str] = {}
        self._unfinished: Path | None = None
        self._cleaner = BackgroundQueue("clean-up", self)
        self.command = CliProcess(self)
        self.bar = QProgressBar()
        self.bar.setObjectName(f"{name}_progress")
        self.bar.setAccessibleName(tr("Progress"))
        self.bar.setTextVisible(False)
        # Keeps its space when hidden, so that nothing moves.
        policy = self.bar.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.bar.setSizePolicy(policy)
        self.bar.hide()
        self.status = plain_label()
        self.status.setObjectName(f"{name}_status")
        self.status.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self.bar)
        layout.addWidget(self.status)
        self.command.progressed.connect(self._on_progress)
        self.command.answered.connect(self._on_answered)
        self.command.refused.connect(self._on_refused)

    def set_variables(self, variables: Mapping[str, str]) -> None:
        """Start commands with these additional environment variables."""
        self._variables = variables

    @property
    def busy(self) -> bool:
        """True while the command runs."""
        return self.command.busy

    def run(self, words: Sequence[str], unfinished: Path | None = None) -> None:
        """Start a command; ``unfinished`` is the file or folder that it leaves if killed."""
        self.cancel()
        self._unfinished = unfinished
        self.show_status(tr("Starting…"))
        self.bar.setRange(0, 0)
        self.bar.show()
        self.command.run(words, self._variables)
        # A process that cannot be started may have said so already.
        self.busy_changed.emit(self.busy)

    def cancel(self) -> None:
        """End a running command, and remove the unfinished file."""
        if self.command.busy:
            self.command.cancel()
            self.discard()
            self._end(tr("Cancelled."))

    def discard(self) -> None:
        """Remove the file or folder named to :meth:`run`."""
        unfinished, self._unfinished = self._unfinished, None
        if unfinished is not None:
            self._cleaner.add(partial(_remove, unfinished))

    def shutdown(self) -> None:
        """End the command and wait until its file is removed."""
        self.cancel()
        self._cleaner.finish()

    @Slot(object)
    def show_status(self, text: Text | str) -> None:
        """Show a sentence below the bar."""
        self.status.setText(breakable(in_labels(text)))

    def _end(self, text: Text | str) -> None:
        self.bar.hide()
        self.show_status(text)
        self.busy_changed.emit(False)

    @Slot(object)
    def _on_progress(self, told: CommandProgress) -> None:
        if told.share is not None:
            self.bar.setRange(0, 100)
            self.bar.setValue(int(100 * told.share))
        self.show_status(told.message)

    @Slot(object)
    def _on_answered(self, found: object) -> None:
        self._end("")
        self.answered.emit(found)
        self.ended.emit(True)

    @Slot(object)
    def _on_refused(self, reason: Text) -> None:
        self._end(reason)
        self.ended.emit(False)


def _remove(unfinished: Path) -> None:
    if unfinished.is_dir() and not unfinished.is_symlink():
        shutil.rmtree(unfinished, ignore_errors=True)
    else:
        unfinished.unlink(missing_ok=True)
