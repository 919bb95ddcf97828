"""The dialog that saves the displayed picture, with or without its surroundings."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QCloseEvent, QImage, QPixmap
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QLabel,
    QPushButton,
    QWidget,
)

from studio.share.folder_button import FolderButton
from studio.share.screenshot import Screenshot, compose
from studio.tasks.background_queue import BackgroundQueue
from studio.widgets.controls import describe
from studio.widgets.file_question import ask_for_file
from studio.widgets.forms import make_dialog_column
from studio.widgets.labels import breakable, plain_label
from studio.widgets.setting_names import in_labels
from td3core.errors import RequestError
from td3core.text import Text, tr

_PREVIEW = QSize(440, 300)


class PictureDialog(QDialog):
    """Shows a preview; the file is written in the background."""

    def __init__(self, screenshot: Screenshot, name: str, parent: QWidget) -> None:
        """Offer to save a picture.

        Args:
            screenshot: The displayed picture and its surroundings.
            name: Suggested name of the file.
            parent: The window.
        """
        super().__init__(parent)
        self.setObjectName("picture_dialog")
        self.setWindowTitle(tr("Save picture"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.screenshot, self._file = screenshot, name
        self._queue = BackgroundQueue("write-picture", self)
        self._queue.failed.connect(self._show_status)
        self.captions = QCheckBox(tr("With captions"))
        tip = tr("Agent, step and return below")
        describe(self.captions, "picture_captions_check", tr("With captions"), tip)
        self.captions.setChecked(True)
        self.instruments = QCheckBox(tr("With instruments"))
        closed = screenshot.instruments is None
        tip = tr("Open the instruments first") if closed else tr("As they are shown")
        describe(self.instruments, "picture_instruments_check", tr("With instruments"), tip)
        self.instruments.setChecked(not closed)
        self.instruments.setEnabled(not closed)
        self.preview = QLabel()
        describe(self.preview, "picture_preview", tr("Preview"), "")
        self.preview.setFixedSize(_PREVIEW)
        self.preview.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.status = plain_label()
        self.status.setObjectName("picture_status")
        self.save_button = QPushButton(tr("Save…"))
        self.save_button.setObjectName("picture_save_button")
        self.save_button.setDefault(True)
        self.folder_button = FolderButton("picture")
        self._lay_out()
        for box in (self.captions, self.instruments):
            box.toggled.connect(self._show_preview)
        self.save_button.clicked.connect(self._save)
        self._show_preview()

    def _lay_out(self) -> None:
        layout = make_dialog_column(self)
        for widget in (self.preview, self.captions, self.instruments, self.status):
            layout.addWidget(widget)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.addButton(self.save_button, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.addButton(self.folder_button, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.rejected.connect(self.close)
        layout.addWidget(buttons)

    def composed(self) -> QImage:
        """Return the picture as chosen."""
        return compose(
            self.screenshot,
            self.palette(),
            captions=self.captions.isChecked(),
            instruments=self.instruments.isChecked(),
        )

    def shutdown(self) -> None:
        """Wait until the file is written: the window is closing."""
        self._queue.finish()

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802
        """Finish writing the file before the dialog closes."""
        self.shutdown()
        super().closeEvent(event)

    @Slot()
    def _show_preview(self) -> None:
        image = self.composed()
        ratio = self.devicePixelRatioF()
        room = _PREVIEW * ratio
        if image.width() > room.width() or image.height() > room.height():
            keep, smooth = Qt.AspectRatioMode, Qt.TransformationMode
            image = image.scaled(room, keep.KeepAspectRatio, smooth.SmoothTransformation)
        shown = QPixmap.fromImage(image)
        shown.setDevicePixelRatio(ratio)
        self.preview.setPixmap(shown)

    @Slot()
    def _save(self) -> None:
        title, kinds = tr("Save picture"), {tr("Pictures (*.png)"): (".png",)}
        path = ask_for_file(self, title, self._file, kinds, self._show_status)
        if path is None:
            return
        self._file, image = str(path), self.composed()
        size = f"{image.width()}×{image.height()}"
        self.folder_button.show_file(None)
        self._queue.add(partial(_write, image, path), partial(self._on_written, path, size))

    def _on_written(self, path: Path, size: str, _: None) -> None:
        self._show_status(Text("Written to {path}, {size} pixels.", path=str(path), size=size))
        self.folder_button.show_file(path)

    @Slot(object)
    def _show_status(self, text: Text) -> None:
        self.status.setText(breakable(in_labels(text)))


def _write(image: QImage, path: Path) -> None:
    if not image.save(str(path)):
        raise RequestError("{path} cannot be written.", path=str(path))
