"""The user's preferences for the replay, and their effects."""

import os
import sys

from PySide6.QtCore import QObject, QSettings, Slot
from PySide6.QtGui import QAction

from studio.replay.player import Player
from td3core.envs.graphics.opengl import VARIABLE, Backend
from td3core.text import Text, tr

_PLAY_AT_START, _FOLLOW, _OPENGL = "replay/play_at_start", "replay/follow_latest", "replay/opengl"
OPENGL_CHOICES = (
    (Text("Automatic"), ""),
    (Text("EGL"), Backend.EGL.value),
    (Text("OSMesa"), Backend.OSMESA.value),
    (Text("Window system"), Backend.WINDOW.value),
)
"""OpenGL backends for MuJoCo: text and value."""


class ReplayOptions(QObject):
    """Reads and writes the settings; makes the player draw with the chosen OpenGL."""

    def __init__(self, settings: QSettings, player: Player, parent: QObject) -> None:
        super().__init__(parent)
        self._settings, self._player = settings, player
        self.play_at_start_action = QAction(tr("Play an agent at start"), self)
        self.play_at_start_action.setCheckable(True)
        self.play_at_start_action.setChecked(bool(settings.value(_PLAY_AT_START, True, bool)))
        self.play_at_start_action.toggled.connect(self._remember_start)
        self._draw_with_chosen()

    @property
    def follow_latest(self) -> bool:
        """Whether new runs are followed."""
        return bool(self._settings.value(_FOLLOW, True, bool))

    @Slot(bool)
    def set_follow_latest(self, on: bool) -> None:
        """Follow new runs, or not."""
        self._settings.setValue(_FOLLOW, on)

    @property
    def opengl(self) -> str:
        """OpenGL backend for MuJoCo; empty for the first one that works."""
        chosen = str(self._settings.value(_OPENGL, "", str))
        return chosen if chosen in {value for _, value in OPENGL_CHOICES} else ""

    def set_opengl(self, value: str) -> None:
        """Draw MuJoCo environments, including the current one, with another OpenGL backend."""
        self._settings.setValue(_OPENGL, value)
        self._draw_with_chosen()

    @property
    def opengl_fixed(self) -> str:
        """Why the backend cannot be chosen here; empty if it can."""
        given = os.environ.get(VARIABLE, "")
        if given:
            return tr("{variable} is set to {value}", variable=VARIABLE, value=given)
        return "" if sys.platform == "linux" else tr("The backend can be chosen only on Linux")

    def _draw_with_chosen(self) -> None:
        chosen = self.opengl if not self.opengl_fixed else ""
        self._player.set_variables({VARIABLE: chosen} if chosen else {})

    @Slot(bool)
    def _remember_start(self, on: bool) -> None:
        self._settings.setValue(_PLAY_AT_START, on)
