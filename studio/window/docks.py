"""The docks around the plots: positions, sizes and saved layout."""

from functools import partial

from PySide6.QtCore import QByteArray, QEvent, QObject, QSettings, QSize, Qt, QTimer, Slot
from PySide6.QtGui import QResizeEvent, QScreen
from PySide6.QtWidgets import QDockWidget, QMainWindow, QMenu, QTabBar, QWidget
from shiboken6 import isValid

from studio.theme.sizes import scaled
from studio.widgets.column_fit import ColumnFit
from studio.widgets.form_area import FormArea
from studio.widgets.forms import room_on
from studio.window.docking.fold import Fold
from studio.window.panels import Panels, PanelSpec
from td3core.text import tr

_VERSION = 2
_SIZE = (1280, 800)
_PLOTS, _PLOTS_WIDTH = 500, 460
"""Pixels of height that plots need to be readable, and of width that the picture leaves them."""
_OUTSIDE = 500
"""Pixels beyond the window's corner, near where Qt keeps rows of tabs without panels."""
_SHOWN = "shown_panels"
"""Settings: whether each panel was open."""
_BESIDE = "replay"
"""The panel on the right that others are tabbed with."""
_AREAS = {
    "left": Qt.DockWidgetArea.LeftDockWidgetArea,
    "right": Qt.DockWidgetArea.RightDockWidgetArea,
    "bottom": Qt.DockWidgetArea.BottomDockWidgetArea,
}


