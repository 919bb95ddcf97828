"""Notices when the settings of the window cannot be stored."""

from PySide6.QtCore import QEvent, QObject, QSettings, QTimer, Signal, Slot

from td3core.text import Text


class StorageWatch(QObject):
    """Reports once that settings cannot be stored, at the start or when they change later."""

    failed = Signal(str, object)
    """Carries the level of the message, and a ``Text``."""

    def __init__(self, settings: QSettings, parent: QObject) -> None:
        super().__init__(parent)
        self._settings, self._told = settings, False
        # QSettings has no signal; it stores changes when it gets this event.
        settings.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Look once the settings have been stored."""
        if event.type() == QEvent.Type.UpdateRequest and not self._told:
            QTimer.singleShot(0, self, self.look)
        return super().eventFilter(watched, event)

    @Slot()
    def look(self) -> None:
        """Report it if the settings cannot be stored."""
        settings = self._settings
        sound = settings.status() is QSettings.Status.NoError and settings.isWritable()
        if sound or self._told:
            return
        self._told = True
        lost = Text(
            "Settings and the layout of the window cannot be stored in {file}: they are lost when"
            " it closes.",
            file=settings.fileName(),
        )
        self.failed.emit("warning", lost)
