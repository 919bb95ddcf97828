"""The dialog that imports an agent or curves of another program."""

from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QWidget,
)

from studio.consent.code_consent import CodeConsent, nothing_started
from studio.formatting import format_count
from studio.setup.env_picker import EnvPicker
from studio.share.task_dialog import TaskDialog
from studio.tasks.background_task import BackgroundTask, Stopped
from studio.theme.sizes import scaled
from studio.widgets.controls import describe
from studio.widgets.labels import breakable, plain_label
from td3core.config.env_choice import EnvChoice
from td3core.errors import RequestError
from td3core.importers.foreign import ForeignAgent
from td3core.importers.importing import Found, examine
from td3core.system.allowed_code import LocatedModule
from td3core.text import NO_TEXT, Text, tr

_FIELD_WIDTH = 300
_STATED = Text("Named in the file.")
_NAMED = Text("Not in the file; its name suggests it.")
_SIZED = Text("Not in the file; the sizes fit.")
_AGENT_DONE = Text("Imported. The agent is in the replay, and in the list of runs.")
_CURVES_DONE = Text("Imported. Compare the curves with others in the list of runs.")
_ASK = Text("Not in the file.")
_STATISTICS = (Text("Statistics ({patterns})", patterns="*.pkl"), Text("All files (*)"))


class ImportDialog(TaskDialog):
    """Shows a file's contents, asks for its environment, and runs ``td3-studio import``."""

    imported = Signal(object)
    """The object printed by the command."""

    def __init__(self, file: Path, runs_dir: Path, consent: CodeConsent, parent: QWidget) -> None:
        about = tr("Reads {file} without running anything in it.", file=file.name)
        super().__init__("import", tr("Import"), about, tr("Import"), parent)
        self._file, self._runs_dir, self._consent = file, runs_dir, consent
        self._found: Found | None = None
        self._reader = BackgroundTask("import-file", self)
        self.kind = _value("import_kind")
        self.sizes = _value("import_sizes")
        self.env = EnvPicker()
        describe(
            self.env, "import_env_combo", tr("Environment"), tr("The environment of the agent")
        )
        self.env.setCurrentText("")
        self.env.setFixedWidth(scaled(_FIELD_WIDTH))
        self.env_args = QLineEdit()
        tip = tr("Arguments passed to the environment, as a JSON object. Empty for none.")
        describe(self.env_args, "import_args_edit", tr("Arguments"), tip)
        self.env_args.setPlaceholderText(tr("none"))
        self.env_args.setFixedWidth(scaled(_FIELD_WIDTH))
        self.hint = _value("import_hint")
        self.hint.setProperty("role", "muted")
        self.statistics = _StatisticsField()
        self.statistics.chosen.connect(self._read)
        self.name = QLineEdit()
        tip = tr("Name of the run in lists and comparisons.")
        describe(self.name, "import_name_edit", tr("Name"), tip)
        self.name.setFixedWidth(scaled(_FIELD_WIDTH))
        self.group = QLineEdit()
        tip = tr(
            "Curves of one group, such as several seeds of one algorithm, are compared as one."
            " Empty for curves by themselves."
        )
        describe(self.group, "import_group_edit", tr("Group"), tip)
        self.group.setPlaceholderText(tr("none"))
        self.group.setFixedWidth(scaled(_FIELD_WIDTH))
        self.notes = _value("import_notes")
        for label in (self.kind, self.sizes, self.hint):
            # Otherwise the form would make them as narrow as a word.
            label.setMinimumWidth(scaled(_FIELD_WIDTH))
        self.form.addRow(tr("Contents"), self.kind)
        self.form.addRow(tr("Sizes"), self.sizes)
        self.form.addRow(tr("Environment"), self.env)
        self.form.addRow("", self.hint)
        self.form.addRow(tr("Arguments"), self.env_args)
        self.form.addRow(tr("VecNormalize"), self.statistics)
        self.form.setRowVisible(self.statistics, False)
        self.form.addRow(tr("Name"), self.name)
        self.form.addRow(tr("Group"), self.group)
        self.form.setRowVisible(self.group, False)
        self.form.addRow(self.notes)
        self.env.currentTextChanged.connect(self._on_env)
        self.job.answered.connect(self.imported)
        self._reader.failed.connect(self._on_unreadable)
        self._read()

    @Slot()
    def _read(self) -> None:
        """Read the file, and its statistics."""
        self._found = None
        self.start_button.setEnabled(False)
        self.job.show_status(tr("Reading…"))
        work = partial(_examine, self._file, self.statistics.path())
        self._reader.read(work, self._on_read)

    @Slot(object)
    def _on_read(self, found: Found) -> None:
        first, self._found = not self.kind.text(), found
        # Offered if the agent has no statistics; a chosen file stays visible.
        offered = found.takes_statistics or self.statistics.path() is not None
        self.form.setRowVisible(self.statistics, offered)
        self.form.setRowVisible(self.group, not found.has_agent)
        self.name.setPlaceholderText(found.name)
        self.kind.setText(breakable(found.kind))
        self.sizes.setText(_sizes(found))
        self.notes.setText("\n".join(f"• {note}" for note in found.notes))
        if first:
            self._propose_env(found)
            self.env.setFocus()
        self._on_env()
        self.job.show_status("")

    def _propose_env(self, found: Found) -> None:
        stated, likely = found.env, found.likely
        if stated is not None:
            self.env.setCurrentText(stated.env_id)
            self.env_args.setText(stated.args)
        elif likely:
            self.env.setCurrentText(likely[0])

    @Slot(object)
    def _on_unreadable(self, problem: Text) -> None:
        self.job.show_status(problem)

    @Slot()
    def _on_env(self) -> None:
        found = self._found
        self.start_button.setEnabled(
            found is not None and bool(self.env.currentText().strip()) and not self.job.busy
        )
        if found is not None:
            self.hint.setText(str(_hint(found, self.env.currentText().strip())))

    def _choice(self) -> EnvChoice:
        """Return the environment in the fields.

        Raises:
            RequestError: the arguments are not a JSON object.
        """
        return EnvChoice(self.env.currentText().strip(), self.env_args.text())

    @property
    def _is_stated(self) -> bool:
        return self._found is not None and self._choice() == self._found.env

    @Slot()
    def _on_start(self) -> None:
        try:
            choice, typed = self._choice(), not self._is_stated
        except RequestError as problem:
            self.job.show_status(problem.message)
            return
        start, declined = self.while_open(super()._on_start), self.while_open(self._on_declined)
        self._consent.obtain(choice, start, declined, typed=typed)

    def _on_declined(self, module: LocatedModule) -> None:
        self.job.show_status(nothing_started(module))

    def words(self) -> tuple[list[str], Path | None] | None:
        """Return the command."""
        choice = self._choice()
        options = ["--runs-dir", str(self._runs_dir), "--json"]
        if not self._is_stated:
            options += ["--env", choice.env_id]
            options += ["--env-args", choice.args] if choice.args else []
        statistics = self.statistics.path()
        if statistics is not None:
            options += ["--vecnormalize", str(statistics)]
        for option, field in (("--name", self.name), ("--group", self.group)):
            options += [option, text] if (text := field.text().strip()) else []
        return ["import", *options, "--", str(self._file)], None

    def show_answer(self, found: dict[str, Any]) -> None:
        """Show the result of the import."""
        self.job.show_status(_AGENT_DONE if found["checkpoint"] else _CURVES_DONE)
        self.start_button.setEnabled(False)

    @Slot(bool)
    def _on_busy(self, busy: bool) -> None:
        super()._on_busy(busy)
        for field in (self.env, self.env_args, self.statistics, self.name, self.group):
            field.setEnabled(not busy)

    def shutdown(self) -> None:
        """Stop reading, and end the command: the dialog, or the window, is closing."""
        # A deleted field that loses the focus reports that it was edited.
        self.statistics.edit.blockSignals(True)
        self._reader.cancel()
        super().shutdown()


