"""Lets a window import what other programs wrote: by a dialog, or dropped on it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog

from td3core.text import tr

if TYPE_CHECKING:
    from studio.window.main_window import MainWindow


class ImportAction(QObject):
    """Asks for a file, and opens the dialog of an import."""

    def __init__(self, window: "MainWindow", runs_dir: Path) -> None:
        super().__init__(window)
        self._main, self._runs_dir = window, runs_dir
        self.action = QAction(tr("Import from other programs…"), window)
        self.action.setObjectName("import_action")
        self.action.setShortcut("Ctrl+Shift+O")
        self.action.triggered.connect(self.ask)
        window.addAction(self.action)

    @Slot()
    def ask(self) -> None:
        """Let the user choose a file."""
        # Imported on first use: the window starts without it.
        from td3core.importers.registry import IMPORTERS

        kinds = [(str(each.about), " ".join(each.patterns)) for each in IMPORTERS if each.patterns]
        everything = " ".join(patterns for _, patterns in kinds)
        first = tr("All that can be imported ({patterns})", patterns=everything)
        each = [f"{about} ({patterns})" for about, patterns in kinds]
        name, _ = QFileDialog.getOpenFileName(
            self._main, tr("Import from other programs"), "", ";;".join((first, *each))
        )
        if name:
            self.show(Path(name))

    @Slot(Path)
    def show(self, path: Path) -> None:
        """Open the dialog for a file or a folder."""
        from studio.share.import_dialog import ImportDialog

        dialog = ImportDialog(path, self._runs_dir, self._main.consent, self._main)
        dialog.imported.connect(self._on_imported)
        self._main.share.tasks.open_dialog(dialog)

    @Slot(object)
    def _on_imported(self, found: dict[str, Any]) -> None:
        self._main.runs.refresh_soon()
        self._main.replay.checkpoints.refresh_runs()
        if found["checkpoint"]:
            self._main.replay.load(Path(found["checkpoint"]))


def install_import(window: "MainWindow", runs_dir: Path) -> ImportAction:
    """Let a window import files; those that are opened or dropped come here, too."""
    action = ImportAction(window, runs_dir)
    window.opener.import_wanted.connect(action.show)
    return action
