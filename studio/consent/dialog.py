"""The question whether code named by a file may run."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QFormLayout, QWidget

from studio.widgets.forms import make_dialog_column
from studio.widgets.labels import breakable, plain_label
from td3core.system.allowed_code import LocatedModule
from td3core.text import Text, tr

_WIDTH = 480
_ABOUT = Text(
    "A file names the environment of this run, and that environment is code. To show the agent or"
    " to continue the run, the code has to run on your computer. It can do everything that you"
    " can."
)
_ADVICE = Text(
    "Run it only if you know where it comes from. The answer is remembered until the module lies"
    " in another folder. Without it you still see the run's curves and settings."
)


class ConsentDialog(QDialog):
    """Shows a module and its file; "Do not run" is the default."""

    answered = Signal(bool)

    def __init__(self, module: LocatedModule, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("consent_dialog")
        self.setWindowTitle(tr("Run code that a file names?"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        form = QFormLayout()
        for name, label, text in (
            ("consent_module", tr("Module"), module.name),
            ("consent_path", tr("File"), module.path),
        ):
            value = plain_label(breakable(text))
            value.setObjectName(name)
            value.setAccessibleName(label)
            value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            form.addRow(label, value)
        buttons = QDialogButtonBox()
        refuse = buttons.addButton(tr("Do not run"), QDialogButtonBox.ButtonRole.RejectRole)
        allow = buttons.addButton(tr("Run this code"), QDialogButtonBox.ButtonRole.AcceptRole)
        refuse.setObjectName("consent_refuse_button")
        allow.setObjectName("consent_allow_button")
        allow.setAutoDefault(False)
        refuse.setDefault(True)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        advice = plain_label(str(_ADVICE))
        advice.setProperty("role", "muted")
        layout = make_dialog_column(self, _WIDTH)
        layout.addWidget(plain_label(str(_ABOUT)))
        layout.addLayout(form)
        layout.addWidget(advice)
        layout.addWidget(buttons)
        # Only after the buttons were added: otherwise the first one would get the focus.
        refuse.setFocus()
        self.finished.connect(self._on_finished)

    @Slot(int)
    def _on_finished(self, result: int) -> None:
        self.answered.emit(result == QDialog.DialogCode.Accepted)
