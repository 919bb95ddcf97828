"""Folds the panels of both sides into one row of tabs while the window is too narrow.

If it is still too narrow then, as with large fonts, the forms in the panels scroll sideways, and if
that does not suffice the plots as well.
"""

from PySide6.QtCore import QByteArray, QEvent, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QDockWidget, QMainWindow

from studio.theme.sizes import scale
from studio.widgets.form_area import FormArea

_SMALLEST = (560, 360)
"""Smallest size of the window, whatever its panels need: they fold and scroll."""
_SIDES = (Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea)


class Fold(QObject):
    """Watches the width of a window. With large fonts, even wide windows need folding."""

    changed = Signal()

    def __init__(self, window: QMainWindow, version: int) -> None:
        super().__init__(window)
        self._window, self._version = window, version
        self._scale = scale()
        self._unfolded: QByteArray | None = None
        """The layout to restore; None while nothing is folded."""
        self._needed = 0
        """The smallest width that needs no folding."""
        self._needed_folded = 0
        """The smallest width at which nothing that is folded needs to scroll sideways."""
        self._held = False
        self._soon = QTimer(self, singleShot=True)
        self._soon.timeout.connect(self._look)
        # Otherwise the window could not become too narrow, only larger than its screen.
        window.setMinimumSize(*_SMALLEST)
        window.installEventFilter(self)

    @property
    def folded(self) -> bool:
        """True while the panels of both sides share one row of tabs."""
        return self._unfolded is not None

    def layout(self) -> QByteArray:
        """Return the unfolded layout, for storing."""
        return self._unfolded or self._window.saveState(self._version)

    def hold(self, held: bool) -> None:
        """Leave the panels unchanged while one of them takes most of the window."""
        self._held = held
        self._soon.start()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Check again when the window, or the space its panels need, has changed."""
        kinds = QEvent.Type
        if event.type() in (kinds.Resize, kinds.LayoutRequest, kinds.Show):
            self._soon.start()
        elif event.type() == kinds.FontChange or self._is_resized_by(event):
            self._needed = self._needed_folded = 0
            self._soon.start()
        return super().eventFilter(watched, event)

    def _is_resized_by(self, event: QEvent) -> bool:
        """Return whether a style sheet in other sizes was set: not only in other colours."""
        before = self._scale
        if event.type() == QEvent.Type.StyleChange:
            self._scale = scale()
        return self._scale != before

    @Slot()
    def _look(self) -> None:
        if self._held or not self._window.isVisible():
            return
        width = self._window.width()
        if self._unfolded is None:
            needed = self._window.minimumSizeHint().width()
            if needed > width:
                self._needed = needed
                self._fold()
        elif width >= self._needed:
            self._unfold()
        self._scroll(width)

    def _scroll(self, width: int) -> None:
        """Let forms, then the plots, scroll sideways while the folded window is too narrow."""
        panels = (dock.widget() for dock in self._window.findChildren(QDockWidget))
        forms = [panel for panel in panels if isinstance(panel, FormArea)]
        plots = self._window.findChildren(FormArea, "centre_area")
        layout = self._window.layout()
        assert layout is not None
        if not self.folded or width >= self._needed_folded:
            for area in (*forms, *plots):
                area.scroll_sideways(False)
        for areas in (forms, plots):
            needed = self._window.minimumSizeHint().width()
            if self.folded and needed > width:
                self._needed_folded = max(self._needed_folded, needed)
                for area in areas:
                    area.scroll_sideways(True)
                layout.invalidate()

    def _fold(self) -> None:
        found = self._window.findChildren(QDockWidget)
        # Qt reorders them whenever a panel is raised.
        docks = sorted((dock for dock in found if self._at_a_side(dock)), key=self._place)
        if len(docks) < 2:
            return
        front = self._in_front(docks)
        self._unfolded = self._window.saveState(self._version)
        first, *others = docks
        for dock in others:
            hidden = dock.isHidden()
            self._window.tabifyDockWidget(first, dock)
            dock.setHidden(hidden)
        front.raise_()
        self.changed.emit()

    def _in_front(self, docks: list[QDockWidget]) -> QDockWidget:
        """Return the dock that stays in front: the focused one, else the first shown."""
        focus = self._window.focusWidget()
        used = [dock for dock in docks if focus is not None and dock.isAncestorOf(focus)]
        return next((dock for dock in [*used, *docks] if not dock.isHidden()), docks[0])

    def _at_a_side(self, dock: QDockWidget) -> bool:
        return not dock.isFloating() and self._window.dockWidgetArea(dock) in _SIDES

    def _place(self, dock: QDockWidget) -> tuple[bool, int, int]:
        """Sort by what is seen, left before right, from top to bottom."""
        side = _SIDES.index(self._window.dockWidgetArea(dock))
        return dock.visibleRegion().isEmpty(), side, dock.y()

    def _unfold(self) -> None:
        layout, self._unfolded = self._unfolded, None
        assert layout is not None
        hidden = {dock: dock.isHidden() for dock in self._window.findChildren(QDockWidget)}
        self._window.restoreState(layout, self._version)
        # Keep panels that were opened or closed meanwhile.
        for dock, was_hidden in hidden.items():
            dock.setHidden(was_hidden)
        self.changed.emit()
