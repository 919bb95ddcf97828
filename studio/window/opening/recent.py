"""The agents and runs opened lately, offered by the menu of the Runs button."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSettings, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QToolButton

from studio.session.history import RunHistory
from studio.tasks.background_reader import BackgroundReader
from studio.tasks.background_task import Stopped
from studio.widgets.labels import plain_tip, shortened
from studio.window.opener import Opener
from td3core.protocol import events

if TYPE_CHECKING:
    from studio.window.main_window import MainWindow

_KEY = "opened_lately"
_KEPT = 8
_GONE = "{} (missing)"


class RecentFiles(QObject):
    """Remembers paths in the user's settings; looks in the background which still exist."""

    def __init__(self, settings: QSettings, opener: Opener, button: QToolButton) -> None:
        super().__init__(button)
        self._settings, self._opener = settings, opener
        stored = settings.value(_KEY)
        # A list of one is stored as a string.
        names = stored if isinstance(stored, list) else [stored]
        self._paths = [Path(str(name)) for name in names if name]
        self._reader = BackgroundReader("look-for-recent-files", self)
        self.menu = QMenu(button)
        self.menu.setObjectName("recent_menu")
        self.menu.setToolTipsVisible(True)
        self.menu.aboutToShow.connect(self.refresh)
        button.setMenu(self.menu)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
        self._fill()

    def add(self, path: Path | None) -> None:
        """Put a path first."""
        if path is None:
            return
        path = path.absolute()
        others = [other for other in self._paths if other != path]
        self._paths = [path, *others][:_KEPT]
        self._settings.setValue(_KEY, [str(each) for each in self._paths])
        self._fill()

    @Slot()
    def refresh(self) -> None:
        """Disable what is no longer there, as soon as that is known."""
        self._reader.read(partial(_missing, tuple(self._paths)), self._show_missing)

    def stop(self) -> None:
        """Stop looking."""
        self._reader.stop()

    def _fill(self) -> None:
        self.menu.clear()
        self.menu.addAction(self._opener.action)
        self.menu.addSeparator()
        self._actions: dict[Path, QAction] = {}
        for path in self._paths:
            action = self.menu.addAction(_title(path))
            action.setToolTip(plain_tip(str(path)))
            action.triggered.connect(partial(self._opener.open, [path]))
            self._actions[path] = action

    def _show_missing(self, missing: frozenset[Path]) -> None:
        for path, action in self._actions.items():
            gone = path in missing
            action.setEnabled(not gone)
            action.setText(_GONE.format(_title(path)) if gone else _title(path))


def _title(path: Path) -> str:
    # All agents are called alike: the folder of the run tells them apart.
    run = path.parent.parent.name if path.parent.name == "checkpoints" else ""
    name = f"{run}: {path.stem}" if run else path.name
    return shortened(name).replace("&", "&&")


def _missing(paths: tuple[Path, ...], _: Stopped) -> frozenset[Path]:
    return frozenset(path for path in paths if not path.exists())


def install_recent(window: "MainWindow", settings: QSettings, button: QToolButton) -> RecentFiles:
    """Let a window remember what it opens and trains."""
    recent = RecentFiles(settings, window.opener, button)

    def on_opened(history: RunHistory) -> None:
        recent.add(history.record.run)

    def on_started(event: events.Started) -> None:
        recent.add(event.run)

    window.model.run_opened.connect(on_opened)
    window.model.run_started.connect(on_started)
    window.opener.agent_opened.connect(recent.add)
    window.closed.connect(recent.stop)
    return recent
