"""Makes a dock as tall as its form, and gives the docks below it the rest of the column."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QSettings, Qt, QTimer, Slot
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow

from studio.widgets.form_area import FormArea

_LEFT_FOR_OTHERS = 200
"""Pixels of the column that the docks below always keep."""


class ColumnFit(QObject):
    """Fits a dock to its form until the user drags the dock's edge."""

    def __init__(
        self, window: QMainWindow, dock: QDockWidget, form: FormArea, others: Sequence[QDockWidget]
    ) -> None:
        """Fit ``dock``, which holds ``form``; ``others`` are the docks of the same column."""
        super().__init__(window)
        self._window, self._dock, self._form, self._others = window, dock, form, tuple(others)
        self._key = f"{dock.objectName().removesuffix('_dock')}_sized_by_hand"
        self._sized_by_hand, self._window_size = False, window.size()
        form.limit_height()
        form.grown.connect(self.fit_soon)
        for watched in (window, dock):
            watched.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Fit again when the window changes size; stop fitting when the user resizes the dock."""
        if event.type() == QEvent.Type.Resize:
            if watched is self._window:
                self._window_size = self._window.size()
                self.fit_soon()
            elif isinstance(event, QResizeEvent) and self._window_size == self._window.size():
                # Dragging the vertical edge changes the width instead.
                height_only = event.size().width() == event.oldSize().width()
                pressed = QGuiApplication.mouseButtons() & Qt.MouseButton.LeftButton
                self._sized_by_hand |= height_only and bool(pressed)
        return super().eventFilter(watched, event)

    @Slot()
    def fit_soon(self) -> None:
        """Fit again soon, after a change of the layout."""
        QTimer.singleShot(0, self, self._fit)

    @Slot()
    def _fit(self) -> None:
        below = [dock for dock in self._others if _in_column(dock)]
        tabbed = bool(self._window.tabifiedDockWidgets(self._dock))
        self._form.limit_height(not tabbed)
        if tabbed:
            return
        if self._sized_by_hand or not below or not _in_column(self._dock):
            return
        total = self._dock.height() + sum(dock.height() for dock in below)
        wanted = self._dock.height() - self._form.height() + self._form.wanted_height()
        wanted = max(min(wanted, total - _LEFT_FOR_OTHERS), 1)
        share = max(total - wanted, 1) // len(below)
        sizes = [wanted, *(share for _ in below)]
        self._window.resizeDocks([self._dock, *below], sizes, Qt.Orientation.Vertical)

    def restore(self, settings: QSettings) -> None:
        """Read whether the user had set the height."""
        self._sized_by_hand = settings.value(self._key, False, bool) is True

    def save(self, settings: QSettings) -> None:
        """Store whether the user has set the height."""
        settings.setValue(self._key, self._sized_by_hand)


def _in_column(dock: QDockWidget) -> bool:
    return not dock.isFloating() and not dock.isHidden()
