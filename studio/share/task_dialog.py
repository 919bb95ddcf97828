"""Base dialog of all tasks on an agent: settings, a button, progress and a result."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, Qt, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QPushButton,
    QWidget,
)

from studio.share.folder_button import FolderButton
from studio.widgets.command_job import CommandJob
from studio.widgets.controls import describe
from studio.widgets.file_question import ask_for_file
from studio.widgets.forms import grow_with_texts, make_dialog_column
from studio.widgets.labels import breakable, plain_label
from studio.widgets.number_box import WholeNumberBox
from studio.widgets.path_actions import open_path
from td3core.config.run_config import HIGHEST_SEED
from td3core.errors import RequestError
from td3core.text import NO_TEXT, Text, tr

_WIDTH = 440


class TaskDialog(QDialog):
    """Runs a command on one agent or run. Closing the dialog ends the command.

    The window stays usable meanwhile.
    """

    def __init__(self, name: str, title: str, about: str, start: str, parent: QWidget) -> None:
        """Make the frame of a dialog.

        Args:
            name: Prefix of its parts' object names.
            title: Title of the window.
            about: What it works on, and the result.
            start: Text of the start button.
            parent: The window.
        """
        super().__init__(parent)
        self.setObjectName(f"{name}_dialog")
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._name = name
        self.target: Path | None = None
        """The file that was asked for last."""
        self._unchanged: list[tuple[Path, int]] = []
        self._closed = False
        self.open_button: QPushButton | None = None
        self.form = QFormLayout()
        self.form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.FieldsStayAtSizeHint)
        self.job = CommandJob(name, self)
        self.buttons = QDialogButtonBox()
        self.start_button = QPushButton(start)
        self.start_button.setObjectName(f"{name}_start_button")
        self.start_button.setDefault(True)
        self.cancel_button = QPushButton(tr("Cancel"))
        self.cancel_button.setObjectName(f"{name}_cancel_button")
        self.cancel_button.setEnabled(False)
        self.close_button = QPushButton(tr("Close"))
        self.close_button.setObjectName(f"{name}_close_button")
        for button, role in (
            (self.start_button, QDialogButtonBox.ButtonRole.ActionRole),
            (self.cancel_button, QDialogButtonBox.ButtonRole.ActionRole),
            (self.close_button, QDialogButtonBox.ButtonRole.RejectRole),
        ):
            self.buttons.addButton(button, role)
        text = plain_label(breakable(about))
        text.setProperty("role", "muted")
        self.column = make_dialog_column(self, _WIDTH)
        self.column.addWidget(text)
        self.column.addLayout(self.form)
        self.column.addWidget(self.job)
        self.column.addStretch(1)
        self.column.addWidget(self.buttons)
        self.start_button.clicked.connect(self._on_start)
        self.cancel_button.clicked.connect(self.job.cancel)
        self.buttons.rejected.connect(self.close)
        self.job.busy_changed.connect(self._on_busy)
        self.job.answered.connect(self.show_answer)
        # Also after Escape, which closes without a closeEvent.
        self.finished.connect(self.shutdown)

    def add_number(
        self,
        name: str,
        label: str,
        least: int,
        most: int,
        value: int,
        tip: str,
        zero: Text = NO_TEXT,
    ) -> WholeNumberBox:
        """Add a field for a whole number; ``zero`` is shown in place of 0."""
        box = WholeNumberBox(least, most, zero)
        box.setValue(value)
        describe(box, f"{self._name}_{name}_spin", label, tip)
        self.form.addRow(label, box)
        if self.form.rowCount() == 1:
            # The buttons were made earlier, and would have the focus.
            box.setFocus()
            box.selectAll()
        return box

    def add_seed(self, seed: int, tip: str) -> WholeNumberBox:
        """Add a field for the seed of the episodes."""
        return self.add_number("seed", tr("Seed"), 0, HIGHEST_SEED, seed, tip)

    def make_choice(self, name: str, label: str, tip: str) -> QCheckBox:
        """Return a check box."""
        box = QCheckBox(label)
        describe(box, f"{self._name}_{name}_check", label, tip)
        return box

    def add_file_buttons(self, open_text: str = "") -> None:
        """Offer to open the folder of the written file, and with a text the file as well."""
        if open_text:
            self.open_button = QPushButton(open_text)
            self.open_button.setObjectName(f"{self._name}_open_button")
            self.open_button.setEnabled(False)
            self.open_button.clicked.connect(self._open)
            self.buttons.addButton(self.open_button, QDialogButtonBox.ButtonRole.ActionRole)
        self._folder_button = FolderButton(self._name)
        self.buttons.addButton(self._folder_button, QDialogButtonBox.ButtonRole.ActionRole)

    def ask_target(self, title: str, first: str, kinds: Mapping[str, Sequence[str]]) -> Path | None:
        """Ask for the file to write, as :func:`ask_for_file`; then offer no earlier one."""
        path = ask_for_file(self, title, first, kinds, self.job.show_status)
        if path is not None:
            self.target = path
            self._show_file(None)
        return path

    def show_written(self, about: str) -> None:
        """Show the written file and its folder."""
        self.job.show_status(tr("Written to {path}: {about}.", path=str(self.target), about=about))
        self._show_file(self.target)

    def _show_file(self, path: Path | None) -> None:
        if self.open_button is not None:
            self.open_button.setEnabled(path is not None)
        self._folder_button.show_file(path)

    def require_unchanged(self, file: Path, changed_ns: int) -> None:
        """Start only as long as this is the modification time of a file."""
        self._unchanged.append((file, changed_ns))

    def _check_files(self) -> None:
        for file, changed_ns in self._unchanged:
            try:
                same = file.stat().st_mtime_ns == changed_ns
            except OSError:
                same = False
            if not same:
                raise RequestError(
                    "{file} no longer holds the agent that was shown.", file=file.name
                )

    @abstractmethod
    def words(self) -> tuple[list[str], Path | None] | None:
        """Return the command, and its possibly unfinished file; None to start nothing.

        Raises:
            RequestError: a field has an invalid value.
        """

    @abstractmethod
    def show_answer(self, found: dict[str, Any]) -> None:
        """Show the object printed by the command."""

    def grow(self) -> None:
        """Make room for the text shown; wrapped text would be covered otherwise."""
        grow_with_texts(self, self.column)

    def while_open(self, act: Callable[..., object]) -> Callable[..., None]:
        """Return a function that does the same; nothing once the dialog is closed and deleted."""

        def act_if_open(*words: object) -> None:
            if not self._closed:
                act(*words)

        return act_if_open

    def shutdown(self) -> None:
        """End the command: the dialog, or the window, is closing."""
        self._closed = True
        self.job.shutdown()

    @Slot()
    def _open(self) -> None:
        if self.target is not None:
            open_path(self.target)

    @Slot()
    def _on_start(self) -> None:
        try:
            self._check_files()
            found = self.words()
        except RequestError as problem:
            self.job.show_status(problem.message)
            return
        if found is not None:
            self.job.run(*found)

    @Slot(bool)
    def _on_busy(self, busy: bool) -> None:
        self.start_button.setEnabled(not busy)
        self.cancel_button.setEnabled(busy)
        for kind in (WholeNumberBox, QCheckBox):
            for box in self.findChildren(kind):
                box.setEnabled(not busy)

    def event(self, event: QEvent) -> bool:
        """Grow after a change of the layout: only then are the heights of wrapped texts known."""
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self.grow()
        return handled
