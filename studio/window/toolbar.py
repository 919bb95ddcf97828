"""The toolbar: the actions of the window and the name of the current run."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QMainWindow, QMenu, QSizePolicy, QToolBar, QToolButton

from studio.session.controller import SessionState
from studio.theme.theme import Theme
from studio.widgets.controls import MANUAL, enable
from studio.widgets.labels import ElidedLabel, shortened
from td3core.text import NO_TEXT, Text, tr

_RESUME = Text("Continue a run from where it stopped")
_NOTHING_TO_RESUME = Text("no run is shown or chosen in the list, or it is training")
_WHY_NOT = {
    SessionState.IDLE: Text("no run is training"),
    SessionState.STARTING: Text("the run is starting"),
    SessionState.STOPPING: Text("the run is saving and ending"),
}
"""Why a run cannot be paused, saved or stopped."""
_WHY_NOT_GROUP = {
    SessionState.STARTING: Text("the group is starting"),
    SessionState.STOPPING: Text("the group is saving and ending"),
}
_RUN_TRAINS = Text("a run is training. Stop it first, or use Train next")
_GROUP_TRAINS = Text("a group is training. Stop it first, or use Train next")
_GROUP_WORKS = Text("a group is training. Wait for its end, or stop it first")
_END_NOW = Text(
    "End the run at once: its environment may hang. It can be resumed from its last checkpoint"
)
_FOR_GROUP = {
    "pause": Text("Pause all runs of the group"),
    "stop": Text("Save all runs of the group and end them"),
    "save": Text("Save a checkpoint of each run of the group now"),
}
_PAUSE, _CONTINUE = Text("Pause"), Text("Continue")
_LIGHT, _DARK = Text("Light"), Text("Dark")
_LEAST_TITLE = 190
"""Pixels for the name of the current run; in a narrower window the texts of buttons are hidden."""
_PAGES = {
    "train": "training.md",
    "queue": "many-runs.md#the-queue",
    "runs": "runs.md",
    "resume": "runs.md",
}
"""Manual page of each button; the others open the first page."""
_REPEATED = ("undo", "redo", "next_panel", "previous_panel")
"""Actions that are repeated while their keys are held: none that starts something."""
_TEXTS = {"pause": (_PAUSE, _CONTINUE), "theme": (_LIGHT, _DARK)}
"""All texts of the buttons whose text changes."""


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    """The action is called ``<name>_action``, its button ``<name>_button``."""
    text: Text
    icon: str
    """Empty for an action with keys but no button."""
    keys: str
    tip: Text | None = None


_NEXT = Text("Queue a run with the settings in Setup, to start after the current training")
_NEXT_IDLE = Text("Queue a run with the settings in Setup; ▶ in the queue starts it")
_TRAIN = Text("Start a new run with the settings in Setup")
_TRAIN_GROUP = Text("Start a group of runs, one for each of the seeds in Setup")
_RUN_ACTIONS = (
    _Entry("train", Text("Train"), "play", "Ctrl+T", _TRAIN),
    _Entry("queue", Text("Train next"), "playlist-plus", "Ctrl+Shift+T", _NEXT),
    _Entry("pause", _PAUSE, "pause", "Ctrl+P", Text("Pause the run between two steps")),
    _Entry("stop", Text("Stop"), "stop", "Ctrl+.", Text("Save the agent and end the run")),
    _Entry("save", Text("Save"), "content-save-outline", "Ctrl+S", Text("Save a checkpoint now")),
    _Entry("resume", Text("Resume"), "play-outline", "Ctrl+Shift+R", _RESUME),
)
_WINDOW_ACTIONS = (
    _Entry(
        "runs",
        Text("Runs"),
        "format-list-bulleted",
        "Ctrl+R",
        Text("Show or hide the list of runs"),
    ),
    _Entry("panels", Text("Panels"), "view-dashboard-outline", "", Text("Show or hide panels")),
    _Entry(
        "theme", Text("Theme"), "weather-night", "Ctrl+D", Text("Switch between light and dark")
    ),
    _Entry(
        "help",
        Text("Help"),
        "help-circle-outline",
        "F1",
        Text("Open the manual page for the focused panel"),
    ),
    _Entry("large", Text("Large replay"), "", "F9"),
    _Entry("full", Text("Replay on the full screen"), "", "F11"),
    _Entry("undo", Text("Undo the last live change"), "", "Ctrl+Z"),
    _Entry("redo", Text("Redo the last live change"), "", "Ctrl+Shift+Z"),
    _Entry("settings", Text("Settings…"), "", "Ctrl+,"),
    _Entry("keys", Text("Keyboard shortcuts"), "", "Ctrl+/"),
    _Entry("lessons", Text("Lessons…"), "", "Ctrl+L"),
    _Entry("next_panel", Text("Next panel"), "", "F6"),
    _Entry("previous_panel", Text("Previous panel"), "", "Shift+F6"),
    _Entry("quit", Text("Close the window"), "", "Ctrl+Q"),
)


class Toolbar(QToolBar):
    """Holds the actions and enables them by the run's state; the window connects them."""

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(tr("Run"))
        self.setObjectName("toolbar")
        self.setMovable(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self._window = window
        self._entries: dict[str, tuple[_Entry, QAction]] = {}
        self._state, self._following = SessionState.IDLE, False
        self._can_give_up = False
        self._group_trains = False
        self._group_state: SessionState | None = None
        """None while pause, stop and save do not apply to a group."""
        self._paused = self._several = False
        """Whether the training run or group is paused; whether Train starts several runs."""
        self._resumable = ""
        """Name of the run that Resume would continue."""
        self._run = self._group = ""
        """Name of the current run, and of the training group."""
        self._theme: Theme | None = None
        self._buttons: dict[str, QToolButton] = {}
        self._widths: dict[str, int] = {}
        """Widths of the buttons whose texts change."""
        self._whole = self._partly = 0
        """Width of all buttons with their texts, and with texts on those for runs only."""
        for entry in _RUN_ACTIONS:
            self._add(entry)
        self._title = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self._title.setObjectName("run_title")
        self._title.setProperty("role", "muted")
        self._title.setContentsMargins(14, 0, 0, 0)
        self._title.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.addWidget(self._title)
        for entry in _WINDOW_ACTIONS:
            self._add(entry)
        self._add_help_menu()
        for name, page in _PAGES.items():
            self._buttons[name].setProperty(MANUAL, page)
        # Shown by Qt in place of the buttons that do not fit into a narrow window.
        more = self.findChild(QToolButton, "qt_toolbar_ext_button")
        if more is not None:
            more.setAccessibleName(tr("More buttons"))
            more.setToolTip(tr("More buttons"))

    def _add_help_menu(self) -> None:
        """Add a menu to Help: the manual, the lessons and the keyboard shortcuts."""
        button = self._buttons["help"]
        menu = QMenu(button)
        menu.addActions([self.action(name) for name in ("help", "lessons", "keys")])
        button.setMenu(menu)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)

    def _add(self, entry: _Entry) -> None:
        action = QAction(str(entry.text), self._window)
        action.setObjectName(f"{entry.name}_action")
        if entry.keys:
            action.setShortcut(QKeySequence(entry.keys))
            action.setAutoRepeat(entry.name in _REPEATED)
        # Owned by the window, so that its keys work wherever the focus is.
        self._window.addAction(action)
        self._entries[entry.name] = (entry, action)
        if entry.icon:
            self._add_button(entry, action)
            self._enable(entry.name)

    def _add_button(self, entry: _Entry, action: QAction) -> None:
        button = QToolButton()
        button.setDefaultAction(action)
        button.setObjectName(f"{entry.name}_button")
        button.setAccessibleName(str(entry.text))
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._buttons[entry.name] = button
        self.addWidget(button)

    def _fix_widths(self) -> None:
        """Reserve space for the longest text of a button, so that its neighbours never move."""
        for button in self._buttons.values():
            button.ensurePolished()
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        for name, texts in _TEXTS.items():
            action, button = self.action(name), self._buttons[name]
            shown, widths = action.text(), []
            for text in texts:
                action.setText(str(text))
                widths.append(button.sizeHint().width())
            action.setText(shown)
            self._widths[name] = max(widths)
            button.setFixedWidth(max(widths))
        self._whole = sum(map(self._width_of, self._buttons))
        self._show_texts(_WINDOW_ACTIONS, shown=False)
        self._partly = sum(map(self._width_of, self._buttons))
        self._fit()

    def _width_of(self, name: str) -> int:
        button = self._buttons[name]
        texts = button.toolButtonStyle() is Qt.ToolButtonStyle.ToolButtonTextBesideIcon
        return (
            self._widths.get(name, 0)
            if texts and name in self._widths
            else button.sizeHint().width()
        )

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Reserve space for the name of the current run."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Hide texts if the run's name, or else buttons, would not fit; Train keeps its text."""
        layout = self.layout()
        assert layout is not None
        margins = self.contentsMargins()
        around = margins.left() + margins.right() + layout.spacing() * (len(self._buttons) + 1)
        self._show_texts(_WINDOW_ACTIONS, shown=self.width() >= self._whole + _LEAST_TITLE)
        self._show_texts(_RUN_ACTIONS[1:], shown=self.width() >= self._partly + around)

    def _show_texts(self, entries: Sequence[_Entry], *, shown: bool) -> None:
        style = Qt.ToolButtonStyle
        wanted = style.ToolButtonTextBesideIcon if shown else style.ToolButtonIconOnly
        for entry in entries:
            button = self._buttons.get(entry.name)
            if button is not None and button.toolButtonStyle() != wanted:
                button.setToolButtonStyle(wanted)
                width = self._widths.get(entry.name)
                if width is not None:
                    button.setFixedWidth(width if shown else button.sizeHint().width())

    def keys(self) -> list[tuple[str, str]]:
        """Return the shortcuts of the window with their actions."""
        return [
            (action.shortcut().toString(QKeySequence.SequenceFormat.NativeText), tip)
            for entry, action in self._entries.values()
            if not action.shortcut().isEmpty()
            for tip in [str(entry.tip or entry.text)]
        ]

    def action(self, name: str) -> QAction:
        """Return the action with a name of the tables above: ``train``, ``pause``, ..."""
        return self._entries[name][1]

    def button(self, name: str) -> QToolButton:
        """Return the button of an action that has one."""
        return self._buttons[name]

    def set_panels(self, menu: QMenu) -> None:
        """Set the menu of the Panels button; the window's settings come last in it."""
        menu.addSeparator()
        menu.addAction(self.action("settings"))
        self.action("panels").setMenu(menu)

    def show_run(self, title: str) -> None:
        """Show the name of the current run."""
        self._run = title
        self._show_title()

    def _show_title(self) -> None:
        # Next to Pause and Stop, show what they act on.
        title = self._group or self._run
        self._title.setText(title)
        self._window.setWindowTitle(f"{shortened(title)} – TD3 Studio" if title else "TD3 Studio")

    def offer_group(self, several: bool) -> None:
        """Show whether Train starts several runs, or one."""
        self._several = several
        self._offer_training()

    def offer_to_resume(self, title: str) -> None:
        """Enable Resume for the run of this name, unless a group trains; empty for no run."""
        self._resumable = title
        self._offer_resuming()

    def _offer_resuming(self) -> None:
        why_not = _NOTHING_TO_RESUME
        if self._resumable:
            why_not = _GROUP_WORKS if self._group_trains else NO_TEXT
        tip = Text("Continue {run} from where it stopped", run=self._resumable)
        self._enable("resume", why_not, _RESUME if why_not else tip)

    def show_state(
        self, state: SessionState, *, following: bool = False, can_give_up: bool = False
    ) -> None:
        """Enable the actions that a run's state allows; a followed run does not prevent a new one.

        ``can_give_up``: the run does not answer the request to end, but can be terminated.
        """
        self._state, self._following, self._can_give_up = state, following, can_give_up
        self._show_what_is_possible()

    def show_group(self, *, training: bool, state: SessionState | None, name: str = "") -> None:
        """Set whether a group trains, and its state if pause and stop apply to it."""
        group = tr("Group {group}", group=name) if state is not None and name else ""
        if group != self._group:
            self._group = group
            self._show_title()
        if (training, state) != (self._group_trains, self._group_state):
            self._group_trains, self._group_state = training, state
            self._show_what_is_possible()

    def _show_what_is_possible(self) -> None:
        state = self._group_state or self._state
        self._paused = state is SessionState.PAUSED
        why = _WHY_NOT.get(state, NO_TEXT)
        if self._group_state:
            why = _WHY_NOT_GROUP.get(state, why)
        self._offer_training()
        self._offer_resuming()
        of_run, of_group = Text("Continue the run"), Text("Continue the group")
        again = of_group if self._group_state else of_run
        self._enable("pause", why, again if self._paused else None)
        self.action("pause").setText(str(_CONTINUE if self._paused else _PAUSE))
        if self._can_give_up and not self._group_state:
            self._enable("stop", NO_TEXT, _END_NOW)
        else:
            self._enable("stop", NO_TEXT if state is SessionState.STARTING else why)
        self._enable("save", why)
        self._update_icons()

    def _offer_training(self) -> None:
        occupied = not self._following and self._state is not SessionState.IDLE
        why_not = _RUN_TRAINS if occupied else NO_TEXT
        if self._group_trains:
            why_not = _GROUP_TRAINS
        self._enable("queue", tip=_NEXT if why_not else _NEXT_IDLE)
        self._enable("train", why_not, _TRAIN_GROUP if self._several else _TRAIN)

    def _enable(self, name: str, why_not: Text = NO_TEXT, tip: Text | None = None) -> None:
        """Enable an action, or disable it with the reason in its tooltip."""
        entry, action = self._entries[name]
        if tip is None:
            tip = entry.tip or entry.text
            if self._group_state:
                tip = _FOR_GROUP.get(name, tip)
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        enable(action, why_not, f"{tip} ({keys})" if keys else tip)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._theme = theme
        self.action("theme").setText(str(_LIGHT if theme.dark else _DARK))
        self._update_icons()
        # The style sheet may have changed the font.
        self._fix_widths()

    def _update_icons(self) -> None:
        theme = self._theme
        if theme is None:
            return
        replaced = {"theme": "weather-sunny" if theme.dark else "weather-night"}
        if self._paused:
            replaced["pause"] = "play"
        for name, (entry, action) in self._entries.items():
            if entry.icon:
                colour = theme.on_accent if name == "train" else theme.text
                action.setIcon(theme.icon(replaced.get(name, entry.icon), colour))
