"""Verifies in a separate process whether a run resumes exactly, and shows the verdict."""

import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QProgressBar,
    QWidget,
)

from studio.formatting import format_count
from studio.tasks.background_queue import BackgroundQueue
from studio.tasks.cli_process import CliProcess
from studio.widgets.forms import make_dialog_column
from studio.widgets.labels import breakable, plain_label
from td3core.cli.progress_line import CommandProgress
from td3core.text import Text, tr

_ABOUT = Text(
    "A copy of the run is trained further twice: once without a break, once with an interruption"
    " half-way. The run resumes exactly if both end with the same weights, replay buffer and"
    " results, bit for bit."
)


class VerifyDialog(QDialog):
    """Waits for ``td3-studio verify``; closing the dialog ends it. The run is not touched."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._folder = self._name = ""
        self._cleaner = BackgroundQueue("clean-up", self)
        self.command = CliProcess(self)
        self.command.progressed.connect(self._on_progress)
        self.command.answered.connect(self._on_answered)
        self.command.refused.connect(lambda why: self._on_refused(str(why)))
        self.setObjectName("verify_dialog")
        self.setWindowTitle(tr("Does this run resume exactly?"))
        about = QLabel(str(_ABOUT))
        about.setWordWrap(True)
        about.setProperty("role", "muted")
        self.verdict = plain_label()
        self.verdict.setObjectName("verify_verdict")
        self.verdict.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._bar = QProgressBar()
        self._bar.setObjectName("verify_progress")
        self._bar.setAccessibleName(tr("Progress of the check"))
        self._bar.setRange(0, 0)
        self._bar.setTextVisible(False)
        self.buttons = QDialogButtonBox()
        self.buttons.rejected.connect(self.reject)
        layout = make_dialog_column(self, 460)
        for part in (about, self.verdict, self._bar):
            layout.addWidget(part)
        layout.addStretch(1)
        layout.addWidget(self.buttons)
        self._show_waiting(waiting=True)
        self.finished.connect(self.cancel)

    @property
    def busy(self) -> bool:
        """True while the check runs."""
        return self.command.busy

    def check(self, run: Path, title: str = "") -> None:
        """Show the dialog and start verifying a run with this ``title``."""
        self.cancel()
        self._name = title or run.name
        self._show(tr("{run}: starting …", run=self._name))
        self._show_waiting(waiting=True)
        # A killed process leaves its copies behind; they are in this folder.
        self._folder = tempfile.mkdtemp(prefix="td3-studio-verify-")
        folders = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), self._folder)
        self.command.run(["verify", "--json", "--", str(run)], folders)
        self.show()
        self.raise_()

    @Slot()
    def cancel(self) -> None:
        """End the check, if one is running."""
        self.command.cancel()
        if self._folder:
            self._cleaner.add(partial(shutil.rmtree, self._folder, ignore_errors=True))
            self._folder = ""

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802
        """End the check when the dialog closes."""
        self.cancel()
        super().closeEvent(event)

    @Slot(object)
    def _on_progress(self, told: CommandProgress) -> None:
        self._show(f"{self._name}: {told.message} …")

    @Slot(str)
    def _on_not_started(self, reason: str) -> None:
        self._conclude(tr("The check could not be started: {reason}.", reason=reason))

    @Slot(object)
    def _on_answered(self, found: dict[str, Any]) -> None:
        self._conclude(in_words(self._name, found))

    @Slot(str)
    def _on_refused(self, why: str) -> None:
        self._conclude(tr("{run} could not be verified. {why}", run=self._name, why=why))

    def _conclude(self, text: str) -> None:
        self.cancel()
        self._show(text)
        self._show_waiting(waiting=False)
        self.adjustSize()

    def _show(self, text: str) -> None:
        self.verdict.setText(breakable(text))

    def _show_waiting(self, *, waiting: bool) -> None:
        self._bar.setVisible(waiting)
        kind = QDialogButtonBox.StandardButton
        wanted = kind.Cancel if waiting else kind.Close
        self.buttons.setStandardButtons(wanted)
        # Enter does not end a check.
        self.buttons.button(wanted).setAutoDefault(not waiting)


def in_words(name: str, found: dict[str, Any]) -> str:
    """Return the verdict of ``verify --json`` in words."""
    steps = {
        "first": format_count(found["from_step"]),
        "last": format_count(found["from_step"] + found["steps"]),
    }
    if found["exact"]:
        return tr(
            "Yes. {run} resumes exactly: both ways end with the same result"
            " (verified from step {first} to {last}).",
            run=name,
            **steps,
        )
    differences = "\n".join(f"•  {each}" for each in found["differences"])
    verdict = tr(
        "No. {run} does not resume exactly (verified from step {first} to {last}).",
        run=name,
        **steps,
    )
    return f"{verdict}\n{differences}"
