"""Examines an environment in a separate process: creating it imports a simulator and may hang."""

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from studio.tasks.cli_process import CliProcess
from td3core.text import Text

_TIMEOUT_MS = 120_000


class EnvQuery(QObject):
    """Runs ``td3-studio check``, one query at a time; a new one cancels the previous one."""

    answered = Signal(object)
    """Carries the object printed by ``check --json``."""
    refused = Signal(object)
    """Carries a ``Text`` that explains why there is no answer."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._command = CliProcess(self)
        self._command.answered.connect(self._on_answered)
        self._command.refused.connect(self._on_refused)
        self._timer = QTimer(self, singleShot=True, interval=_TIMEOUT_MS)
        self._timer.timeout.connect(self._on_timeout)

    @property
    def busy(self) -> bool:
        """True until there is an answer."""
        return self._command.busy

    def ask(self, env_id: str, env_args: str, *, quick: bool) -> None:
        """Start to examine an environment."""
        words = ["check", "--json", *(["--quick"] if quick else [])]
        if env_args.strip():
            words.append(f"--set=env_args={env_args}")
        self._timer.start()
        self._command.run([*words, "--", env_id])

    def cancel(self) -> None:
        """Cancel the query and end its process."""
        self._timer.stop()
        self._command.cancel()

    @Slot()
    def _on_timeout(self) -> None:
        self.cancel()
        seconds = _TIMEOUT_MS // 1000
        late = Text("The environment did not answer within {seconds} s.", seconds=seconds)
        self.refused.emit(late)

    @Slot(object)
    def _on_answered(self, answer: object) -> None:
        self._timer.stop()
        self.answered.emit(answer)

    @Slot(object)
    def _on_refused(self, sentence: Text) -> None:
        self._timer.stop()
        self.refused.emit(sentence)
