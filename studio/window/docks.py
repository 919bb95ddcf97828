"""The panels around the plots: where they lie, how large they are, and that they come back."""

from collections.abc import Mapping

from PySide6.QtCore import QByteArray, QEvent, QObject, QSettings, Qt, QTimer, Slot
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QMenu, QWidget

from studio.widgets.form_area import FormArea

_VERSION = 2
_BY_HAND = "setup_sized_by_hand"
_SIZE = (1280, 800)
_RUNS_HEIGHT = 290
"""Pixels for the list of runs to show some of them."""
_LIVE_LEAST = 200
"""Pixels that the live settings keep while the setup shows all of its own."""
_AREAS = {
    "left": Qt.DockWidgetArea.LeftDockWidgetArea,
    "right": Qt.DockWidgetArea.RightDockWidgetArea,
    "bottom": Qt.DockWidgetArea.BottomDockWidgetArea,
}
_TITLES = {
    # name: title, side
    "setup": ("Setup", "left"),
    "live": ("Live settings", "left"),
    "replay": ("Replay", "right"),
    "log": ("Log", "bottom"),
    "runs": ("Runs", "bottom"),
}


class Docks(QObject):
    """The docks of a window."""

    def __init__(self, window: QMainWindow, contents: Mapping[str, QWidget]) -> None:
        """Take what each panel holds: ``setup``, ``live``, ``replay``, ``log`` and ``runs``."""
        super().__init__(window)
        self._window = window
        self._by_hand, self._size = False, window.size()
        for corner, side in (
            (Qt.Corner.BottomLeftCorner, "left"),
            (Qt.Corner.BottomRightCorner, "right"),
        ):
            window.setCorner(corner, _AREAS[side])
        self._docks = {name: self._dock(name, contents[name]) for name in _TITLES}
        form = contents["setup"]
        assert isinstance(form, FormArea)
        # Room that the setup has no use for is better given to the live settings.
        self._form = form
        form.hug()
        form.grown.connect(self._fit_soon)
        for watched in (window, self._docks["setup"]):
            watched.installEventFilter(self)
        window.tabifyDockWidget(self._docks["log"], self._docks["runs"])
        for name in ("log", "runs"):
            self._docks[name].hide()
        self.menu = QMenu(window)
        self.menu.addActions([dock.toggleViewAction() for dock in self._docks.values()])
        horizontal, vertical = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
        window.resizeDocks([self._docks["setup"], self._docks["replay"]], [292, 300], horizontal)
        window.resizeDocks(self._left, [350, 370], vertical)
        window.resizeDocks([self._docks["log"]], [130], vertical)

    def _dock(self, name: str, content: QWidget) -> QDockWidget:
        title, side = _TITLES[name]
        dock = QDockWidget(title, self._window)
        dock.setObjectName(f"{name}_dock")
        dock.setWidget(content)
        self._window.addDockWidget(_AREAS[side], dock)
        return dock

    @property
    def _left(self) -> list[QDockWidget]:
        return [self._docks["setup"], self._docks["live"]]

    def dock(self, name: str) -> QDockWidget:
        """Return the dock called ``setup``, ``live``, ``replay``, ``log`` or ``runs``."""
        return self._docks[name]

    # Room ---------------------------------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Fit the setup into a window of another size, until a person gives it a size."""
        if event.type() == QEvent.Type.Resize:
            if watched is self._window:
                self._size = self._window.size()
                self._fit_soon()
            elif isinstance(event, QResizeEvent) and self._size == self._window.size():
                # A drag of the other edge gives it another width.
                taller = event.size().width() == event.oldSize().width()
                pressed = QGuiApplication.mouseButtons() & Qt.MouseButton.LeftButton
                self._by_hand = self._by_hand or (taller and bool(pressed))
        return super().eventFilter(watched, event)

    @Slot()
    def _fit_soon(self) -> None:
        QTimer.singleShot(0, self, self.fit_setup)

    @Slot()
    def fit_setup(self) -> None:
        """Give the setup what it needs, and the live settings below it the rest."""
        if self._by_hand or any(dock.isFloating() or dock.isHidden() for dock in self._left):
            return
        setup, total = self._docks["setup"], sum(dock.height() for dock in self._left)
        wanted = setup.height() - self._form.height() + self._form.wanted_height()
        wanted = max(min(wanted, total - _LIVE_LEAST), 1)
        sizes = [wanted, max(total - wanted, 1)]
        self._window.resizeDocks(self._left, sizes, Qt.Orientation.Vertical)

    # The list of runs ---------------------------------------------------------------------------

    @Slot()
    def show_runs(self) -> None:
        """Show the list of runs, with room for some of them."""
        dock = self._docks["runs"]
        dock.show()
        dock.raise_()
        if dock.height() < _RUNS_HEIGHT and not dock.isFloating():
            self._window.resizeDocks([dock], [_RUNS_HEIGHT], Qt.Orientation.Vertical)

    @property
    def runs_seen(self) -> bool:
        """True if the list of runs can be seen, and not only its tab."""
        content = self._docks["runs"].widget()
        return content is not None and not content.visibleRegion().isEmpty()

    def hide_runs(self) -> None:
        """Put the list of runs away."""
        self._docks["runs"].hide()

    # From one time to the next ------------------------------------------------------------------

    def restore(self, settings: QSettings) -> None:
        """Lay everything out as it was left, if it ever was."""
        self._window.resize(*_SIZE)
        geometry, layout = settings.value("geometry"), settings.value("layout")
        if isinstance(geometry, QByteArray):
            self._window.restoreGeometry(geometry)
        if isinstance(layout, QByteArray):
            self._window.restoreState(layout, _VERSION)
        self._by_hand = settings.value(_BY_HAND, False, bool) is True

    def save(self, settings: QSettings) -> None:
        """Note how everything is laid out."""
        settings.setValue("geometry", self._window.saveGeometry())
        settings.setValue("layout", self._window.saveState(_VERSION))
        settings.setValue(_BY_HAND, self._by_hand)
