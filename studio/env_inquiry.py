"""Asks a process of its own about an environment: making one imports simulators and may hang."""

import json
import sys
from typing import Any

from PySide6.QtCore import QObject, QProcess, QTimer, Signal, Slot

_PATIENCE_MS = 120_000
_END_MS = 2_000


class EnvInquiry(QObject):
    """One question at a time, answered by ``td3-studio check``; a new one drops the one before."""

    answered = Signal(object)
    """The object that ``check --json`` prints."""
    refused = Signal(str)
    """The sentence that says why there is no answer."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process: QProcess | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_PATIENCE_MS)
        self._timer.timeout.connect(self._give_up)

    @property
    def busy(self) -> bool:
        """True while an answer is waited for."""
        return self._process is not None

    def ask(self, env_id: str, env_args: str, *, quick: bool) -> None:
        """Begin to try an environment."""
        self.cancel()
        words = ["-m", "td3core", "check", "--json", *(["--quick"] if quick else [])]
        if env_args.strip():
            words.append(f"--set=env_args={env_args}")
        process = QProcess(self)
        process.setProgram(sys.executable)
        process.setArguments([*words, "--", env_id])
        process.finished.connect(self._on_finished)
        process.errorOccurred.connect(self._on_error)
        self._process = process
        self._timer.start()
        process.start()

    def cancel(self) -> None:
        """Drop the question and end the process."""
        process, self._process = self._process, None
        self._timer.stop()
        if process is not None:
            process.blockSignals(True)
            process.kill()
            process.waitForFinished(_END_MS)
            process.deleteLater()

    @Slot()
    def _give_up(self) -> None:
        self.cancel()
        self.refused.emit(f"The environment gave no answer within {_PATIENCE_MS // 1000} s.")

    @Slot()
    def _on_error(self) -> None:
        process = self._process
        if process is not None and process.error() is QProcess.ProcessError.FailedToStart:
            reason = process.errorString()
            self.cancel()
            self.refused.emit(f"No process could be started to try it: {reason}.")

    @Slot()
    def _on_finished(self) -> None:
        process = self._process
        if process is None:
            return
        out = bytes(process.readAllStandardOutput().data()).decode(errors="replace")
        said = bytes(process.readAllStandardError().data()).decode(errors="replace")
        self.cancel()
        answer = _last_object(out)
        if answer is not None:
            self.answered.emit(answer)
        else:
            lines = said.strip().splitlines() or ["The process that tried it ended without a word."]
            self.refused.emit(lines[-1].removeprefix("td3-studio: "))


def _last_object(text: str) -> dict[str, Any] | None:
    lines = text.strip().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
