"""Tries in a process of its own whether a run resumes exactly, and says what came of it."""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from PySide6.QtCore import QProcess, QProcessEnvironment, Qt, Slot
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QProgressBar,
    QVBoxLayout,
    QWidget,
)

from studio.labels import breakable, plain_label

_END_MS = 2_000
_TRIED = (
    "The run is copied and taken further twice: at one go, and with an interruption half-way."
    " It resumes exactly if both come to the same weights, memory and results, bit for bit."
)


class VerifyDialog(QDialog):
    """Waits for ``td3-studio verify``; closing the dialog ends it. The run is not touched."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._process: QProcess | None = None
        self._folder = ""
        self._name = self._problem = ""
        self.setObjectName("verify_dialog")
        self.setWindowTitle("Does this run resume exactly?")
        self.setMinimumWidth(460)
        about = QLabel(_TRIED)
        about.setWordWrap(True)
        about.setProperty("role", "muted")
        self.verdict = plain_label()
        self.verdict.setObjectName("verify_verdict")
        self.verdict.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._bar = QProgressBar()
        self._bar.setObjectName("verify_progress")
        self._bar.setAccessibleName("Progress of the check")
        self._bar.setRange(0, 0)
        self._bar.setTextVisible(False)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 14, 16, 12)
        layout.setSpacing(10)
        for part in (about, self.verdict, self._bar):
            layout.addWidget(part)
        layout.addStretch(1)
        layout.addWidget(self.buttons)
        self.finished.connect(self.cancel)

    @property
    def busy(self) -> bool:
        """True while the check goes on."""
        return self._process is not None

    def check(self, run: Path) -> None:
        """Show the dialog and begin to try a run."""
        self.cancel()
        self._name = run.name
        self._say(f"{run.name}: starting …")
        self._show_waiting(waiting=True)
        # What a process that is killed leaves behind has to be found again.
        self._folder = tempfile.mkdtemp(prefix="td3-studio-verify-")
        environment = QProcessEnvironment.systemEnvironment()
        for name in ("TMPDIR", "TEMP", "TMP"):
            environment.insert(name, self._folder)
        process = self._process = QProcess(self)
        process.setProcessEnvironment(environment)
        process.setProgram(sys.executable)
        process.setArguments(["-m", "td3core", "verify", "--json", "--", str(run)])
        process.readyReadStandardError.connect(self._on_progress)
        process.finished.connect(self._on_finished)
        process.errorOccurred.connect(self._on_error)
        process.start()
        self.show()
        self.raise_()

    @Slot()
    def cancel(self) -> None:
        """End the check, if one is going on."""
        process, self._process = self._process, None
        if process is not None:
            process.blockSignals(True)
            process.kill()
            process.waitForFinished(_END_MS)
            process.deleteLater()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802
        """End the check with the dialog."""
        self.cancel()
        super().closeEvent(event)

    @Slot()
    def _on_progress(self) -> None:
        if self._process is not None:
            lines = _text(self._process.readAllStandardError()).strip().splitlines()
            self._problem = lines[-1] if lines else ""
            if self._problem:
                self._say(f"{self._name}: {self._problem.removesuffix('...').strip()} …")

    @Slot()
    def _on_error(self) -> None:
        process = self._process
        if process is not None and process.error() is QProcess.ProcessError.FailedToStart:
            self._conclude(f"The check could not be started: {process.errorString()}.")

    @Slot()
    def _on_finished(self) -> None:
        process = self._process
        if process is None:
            return
        said = _text(process.readAllStandardError()).strip().splitlines()
        found = _last_object(_text(process.readAllStandardOutput()))
        if found is None:
            why = said[-1] if said else self._problem
            why = why.removeprefix("td3-studio: ").removeprefix("The check failed: ")
            self._conclude(f"{self._name} could not be tried. {why}")
        else:
            self._conclude(_in_words(self._name, found))

    def _conclude(self, text: str) -> None:
        self.cancel()
        self._say(text)
        self._show_waiting(waiting=False)
        self.adjustSize()

    def _say(self, text: str) -> None:
        self.verdict.setText(breakable(text))

    def _show_waiting(self, *, waiting: bool) -> None:
        self._problem = ""
        self._bar.setVisible(waiting)
        kind = QDialogButtonBox.StandardButton
        self.buttons.setStandardButtons(kind.Cancel if waiting else kind.Close)


def _in_words(name: str, found: dict[str, Any]) -> str:
    """Say a verdict, an object as ``verify --json`` prints it, so that anyone understands it."""
    first, last = found["from_step"], found["from_step"] + found["steps"]
    tried = f"(tried from step {first:,} to {last:,})"
    if found["exact"]:
        return (
            f"Yes. {name} resumes exactly: interrupted and resumed, it came to the same result as"
            f" at one go {tried}."
        )
    differences = "\n".join(f"•  {each}" for each in found["differences"])
    return f"No. {name} does not resume exactly {tried}.\n{differences}"


def _text(data: Any) -> str:
    return bytes(data.data()).decode(errors="replace")


def _last_object(text: str) -> dict[str, Any] | None:
    lines = text.strip().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
