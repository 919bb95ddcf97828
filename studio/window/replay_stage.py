"""Size of the replay: a dock, most of the window, or the whole screen."""

from collections.abc import Callable
from enum import StrEnum

from PySide6.QtCore import QByteArray, QObject, Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QDockWidget, QMainWindow, QToolBar, QWidget
from shiboken6 import isValid

_STRIP = 300
"""Width in pixels of the plots next to a large replay."""
_STRIP_SHARE = 4
"""The strip takes at most the width of the window divided by this."""


class StageSize(StrEnum):
    """Size of the replay."""

    DOCK = "dock"
    LARGE = "large"
    FULL = "full"


class ReplayStage(QObject):
    """Gives the replay the space of the other panels, and gives it back."""

    changed = Signal(str)
    """The new :class:`StageSize` of the replay."""

    def __init__(
        self,
        window: QMainWindow,
        dock: QDockWidget,
        pane: QWidget,
        set_strip: Callable[[bool], None],
    ) -> None:
        """Enlarge the replay: ``pane`` in ``dock``.

        ``set_strip`` lays out the plots as a strip, or not.
        """
        super().__init__(window)
        self._window, self._dock, self._pane, self._set_strip = window, dock, pane, set_strip
        self._size = StageSize.DOCK
        self._layout: QByteArray | None = None
        self._was_maximised, self._window_size = False, window.size()
        """Of the window before it fills the screen."""
        self._focus: QWidget | None = None
        """The widget that had the focus before the replay took it."""
        self._escape = QShortcut(QKeySequence(Qt.Key.Key_Escape), window)
        self._escape.setEnabled(False)
        self._escape.activated.connect(self.leave)

    @property
    def size(self) -> StageSize:
        """Size of the replay."""
        return self._size

    @Slot()
    def toggle_large(self) -> None:
        """Show the replay large, with the plots as a strip, or as a dock again."""
        self._show(StageSize.DOCK if self._size is StageSize.LARGE else StageSize.LARGE)

    @Slot()
    def toggle_full(self) -> None:
        """Show the replay alone on the whole screen, or as a dock again."""
        self._show(StageSize.DOCK if self._size is StageSize.FULL else StageSize.FULL)

    @Slot()
    def leave(self) -> None:
        """Show the replay as a dock again."""
        self._show(StageSize.DOCK)

    def _show(self, size: StageSize) -> None:
        if size is self._size:
            return
        focus = self._window.focusWidget()
        if self._layout is not None:
            self._restore()
        self._size = size
        self._escape.setEnabled(size is not StageSize.DOCK)
        # Emitted first, so that the pane arranges its contents for this size.
        self.changed.emit(size.value)
        if size is not StageSize.DOCK:
            self._enlarge(full=size is StageSize.FULL)
            self._take_focus(focus)
        else:
            self._return_focus()

    def _enlarge(self, *, full: bool) -> None:
        window = self._window
        self._layout = window.saveState()
        self._was_maximised, self._window_size = window.isMaximized(), window.size()
        self._hide_others()
        self._dock.setFloating(False)
        self._dock.show()
        self._set_strip(not full)
        if full:
            for part in self._around():
                part.hide()
            # Replaces the dock's title bar, the only decoration that would be left.
            self._dock.setTitleBarWidget(QWidget())
            window.showFullScreen()
        else:
            strip = min(_STRIP, window.width() // _STRIP_SHARE)
            across = Qt.Orientation.Horizontal
            window.resizeDocks([self._dock], [window.width() - strip], across)

    def _take_focus(self, before: QWidget | None) -> None:
        """Give the replay the focus if the widget that had it is hidden now, or none had it."""
        if before is None or before is self._window or not before.isVisible():
            self._focus = before
            self._pane.setFocus()

    def _return_focus(self) -> None:
        """Give the focus back, unless the user has moved it to another part."""
        before, self._focus = self._focus, None
        now = self._window.focusWidget()
        free = now is None or now is self._window or self._dock.isAncestorOf(now)
        if free and before is not None and isValid(before) and before.isVisible():
            before.setFocus()

    def _restore(self) -> None:
        layout, self._layout = self._layout, None
        assert layout is not None
        if self._size is StageSize.FULL:
            for part in self._around():
                part.show()
            nothing = self._dock.titleBarWidget()
            # PySide's stub does not allow None.
            self._dock.setTitleBarWidget(None)  # type: ignore[arg-type]
            nothing.deleteLater()
            show = self._window.showMaximized if self._was_maximised else self._window.showNormal
            show()
            if not self._was_maximised:
                # At once: restored at the size of the screen, the layout would be squeezed after.
                self._window.resize(self._window_size)
        self._set_strip(False)
        self._hide_others()
        # Qt gives up the row of tabs of a panel opened meanwhile; restored over it, it would stay.
        arranged = self._window.layout()
        assert arranged is not None
        arranged.activate()
        self._window.restoreState(layout)

    def _hide_others(self) -> None:
        for dock in self._window.findChildren(QDockWidget):
            if dock is not self._dock:
                dock.hide()

    def _around(self) -> list[QWidget]:
        """Return the widgets around the docks."""
        window = self._window
        found = [window.centralWidget(), window.statusBar(), *window.findChildren(QToolBar)]
        return [part for part in found if part is not None]
