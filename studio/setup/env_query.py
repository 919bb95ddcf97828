"""Asks a process of its own about an environment: making one imports simulators and may hang."""

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from studio.tasks.cli_process import CliProcess

_PATIENCE_MS = 120_000


class EnvQuery(QObject):
    """One question at a time, answered by ``td3-studio check``; a new one drops the one before."""

    answered = Signal(object)
    """The object that ``check --json`` prints."""
    refused = Signal(str)
    """The sentence that says why there is no answer."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._command = CliProcess(self)
        self._command.answered.connect(self._on_answered)
        self._command.refused.connect(self._on_refused)
        self._command.not_started.connect(self._on_not_started)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_PATIENCE_MS)
        self._timer.timeout.connect(self._give_up)

    @property
    def busy(self) -> bool:
        """True while an answer is waited for."""
        return self._command.busy

    def ask(self, env_id: str, env_args: str, *, quick: bool) -> None:
        """Begin to try an environment."""
        words = ["check", "--json", *(["--quick"] if quick else [])]
        if env_args.strip():
            words.append(f"--set=env_args={env_args}")
        self._timer.start()
        self._command.run([*words, "--", env_id])

    def cancel(self) -> None:
        """Drop the question and end the process."""
        self._timer.stop()
        self._command.cancel()

    @Slot()
    def _give_up(self) -> None:
        self.cancel()
        self.refused.emit(f"The environment gave no answer within {_PATIENCE_MS // 1000} s.")

    @Slot(object)
    def _on_answered(self, answer: object) -> None:
        self._timer.stop()
        self.answered.emit(answer)

    @Slot(str)
    def _on_refused(self, said: str) -> None:
        self._timer.stop()
        self.refused.emit(said or "The process that tried it ended without a word.")

    @Slot(str)
    def _on_not_started(self, reason: str) -> None:
        self._timer.stop()
        self.refused.emit(f"No process could be started to try it: {reason}.")
