"""The settings of the window and their storage."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QSettings, Signal, Slot
from PySide6.QtWidgets import QWidget

from studio.replay.pane import ReplayPane
from studio.replay.replay_options import OPENGL_CHOICES
from studio.theme.theme import Theme
from studio.window.preferences.dialog import PreferencesDialog, PreferencesPage, Selection, Switch
from studio.window.preferences.event_files import EventFiles
from td3core.text import tr

_NOTIFY = "notifications"
_ASK_TOO_SHORT = "ask_too_short"


class Preferences(QObject):
    """Reads and changes the settings shown in the dialog."""

    films_unwanted = Signal()
    """Films of ended runs were switched off."""

    def __init__(
        self,
        settings: QSettings,
        replay: ReplayPane,
        theme: Callable[[], Theme],
        switch_theme: Callable[[], None],
        runs_dir: Path,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._pages: list[PreferencesPage] = []
        self._settings, self._replay, self._runs_dir = settings, replay, runs_dir
        self._theme, self._switch_theme, self._window = theme, switch_theme, window
        self._event_files = EventFiles(settings, runs_dir, self.films_unwanted.emit)

    def add_page(self, page: PreferencesPage) -> None:
        """Offer settings with a dialog of their own."""
        self._pages.append(page)

    @property
    def film_folder(self) -> Path | None:
        """Folder for films of ended runs; None if they are not wanted."""
        return self._event_files.film_folder

    @property
    def notifies(self) -> bool:
        """Whether the user is notified of the end of long tasks."""
        return self._is_on(_NOTIFY)

    @property
    def asks_too_short(self) -> bool:
        """Whether to ask before a run that is too short to learn."""
        return self._is_on(_ASK_TOO_SHORT)

    def _is_on(self, key: str) -> bool:
        return bool(self._settings.value(key, True, bool))

    @Slot()
    def show(self) -> None:
        """Open the dialog."""
        dialog = PreferencesDialog(
            (*self._switches(), self._opengl(), *self._event_files.switches(), *self._pages),
            self._theme().name,
            self._choose_theme,
            self._runs_dir,
            self._window,
        )
        # Modal: a switch in the window itself could contradict the dialog.
        dialog.open()

    def _choose_theme(self, name: str) -> None:
        if name != self._theme().name:
            self._switch_theme()

    def _switches(self) -> tuple[Switch, ...]:
        options, follow = self._replay.options, self._replay.controls.follow_check
        start = options.play_at_start_action

        def follow_latest(on: bool) -> None:
            options.set_follow_latest(on)
            follow.setChecked(on)

        return (
            Switch(
                name="play_at_start",
                group=tr("Replay"),
                text=tr("Play an agent when the window opens"),
                tip=tr(
                    "The best agent of last time's run, or else a bundled one; choosing another one"
                    " ends it"
                ),
                read=start.isChecked,
                write=start.setChecked,
            ),
            Switch(
                name="follow_latest",
                group=tr("Replay"),
                text=tr("Follow the latest agent of a run"),
                tip=tr(
                    "Show each new checkpoint of the current run once the episode on show has ended"
                ),
                read=lambda: options.follow_latest,
                write=follow_latest,
            ),
            Switch(
                name="notifications",
                group=tr("Messages"),
                text=tr("Notify me when long work ends"),
                tip=tr(
                    "Training, films and evaluations of 30 s or more, while another window is in"
                    " front"
                ),
                read=lambda: self.notifies,
                write=partial(self._settings.setValue, _NOTIFY),
            ),
            Switch(
                name="ask_too_short",
                group=tr("Messages"),
                text=tr("Ask before a run that is too short to learn"),
                tip=tr(
                    "Questions before runs are stopped, deleted or run new code are always asked"
                ),
                read=lambda: self.asks_too_short,
                write=partial(self._settings.setValue, _ASK_TOO_SHORT),
            ),
        )

    def _opengl(self) -> Selection:
        options = self._replay.options
        return Selection(
            name="opengl",
            group=tr("Replay"),
            text=tr("MuJoCo draws with"),
            tip=tr("Automatic takes the first of them that works"),
            choices=OPENGL_CHOICES,
            fixed=options.opengl_fixed,
            read=lambda: options.opengl,
            write=options.set_opengl,
        )
