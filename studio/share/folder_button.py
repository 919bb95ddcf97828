"""A button that opens the folder of a written file."""

from pathlib import Path

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QPushButton

from studio.widgets.controls import describe
from studio.widgets.labels import plain_tip
from studio.widgets.path_actions import open_path
from td3core.text import tr


class FolderButton(QPushButton):
    """Disabled until there is a file."""

    def __init__(self, name: str) -> None:
        super().__init__(tr("Open folder"))
        describe(self, f"{name}_folder_button", tr("Open folder"), "")
        # Enter starts the dialog's task.
        self.setAutoDefault(False)
        self._folder: Path | None = None
        self.clicked.connect(self._open)
        self.show_file(None)

    def show_file(self, path: Path | None) -> None:
        """Offer the folder of a file; None disables the button."""
        self._folder = None if path is None else path.parent
        self.setEnabled(path is not None)
        self.setToolTip(plain_tip(str(self._folder)) if path else tr("Nothing is written yet"))

    @Slot()
    def _open(self) -> None:
        if self._folder is not None:
            open_path(self._folder)
