"""The recently opened agents and runs, offered by the menu of the Runs button."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QSettings, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QToolButton

from studio.session.history import RunHistory
from studio.session.model import RunModel
from studio.tasks.background_task import BackgroundTask, Stopped
from studio.widgets.labels import plain_tip, shortened
from studio.widgets.stored_names import stored_names
from studio.window.opener import Opener
from td3core.protocol import events
from td3core.runs.layout import run_of
from td3core.runs.naming import names_of_folders
from td3core.text import tr

_KEY = "opened_lately"
_KEPT = 8


class RecentFiles(QObject):
    """Remembers opened and trained runs and agents in the user's settings.

    Checks in the background which of them still exist.
    """

    def __init__(
        self,
        settings: QSettings,
        opener: Opener,
        model: RunModel,
        button: QToolButton,
        more: Sequence[QAction] = (),
    ) -> None:
        """``more``: further actions at the top of the menu."""
        super().__init__(button)
        self._settings, self._opener, self._more = settings, opener, more
        self._paths = [Path(name) for name in stored_names(settings, _KEY)]
        self._titles: dict[Path, str] = {}
        """Their names, read in the background."""
        self._reader = BackgroundTask("look-for-recent-files", self)
        self.menu = QMenu(button)
        self.menu.setObjectName("recent_menu")
        self.menu.setToolTipsVisible(True)
        self.menu.aboutToShow.connect(self.refresh)
        button.setMenu(self.menu)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
        model.run_opened.connect(self._add_opened)
        model.run_started.connect(self._add_started)
        opener.agent_opened.connect(self.add)
        self._fill()
        self.refresh()

    @Slot(object)
    def _add_opened(self, history: RunHistory) -> None:
        self.add(history.record.run)

    @Slot(object)
    def _add_started(self, event: events.Started) -> None:
        self.add(event.run)

    @Slot(Path)
    def add(self, path: Path | None) -> None:
        """Put a path at the top of the list."""
        if path is None:
            return
        path = path.absolute()
        others = [other for other in self._paths if other != path]
        self._paths = [path, *others][:_KEPT]
        self._settings.setValue(_KEY, [str(each) for each in self._paths])
        self._fill()
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Disable missing entries and show the current names, as soon as they are known."""
        self._reader.read(partial(_look, tuple(self._paths)), self._show_found)

    def stop(self) -> None:
        """Stop checking."""
        self._reader.cancel()

    def _fill(self) -> None:
        self.menu.clear()
        self.menu.addActions([self._opener.action, *self._more])
        self.menu.addSeparator()
        self._actions: dict[Path, QAction] = {}
        for path in self._paths:
            action = self.menu.addAction(self._title(path))
            action.setToolTip(plain_tip(str(path)))
            action.triggered.connect(partial(self._opener.open, [path]))
            self._actions[path] = action

    def _title(self, path: Path) -> str:
        return self._titles.get(path) or _shown(path, _run_of(path).name)

    def _show_found(self, found: dict[Path, str | None]) -> None:
        for path, action in self._actions.items():
            if path not in found:
                continue
            title = found[path]
            if title is not None:
                self._titles[path] = title
            action.setEnabled(title is not None)
            shown = self._title(path)
            action.setText(shown if title is not None else tr("{run} (missing)", run=shown))


def _run_of(path: Path) -> Path:
    """Return the run folder of an agent; the path itself for a run, or an agent without one."""
    return run_of(path) or path


def _shown(path: Path, run: str) -> str:
    # All agents have the same file names: the name of the run tells them apart.
    name = run if _run_of(path) == path else f"{run}: {path.stem}"
    return shortened(name).replace("&", "&&")


def _look(paths: tuple[Path, ...], _: Stopped) -> dict[Path, str | None]:
    """Return the name of each path; None for one that does not exist."""
    names = names_of_folders([_run_of(path) for path in paths])
    return {path: _shown(path, names[_run_of(path)]) if path.exists() else None for path in paths}
