"""The bar at the top: what can be done with a run now, and which run is on show."""

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu, QSizePolicy, QToolBar, QToolButton

from studio.session.controller import SessionState
from studio.theme.theme import Theme
from studio.widgets.labels import ElidedLabel, plain_tip

_RESUME = "Go on where a run was left"


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    text: str
    icon: str
    keys: str
    tip: str


_OF_RUNS = (
    _Entry("train", "Train", "play", "Ctrl+T", "Start a new run with the settings on the left"),
    _Entry("pause", "Pause", "pause", "Ctrl+P", "Hold the run between two steps"),
    _Entry("stop", "Stop", "stop", "Ctrl+.", "Save the agent and end the run"),
    _Entry("save", "Save", "content-save-outline", "Ctrl+S", "Save a checkpoint now"),
    _Entry("resume", "Resume", "play-outline", "Ctrl+Shift+R", _RESUME),
)
_OF_THE_WINDOW = (
    _Entry("runs", "Runs", "format-list-bulleted", "Ctrl+R", "Show all runs, or hide them"),
    _Entry("panels", "Panels", "view-dashboard-outline", "", "Show or hide parts of the window"),
    _Entry("theme", "Theme", "weather-night", "Ctrl+D", "Switch between light and dark"),
    _Entry("help", "Help", "help-circle-outline", "F1", "Open the manual"),
)


class Toolbar(QToolBar):
    """Holds the actions, enabled as the state of the run allows; does none of them itself."""

    def __init__(self, window: QMainWindow) -> None:
        super().__init__("Run")
        self.setObjectName("toolbar")
        self.setMovable(False)
        self.setIconSize(QSize(18, 18))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self._window = window
        self._entries: dict[str, tuple[_Entry, QAction]] = {}
        self._paused = False
        self._theme: Theme | None = None
        for entry in _OF_RUNS:
            self._add(entry)
        self._title = ElidedLabel()
        self._title.setObjectName("run_title")
        self._title.setProperty("role", "muted")
        self._title.setContentsMargins(14, 0, 0, 0)
        self._title.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.addWidget(self._title)
        for entry in _OF_THE_WINDOW:
            self._add(entry)
        self.undo = QAction("Undo the last live change", window)
        self.undo.setObjectName("undo_action")
        self.undo.setShortcut(QKeySequence.StandardKey.Undo)
        window.addAction(self.undo)

    def _add(self, entry: _Entry) -> None:
        action = QAction(entry.text, self._window)
        action.setObjectName(f"{entry.name}_action")
        if entry.keys:
            action.setShortcut(QKeySequence(entry.keys))
        button = QToolButton()
        button.setDefaultAction(action)
        button.setObjectName(f"{entry.name}_button")
        button.setAccessibleName(entry.text)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.addWidget(button)
        # So that its keys are heard wherever in the window one is.
        self._window.addAction(action)
        self._entries[entry.name] = (entry, action)
        self._explain(entry.name, entry.tip)

    def _explain(self, name: str, tip: str) -> None:
        action = self.action(name)
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        action.setToolTip(plain_tip(f"{tip} ({keys})" if keys else tip))

    def action(self, name: str) -> QAction:
        """Return ``train``, ``pause``, ``stop``, ``save``, ``resume``, ``runs``, ``theme``, ..."""
        return self._entries[name][1]

    def set_panels(self, menu: QMenu) -> None:
        """Let the button for the panels open a menu."""
        self.action("panels").setMenu(menu)

    def show_run(self, env_id: str, name: str) -> None:
        """Say which run is on show."""
        self._title.setText(f"{env_id}  ·  {name}")

    def offer_to_resume(self, run: Path | None) -> None:
        """Offer to go on with this run, or with none."""
        self.action("resume").setEnabled(run is not None)
        self._explain("resume", f"Go on with {run.name} where it was left" if run else _RESUME)

    def show_state(self, state: SessionState) -> None:
        """Offer what can be done in a state of the run."""
        steerable = state in (SessionState.RUNNING, SessionState.PAUSED)
        self._paused = state is SessionState.PAUSED
        self.action("train").setEnabled(state is SessionState.IDLE)
        self.action("pause").setEnabled(steerable)
        self.action("pause").setText("Continue" if self._paused else "Pause")
        self._explain("pause", "Let the run go on" if self._paused else self._entry("pause").tip)
        self.action("stop").setEnabled(steerable or state is SessionState.STARTING)
        self.action("save").setEnabled(steerable)
        self._show_icons()

    def set_theme(self, theme: Theme) -> None:
        """Take on the colours of a theme."""
        self._theme = theme
        self.action("theme").setText("Light" if theme.dark else "Dark")
        self._show_icons()

    def _entry(self, name: str) -> _Entry:
        return self._entries[name][0]

    def _show_icons(self) -> None:
        theme = self._theme
        if theme is None:
            return
        others = {"theme": "weather-sunny" if theme.dark else "weather-night"}
        if self._paused:
            others["pause"] = "play"
        for name, (entry, action) in self._entries.items():
            colour = theme.on_accent if name == "train" else theme.text
            action.setIcon(theme.icon(others.get(name, entry.icon), colour))