class Docks(QObject):
    """A dock for each panel of a window."""

    def __init__(self, window: QMainWindow, panels: Panels) -> None:
        super().__init__(window)
        self._window, self._panels = window, panels
        self._specs = {spec.name: spec for spec in panels.specs}
        self._docks: dict[str, QDockWidget] = {}
        self._tabs_changed = QTimer(self, singleShot=True)
        self._tabs_changed.timeout.connect(self._prepare_tabs)
        # The left and right columns extend down to the status bar.
        window.setCorner(Qt.Corner.BottomLeftCorner, _AREAS["left"])
        window.setCorner(Qt.Corner.BottomRightCorner, _AREAS["right"])
        for spec in panels.specs:
            self._add(spec)
        self._fits = [
            self._fit_to_form(self._specs[name], dock)
            for name, dock in self._docks.items()
            if self._specs[name].compact
        ]
        self.menu = QMenu(window)
        self.menu.addActions([dock.toggleViewAction() for dock in self._docks.values()])
        self._is_first = True
        """Whether the panels still have their default sizes, and no saved ones."""
        self._aside: set[str] = set()
        """Bottom panels that were moved beside the plots."""
        self.fold = Fold(window, _VERSION)
        for fit in self._fits:
            self.fold.changed.connect(fit.fit_soon)
        self.fold.changed.connect(self._choose_places)
        window.installEventFilter(self)

    def _add(self, spec: PanelSpec) -> None:
        dock = QDockWidget(str(spec.title), self._window)
        dock.setObjectName(f"{spec.name}_dock")
        self._panels.when_made(spec.name, partial(_fill, dock, spec))
        if dock.widget() is None:
            # Placeholder with the size from the saved layout.
            dock.setWidget(QWidget())
        neighbours = self._on_side(spec)
        self._window.addDockWidget(_AREAS[spec.side], dock)
        if spec.tabbed and neighbours:
            self._window.tabifyDockWidget(neighbours[-1], dock)
        dock.setHidden(spec.hidden)
        action = dock.toggleViewAction()
        # Qt would hide a dock that is shown but behind other tabs.
        action.triggered.disconnect()
        action.triggered.connect(partial(self._toggle, spec.name))
        dock.installEventFilter(self)
        dock.visibilityChanged.connect(partial(self._on_visible, spec.name))
        self._docks[spec.name] = dock

    def _on_visible(self, name: str, visible: bool) -> None:
        self._tabs_changed.start()
        if visible:
            self._panels.named(name)

    def _prepare_tabs(self) -> None:
        """Name the tab bars, which Qt makes; it keeps empty ones outside the window.

        A tab bar left with one panel may cover the toolbar: move it out of sight. Once nothing
        needs to change, this must not lay out the window, which would call it again.
        """
        direct = Qt.FindChildOption.FindDirectChildrenOnly
        for tabs in self._window.findChildren(QTabBar, options=direct):
            tabs.setAccessibleName(tr("Panels in this place"))
            # With large fonts, elided tabs would show only one letter.
            if tabs.elideMode() != Qt.TextElideMode.ElideNone:
                tabs.setElideMode(Qt.TextElideMode.ElideNone)
            tabs.setUsesScrollButtons(True)
            seen = tabs.geometry().intersects(self._window.rect())
            if seen and tabs.count() == 1:
                # If it were hidden, Qt would lay out the window to show it again, endlessly.
                tabs.move(-tabs.width() - _OUTSIDE, -tabs.height() - _OUTSIDE)
            policy = Qt.FocusPolicy
            tabs.setFocusPolicy(policy.TabFocus if seen and tabs.count() > 1 else policy.NoFocus)

    def _on_side(self, spec: PanelSpec) -> list[QDockWidget]:
        return [d for name, d in self._docks.items() if self._specs[name].side == spec.side]

    def _fit_to_form(self, spec: PanelSpec, dock: QDockWidget) -> ColumnFit:
        form = dock.widget()
        assert isinstance(form, FormArea)
        others = [
            other
            for name, other in self._docks.items()
            if self._specs[name].side == spec.side
            and not self._specs[name].tabbed
            and other is not dock
        ]
        return ColumnFit(self._window, dock, form, others)

    def _set_first_sizes(self) -> None:
        # Not before the window is shown: Qt forgets the size of tabbed panels.
        for name, dock in self._docks.items():
            spec = self._specs[name]
            if dock is self._on_side(spec)[0]:
                self._window.resizeDocks([dock], [spec.size], _direction(spec))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Let the picture grow with the window, and take the focus out of a panel that closes.

        By default Qt gives all new space to the plots, and the focus to the Train button.
        """
        if event.type() == QEvent.Type.Hide and isinstance(watched, QDockWidget):
            focus = self._window.focusWidget()
            if watched.isHidden() and focus is not None and watched.isAncestorOf(focus):
                self._window.setFocus()
                # A panel that only moves is shown again within one event.
                QTimer.singleShot(0, self, partial(self._return_focus, focus))
        if watched is self._window and event.type() == QEvent.Type.LayoutRequest:
            self._tabs_changed.start()
        if watched is self._window and isinstance(event, QResizeEvent):
            before, now = event.oldSize().width(), event.size().width()
            if before > 0 and now != before and self._window.isVisible():
                self._grow(now / before)
        if watched is self._window and event.type() == QEvent.Type.Show and self._is_first:
            self._is_first = False
            self._set_first_sizes()
            self._grow(1.0)
        return super().eventFilter(watched, event)

    def _return_focus(self, before: QWidget) -> None:
        if isValid(before) and before.isVisible() and self._window.focusWidget() is self._window:
            before.setFocus()

    def _grow(self, by: float) -> None:
        for name, dock in self._docks.items():
            grows = self._specs[name].grows and self._is_usual_place(name)
            if grows and dock.isVisible() and not dock.isFloating():
                size = max(self._specs[name].size, round(dock.width() * by))
                QTimer.singleShot(0, self, partial(self._set_width, dock, size))

    def _is_usual_place(self, name: str) -> bool:
        return self._window.dockWidgetArea(self._docks[name]) == _AREAS[self._specs[name].side]

    def _set_width(self, dock: QDockWidget, width: int) -> None:
        centre = self._window.centralWidget()
        if centre is not None:
            width = max(min(width, dock.width() + centre.width() - _PLOTS_WIDTH), 1)
        self._window.resizeDocks([dock], [width], Qt.Orientation.Horizontal)

    def dock(self, name: str) -> QDockWidget:
        """Return the dock of the panel with this name."""
        return self._docks[name]

    # One panel ----------------------------------------------------------------------------------

    def open(self, name: str) -> None:
        """Show a panel at a useful size, in front of the panels tabbed with it."""
        dock, spec = self._docks[name], self._specs[name]
        self._panels.named(name)
        if spec.aside and dock.isHidden() and not dock.isFloating():
            self._choose_place(name)
        dock.show()
        dock.raise_()
        size = dock.height() if spec.side == "bottom" else dock.width()
        if size < spec.size and not dock.isFloating() and self._is_usual_place(name):
            self._window.resizeDocks([dock], [spec.size], _direction(spec))

    @Slot(str)
    def reveal(self, name: str) -> None:
        """Open a panel unless it is visible: its size stays."""
        if not self.is_seen(name):
            self.open(name)

    def _toggle(self, name: str) -> None:
        """Hide a visible panel; open one that is closed or behind others."""
        dock = self._docks[name]
        if self.is_seen(name):
            dock.hide()
        else:
            self.open(name)
        dock.toggleViewAction().setChecked(not dock.isHidden())

    def _choose_place(self, name: str) -> None:
        """Put a bottom panel beside the plots if it would leave them too little height."""
        window, dock, replay = self._window, self._docks[name], self._docks[_BESIDE]
        at_bottom = [
            other
            for other in self._docks.values()
            if other.isVisible() and window.dockWidgetArea(other) == _AREAS["bottom"]
        ]
        centre = window.centralWidget()
        taken = self._specs[name].size - max((each.height() for each in at_bottom), default=0)
        short = (
            centre is not None and centre.isVisible() and centre.height() - taken < scaled(_PLOTS)
        )
        # Not ``isVisible``: it may be behind another tab.
        if short and not replay.isHidden() and not replay.isFloating():
            window.tabifyDockWidget(replay, dock)
            self._aside.add(name)
        elif name in self._aside:
            self._aside.discard(name)
            window.addDockWidget(_AREAS["bottom"], dock)
            for other in at_bottom[:1]:
                window.tabifyDockWidget(other, dock)

    @Slot()
    def _choose_places(self) -> None:
        """Place the panels beside the plots again: folding discards their places."""
        for name in list(self._aside):
            if not self._docks[name].isHidden() and not self._docks[name].isFloating():
                self._choose_place(name)

    def close(self, name: str) -> None:
        """Hide a panel."""
        self._docks[name].hide()

    def is_seen(self, name: str) -> bool:
        """Return whether a panel is visible, not only its tab."""
        panel = self._docks[name].widget()
        return panel is not None and not panel.visibleRegion().isEmpty()

    def seen(self) -> list[QWidget]:
        """Return the visible docks."""
        return [dock for name, dock in self._docks.items() if self.is_seen(name)]

    def is_at_bottom(self, part: QWidget) -> bool:
        """Return whether a part of the window is a dock below the plots."""
        docked = part in self._docks.values()
        return docked and self._window.dockWidgetArea(part) == _AREAS["bottom"]  # type: ignore[arg-type]

    def page_of(self, part: QWidget) -> str:
        """Return the manual's page about a dock; empty for anything else."""
        names = (name for name, dock in self._docks.items() if dock is part)
        return next((self._specs[name].page for name in names), "")

    # The saved layout ---------------------------------------------------------------------------

    def restore(self, settings: QSettings) -> None:
        """Restore the layout of the last session, if there was one."""
        self._window.resize(first_size(self._window.screen()))
        geometry, layout = settings.value("geometry"), settings.value("layout")
        if isinstance(geometry, QByteArray):
            self._window.restoreGeometry(geometry)
        if isinstance(layout, QByteArray):
            self._is_first = not self._window.restoreState(layout, _VERSION)
            # The layout of a folded window is older than its panels.
            for name, dock in self._docks.items():
                shown = settings.value(f"{_SHOWN}/{name}", not dock.isHidden(), bool)
                dock.setHidden(not shown)
        for fit in self._fits:
            fit.restore(settings)

    def save(self, settings: QSettings) -> None:
        """Store the layout for the next session."""
        settings.setValue("geometry", self._window.saveGeometry())
        settings.setValue("layout", self.fold.layout())
        for name, dock in self._docks.items():
            settings.setValue(f"{_SHOWN}/{name}", not dock.isHidden())
        for fit in self._fits:
            fit.save(settings)


def _fill(dock: QDockWidget, spec: PanelSpec, panel: QWidget) -> None:
    """Put a panel into its dock."""
    empty = dock.widget()
    dock.setWidget(FormArea(panel) if spec.scrolls else panel)
    if empty is not None:
        empty.deleteLater()


def first_size(screen: QScreen) -> QSize:
    """Return the default size, reduced to fit on the screen with the window's frame."""
    return QSize(*_SIZE).boundedTo(room_on(screen))


def _direction(spec: PanelSpec) -> Qt.Orientation:
    """Return the direction in which the user can resize the panels of a side."""
    return Qt.Orientation.Vertical if spec.side == "bottom" else Qt.Orientation.Horizontal
