"""Notifies the user of the end of long tasks while the window is not in front."""

import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtWidgets import QApplication, QMainWindow, QSystemTrayIcon

from td3core.text import Text

LONG_S = 30.0
"""Tasks shorter than this end without a message."""
_SHOWN_MS = 10_000


class Notifier(QObject):
    """Shows a quiet desktop message; without one available, the task bar marks the window."""

    def __init__(
        self,
        window: QMainWindow,
        enabled: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Notify for a window; ``enabled`` returns whether the user wants that."""
        super().__init__(window)
        self._window, self._enabled, self._clock = window, enabled, clock
        self._begun: dict[str, float] = {}
        self._icon: QSystemTrayIcon | None = None
        self._hiding = QTimer(self, singleShot=True, interval=_SHOWN_MS)
        self._hiding.timeout.connect(self.stop)

    def begin(self, work: str) -> None:
        """Note that work begins."""
        self._begun[work] = self._clock()

    @Slot(str, object, object)
    def end(self, work: str, title: Text | str, text: Text | str) -> None:
        """Notify of the end of work if it took long and the window is not in front."""
        begun = self._begun.pop(work, None)
        if begun is None or self._clock() - begun < LONG_S or not self._enabled():
            return
        if QApplication.activeWindow() is None:
            self.notify(str(title), str(text))

    def notify(self, title: str, text: str) -> None:
        """Show a message now."""
        QApplication.alert(self._window)
        if not QSystemTrayIcon.isSystemTrayAvailable():
            return
        if self._icon is None:
            self._icon = QSystemTrayIcon(self._window.windowIcon(), self)
            self._icon.setToolTip("TD3 Studio")
            self._icon.messageClicked.connect(self._come_to_front)
            self._icon.activated.connect(self._come_to_front)
        # A message needs a tray icon, which is removed with it.
        self._icon.show()
        self._icon.showMessage(title, text, self._window.windowIcon(), _SHOWN_MS)
        self._hiding.start()

    @Slot()
    def stop(self) -> None:
        """Remove the icon."""
        if self._icon is not None:
            self._icon.hide()

    @Slot()
    def _come_to_front(self) -> None:
        self.stop()
        self._window.showNormal() if self._window.isMinimized() else self._window.show()
        self._window.raise_()
        self._window.activateWindow()
