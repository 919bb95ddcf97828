"""Imports files of other programs: chosen in a dialog, or dropped on the window."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QMainWindow

from studio.consent.code_consent import CodeConsent
from studio.share.task_dialog import TaskDialog
from td3core.text import tr


class ImportAction(QObject):
    """Asks for a file, and opens the import dialog."""

    imported = Signal(object)
    """Carries the object printed by ``td3-studio import``."""

    def __init__(
        self,
        window: QMainWindow,
        runs_dir: Path,
        consent: CodeConsent,
        open_dialog: Callable[[TaskDialog], None],
    ) -> None:
        """``open_dialog`` shows a dialog whose work ends with the window."""
        super().__init__(window)
        self._window, self._runs_dir, self._consent = window, runs_dir, consent
        self._open_dialog = open_dialog
        self.action = QAction(tr("Import from other programs…"), window)
        self.action.setObjectName("import_action")
        self.action.setShortcut("Ctrl+Shift+O")
        self.action.setAutoRepeat(False)
        self.action.triggered.connect(self.ask)
        window.addAction(self.action)

    @Slot()
    def ask(self) -> None:
        """Let the user choose a file."""
        # Imported on first use, so that it does not delay the start.
        from td3core.importers.registry import IMPORTERS

        kinds = [(str(each.about), " ".join(each.patterns)) for each in IMPORTERS if each.patterns]
        everything = " ".join(patterns for _, patterns in kinds)
        first = tr("All that can be imported ({patterns})", patterns=everything)
        each = [f"{about} ({patterns})" for about, patterns in kinds]
        name, _ = QFileDialog.getOpenFileName(
            self._window, tr("Import from other programs"), "", ";;".join((first, *each))
        )
        if name:
            self.show_file(Path(name))

    @Slot(Path)
    def show_file(self, path: Path) -> None:
        """Open the dialog for a file or a folder."""
        from studio.share.import_dialog import ImportDialog

        dialog = ImportDialog(path, self._runs_dir, self._consent, self._window)
        dialog.imported.connect(self.imported)
        self._open_dialog(dialog)
