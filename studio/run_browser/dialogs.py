"""The dialogs of the list of runs."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QPlainTextEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from studio.formatting import format_setting
from studio.run_browser.rows import RunRow
from studio.theme.sizes import scaled
from studio.widgets.forms import make_dialog_column, resize_within_screen
from studio.widgets.labels import ElidedLabel, shortened
from studio.widgets.messages import choose
from td3core.config import RunConfig, Tunables, default, given, specs
from td3core.runs.directory import RunDirectory
from td3core.text import Text, tr

_NOTE_SIZE = (460, 260)


def ask_note(parent: QWidget, name: str, note: str) -> str | None:
    """Let the user edit the note on a run; ``None`` if they cancel."""
    dialog = NoteDialog(name, note, parent)
    agreed = dialog.exec() == QDialog.DialogCode.Accepted
    text = dialog.editor.toPlainText().strip()
    dialog.deleteLater()
    return text if agreed else None


def ask_to_trash(parent: QWidget, runs: Sequence[RunRow]) -> bool:
    """Ask whether runs may go to the trash."""
    question = tr("Move {runs} to the trash?", runs=_several(runs))
    return _agreed(parent, question, tr("Move to trash"))


def ask_to_delete(parent: QWidget, runs: Sequence[RunRow]) -> bool:
    """Ask whether runs that cannot go to the trash may be deleted for good."""
    question = tr(
        "{runs} could not be moved to the trash. Delete permanently?"
        " The agents and records cannot be recovered.",
        runs=_several(runs),
    )
    return _agreed(parent, question, tr("Delete permanently"))


def _several(runs: Sequence[RunRow]) -> str:
    if len(runs) > 1:
        return str(Text.counted("{n} run", "{n} runs", n=len(runs)))
    (run,) = runs
    folder = shortened(run.path.name)
    return f"{shortened(run.title)} ({folder})" if run.summary else folder


def _agreed(parent: QWidget, question: str, action: str) -> bool:
    """Ask a question; return whether the answer was ``action``, the text of a button."""
    title, ways = tr("Delete runs"), {"delete": action}
    return choose(parent, "delete_question", title, "", ways, question=question) == "delete"


class NoteDialog(QDialog):
    """Edits the note on a run."""

    def __init__(self, name: str, note: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("runs_note_dialog")
        self.setWindowTitle(tr("Note"))
        resize_within_screen(self, *_NOTE_SIZE)
        about = ElidedLabel()
        about.setText(tr("Note on {name}", name=name))
        self.editor = QPlainTextEdit(note)
        self.editor.setObjectName("runs_note_editor")
        self.editor.setAccessibleName(tr("Note"))
        self.editor.setTabChangesFocus(True)
        kind = QDialogButtonBox.StandardButton
        buttons = QDialogButtonBox(kind.Ok | kind.Cancel)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        layout = make_dialog_column(self)
        layout.addWidget(about)
        layout.addWidget(self.editor, 1)
        layout.addWidget(buttons)
        self.editor.setFocus()


class SettingsDialog(QDialog):
    """Every setting a run was started with; those that differ from the default in bold."""

    def __init__(self, run: RunDirectory, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("runs_settings_dialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Settings of {title}", title=shortened(title)))
        resize_within_screen(self, 460, 560)
        self.tree = QTreeWidget()
        self.tree.setAccessibleName(tr("Settings"))
        self.tree.setHeaderLabels([tr("Setting"), tr("Value"), tr("Default")])
        self.tree.setRootIsDecorated(False)
        self._fill(run)
        for column, width in enumerate((200, 120, 90)):
            self.tree.setColumnWidth(column, scaled(width))
        note = QLabel(tr("In bold: different from the default."))
        note.setProperty("role", "muted")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.close)
        layout = make_dialog_column(self)
        layout.addWidget(self.tree)
        layout.addWidget(note)
        layout.addWidget(buttons)

    def _fill(self, run: RunDirectory) -> None:
        for values, kind in ((run.config, RunConfig), (run.first_tunables, Tunables)):
            for name, spec in specs(kind):
                value = format_setting(spec, given(values, name))
                usual = "" if name in ("env", "preset") else format_setting(spec, default(name))
                item = QTreeWidgetItem([str(spec.label), value, usual])
                item.setToolTip(0, f"{name}: {spec.help}")
                if usual and value != usual:
                    font = item.font(0)
                    font.setBold(True)
                    for column in (0, 1):
                        item.setFont(column, font)
                self.tree.addTopLevelItem(item)
