"""The choice of a camera, for environments that have several."""

from functools import partial

from PySide6.QtCore import Slot
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from studio.replay.frame_view import FrameView
from studio.replay.player import Player
from studio.replay.renderer.protocol import FREE, TRACKING, Loaded
from studio.widgets.controls import enable
from td3core.text import NO_TEXT, Text, tr

_TIP = Text("Drag turns, right-drag or Shift-drag moves, the wheel zooms, a double click resets")
_NONE = Text("this environment has only its own view")
_NAMES = {TRACKING: Text("Tracking"), FREE: Text("Free")}
"""Names of the cameras that the model does not name."""


class CameraMenu(QMenu):
    """Lists the cameras, and lets the mouse move the one in use."""

    def __init__(self, player: Player, parent: QWidget) -> None:
        super().__init__(tr("Camera"), parent)
        self.setObjectName("camera_menu")
        self.setToolTipsVisible(True)
        self._player = player
        self._views: list[FrameView] = []
        self._group = QActionGroup(self)
        self._names: tuple[str, ...] = ()
        self._left = ""
        """The camera in use before the user moved to the free one; empty without one."""
        self._group.triggered.connect(self._on_chosen)
        player.loaded.connect(self._on_loaded)
        self._show((), "")

    def add_view(self, view: FrameView) -> None:
        """Let the mouse move the camera in a picture."""
        self._views.append(view)
        view.let_move_camera(bool(self._names))
        view.camera_moved.connect(self._on_moved)
        view.camera_reset.connect(self._on_reset)
        view.destroyed.connect(partial(self._views.remove, view))

    @Slot(object)
    def _on_loaded(self, loaded: Loaded) -> None:
        self._show(loaded.cameras, loaded.camera)

    @Slot(QAction)
    def _on_chosen(self, action: QAction) -> None:
        self._left = ""
        self._player.look(action.data())

    @Slot(str, float, float)
    def _on_moved(self, action: str, x: float, y: float) -> None:
        chosen = self._group.checkedAction()
        camera = chosen.data() if chosen is not None else FREE
        # A camera of the model cannot be moved, and a tracking one cannot be shifted.
        if camera not in (TRACKING, FREE) or (camera == TRACKING and action == "shift"):
            self._left = camera
            self._player.look(FREE)
            self._show(self._names, FREE)
        self._player.move_camera(action, x, y)

    @Slot()
    def _on_reset(self) -> None:
        """Restore the view from before the mouse moved it."""
        left, self._left = self._left, ""
        if left in self._names:
            self._player.look(left)
            self._show(self._names, left)
        else:
            self._player.look()

    def _show(self, names: tuple[str, ...], chosen: str) -> None:
        enable(self.menuAction(), NO_TEXT if names else _NONE, _TIP)
        for view in self._views:
            view.let_move_camera(bool(names))
        if names != self._names:
            self._names = names
            for action in self._group.actions():
                self._group.removeAction(action)
                action.deleteLater()
            for name in names:
                self.addAction(self._make_action(name))
        for action in self._group.actions():
            action.setChecked(action.data() == chosen)

    def _make_action(self, name: str) -> QAction:
        action = QAction(str(_NAMES.get(name, name)), self)
        action.setObjectName(f"camera_{name.lower()}_action")
        action.setCheckable(True)
        action.setData(name)
        action.setToolTip(str(_TIP))
        self._group.addAction(action)
        return action