class _StatisticsField(QWidget):
    """Asks for the file with the statistics that normalised the observations."""

    chosen = Signal()
    """Another file was chosen, or none."""

    def __init__(self) -> None:
        super().__init__()
        self.edit = QLineEdit()
        tip = tr("The vecnormalize.pkl that was saved with the agent. Empty for none.")
        describe(self.edit, "import_statistics_edit", tr("VecNormalize"), tip)
        self.edit.setPlaceholderText(tr("none"))
        self.edit.setClearButtonEnabled(True)
        self.button = QPushButton(tr("Choose…"))
        self.button.setAutoDefault(False)
        describe(self.button, "import_statistics_button", tr("Choose the statistics"), tip)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.edit, 1)
        row.addWidget(self.button)
        self.setFixedWidth(scaled(_FIELD_WIDTH))
        self._text = self._announced = ""
        self.edit.textChanged.connect(self._on_text)
        self.edit.editingFinished.connect(self._announce)
        self.button.clicked.connect(self._ask)

    def path(self) -> Path | None:
        """Return the file, if there is one."""
        return Path(self._text).expanduser().absolute() if self._text else None

    @Slot()
    def _announce(self) -> None:
        if self._text != self._announced:
            self._announced = self._text
            self.chosen.emit()

    @Slot(str)
    def _on_text(self, text: str) -> None:
        self._text = text.strip()
        if not text:
            # Cleared with its button, which does not emit editingFinished.
            self._announce()

    @Slot()
    def _ask(self) -> None:
        kinds = ";;".join(map(str, _STATISTICS))
        name, _ = QFileDialog.getOpenFileName(self, tr("Choose the statistics"), "", kinds)
        if name:
            self.edit.setText(name)
            self._announce()


def _examine(file: Path, statistics: Path | None, _: Stopped) -> Found:
    return examine(file, statistics)


def _value(name: str) -> QLabel:
    label = plain_label()
    label.setObjectName(name)
    return label


def _sizes(found: Found) -> str:
    """Return the size of the agent, or the length of the curves."""
    content = found.content
    steps = Text("{steps} steps", steps=format_count(content.env_steps))
    if not isinstance(content, ForeignAgent):
        return str(steps)
    parts = [
        Text.counted("{n} observation", "{n} observations", n=content.obs_dim),
        Text.counted("{n} action", "{n} actions", n=content.act_dim),
    ]
    if content.env_steps:
        parts.append(steps)
    if content.normalisation is not None:
        parts.append(Text("normalised"))
    return " · ".join(map(str, parts))


def _hint(found: Found, chosen: str) -> Text:
    """Return where the environment's name in the field comes from."""
    if found.env is not None:
        return _STATED if chosen == found.env.env_id else NO_TEXT
    sized = [name for name in found.likely if name != found.content.likely_env]
    if chosen and chosen == found.content.likely_env:
        return _NAMED
    if len(sized) > 1:
        return Text("Not in the file; the sizes fit {names}.", names=", ".join(sized))
    return _SIZED if sized == [chosen] else _ASK
