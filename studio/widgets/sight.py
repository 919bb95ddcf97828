"""Whether a widget is visible at all."""

from enum import Enum, auto

from PySide6.QtCore import QEvent, QObject, QTimer, Signal, Slot
from PySide6.QtWidgets import QDockWidget, QWidget

_CHANGES = frozenset(
    {
        QEvent.Type.Show,
        QEvent.Type.Hide,
        QEvent.Type.Move,
        QEvent.Type.Resize,
        QEvent.Type.Expose,
        QEvent.Type.WindowStateChange,
    }
)


class Shown(Enum):
    """Visibility of a widget."""

    CLOSED = auto()
    """Not visible: its panel is closed."""
    BEHIND = auto()
    """Not visible: its panel is behind a tab, or its window is minimised or on another desktop."""
    SEEN = auto()


class Sight(QObject):
    """Reports whether the user can see a widget; for Qt it is visible behind a tab, too."""

    changed = Signal(object)
    """Carries :class:`Shown`."""
    due = Signal()
    """The widget is to be refreshed: it has come into sight, or a refresh was asked for."""

    def __init__(self, widget: QWidget, delay_ms: int = 0) -> None:
        """``delay_ms``: time from a request until the refresh is :attr:`due`."""
        super().__init__(widget)
        self._widget = widget
        self._around: list[QObject] = []
        self._shown = Shown.CLOSED
        # A panel that moves is hidden and shown within one event.
        self._soon = QTimer(self, singleShot=True)
        self._soon.timeout.connect(self._look)
        self.delay = QTimer(self, singleShot=True, interval=delay_ms)
        """Runs while a refresh that was asked for is pending."""
        self.delay.timeout.connect(self._announce)
        widget.installEventFilter(self)

    @Slot()
    def ask(self) -> None:
        """Ask for a refresh, one for all requests until then; none while the widget is unseen."""
        if self.seen and not self.delay.isActive():
            self.delay.start()

    @property
    def seen(self) -> bool:
        """True if the widget is visible."""
        return shown_of(self._widget) is Shown.SEEN

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Check again after events that may have changed the visibility."""
        if event.type() in _CHANGES:
            if watched is self._widget and event.type() == QEvent.Type.Show:
                self._watch_around()
            self._soon.start()
        return False

    def _watch_around(self) -> None:
        """Watch the dock and the window, which change when a panel floats."""
        around: list[QObject] = [self._widget.window()]
        handle = self._widget.window().windowHandle()
        if handle is not None:
            around.append(handle)
        above = self._widget.parentWidget()
        while above is not None and not isinstance(above, QDockWidget):
            above = above.parentWidget()
        if above is not None:
            around.append(above)
        for each in around:
            # A filter installed twice is called only once.
            each.installEventFilter(self)
            if isinstance(each, QDockWidget) and each not in self._around:
                each.visibilityChanged.connect(self._look_soon)
        self._around = around

    @Slot()
    def _look_soon(self) -> None:
        self._soon.start()

    @Slot()
    def _look(self) -> None:
        shown = shown_of(self._widget)
        if shown is not self._shown:
            self._shown = shown
            self.changed.emit(shown)
            self._announce()

    @Slot()
    def _announce(self) -> None:
        if self.seen:
            self.due.emit()


def shown_of(widget: QWidget) -> Shown:
    """Return the current visibility of a widget."""
    if not widget.isVisible():
        return Shown.CLOSED
    window = widget.window()
    handle = window.windowHandle()
    seen = (
        not window.isMinimized()
        and (handle is None or handle.isExposed())
        # Qt keeps widgets behind a tab outside the window.
        and not widget.visibleRegion().isEmpty()
    )
    return Shown.SEEN if seen else Shown.BEHIND
