"""A headless command run in a separate process, with the object that it finally prints."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Signal, Slot

from td3core.cli import progress_line
from td3core.cli.numerics import command_line
from td3core.cli.progress_line import CommandProgress
from td3core.errors import no_process, quoted
from td3core.system import allowed_code
from td3core.system.json_lines import LineBuffer, LineError
from td3core.text import Text

_END_MS = 2_000


class CliProcess(QObject):
    """One command at a time; a new one cancels the previous one."""

    answered = Signal(object)
    """The object printed by the command with ``--json``."""
    refused = Signal(object)
    """Why there is no answer, a ``Text``: the printed error, else the last line of standard
    error."""
    progressed = Signal(object)
    """Its progress, a ``CommandProgress``; a line from other software comes without share."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process: QProcess | None = None
        self._last_line, self._lines = "", LineBuffer()

    @property
    def busy(self) -> bool:
        """True until the command has ended."""
        return self._process is not None

    def run(self, words: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Start ``td3-studio`` with these arguments and additional environment variables.

        Code that is allowed in this process is allowed in the command, too.
        """
        self.cancel()
        process = self._process = QProcess(self)
        variables = QProcessEnvironment.systemEnvironment()
        variables.insert(progress_line.VARIABLE, progress_line.AS_JSON)
        for name, value in (environment or {}).items():
            variables.insert(name, value)
        process.setProcessEnvironment(variables)
        # Not -m, which would first search the current folder for the program.
        program, *arguments = command_line(words)
        process.setProgram(program)
        process.setArguments(arguments)
        process.readyReadStandardError.connect(self._on_progress)
        process.finished.connect(self._on_finished)
        process.errorOccurred.connect(self._on_error)
        process.start()
        # Not for a process that could not be started.
        if self._process is process:
            process.write(allowed_code.first_message())
            process.closeWriteChannel()

    def cancel(self) -> None:
        """End the process, without further signals."""
        process, self._process = self._process, None
        self._last_line, self._lines = "", LineBuffer()
        if process is not None:
            process.blockSignals(True)
            process.kill()
            process.waitForFinished(_END_MS)
            process.deleteLater()

    @Slot()
    def _on_progress(self) -> None:
        if self._process is not None:
            self._take(bytes(self._process.readAllStandardError().data()))

    def _take(self, piece: bytes) -> None:
        told = None
        for line in filter(None, map(bytes.strip, self._lines.add(piece))):
            told = _progress(line)
            if told is None:
                # Progress bars of other software rewrite one line.
                self._last_line = line.decode(errors="replace").splitlines()[-1]
                told = CommandProgress(message=quoted(self._last_line))
        if told is not None:
            self.progressed.emit(told)

    @Slot()
    def _on_error(self) -> None:
        process = self._process
        if process is not None and process.error() is QProcess.ProcessError.FailedToStart:
            reason = OSError(process.errorString())
            self.cancel()
            self.refused.emit(no_process(reason))

    @Slot()
    def _on_finished(self) -> None:
        process = self._process
        if process is None:
            return
        self._on_progress()
        # The last line may lack its newline.
        self._take(b"\n")
        found, last = _last_object(_text(process.readAllStandardOutput())), self._last_line
        self.cancel()
        if found is not None and "error" not in found:
            self.answered.emit(found)
            return
        why = found["error"] if found else last.removeprefix("td3-studio: ")
        self.refused.emit(quoted(why) if why else Text("The command ended without an answer."))


def _text(data: Any) -> str:
    return bytes(data.data()).decode(errors="replace")


def _progress(line: bytes) -> CommandProgress | None:
    """Return the command's progress from a line; None if it comes from other software."""
    try:
        told = progress_line.CODEC.decode(line)
    except LineError:
        return None
    return told if isinstance(told, CommandProgress) else None


def _last_object(text: str) -> dict[str, Any] | None:
    """Return the object in the last line of a command's output, if there is one."""
    lines = text.strip().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
