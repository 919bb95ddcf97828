"""The window: docks, actions and shortcuts, and who is told what. No logic of its own."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import QByteArray, QEvent, QSettings, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAction, QCloseEvent, QColor, QKeySequence, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QMainWindow,
    QMenu,
    QMessageBox,
    QSizePolicy,
    QToolBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from studio.form_area import FormArea
from studio.going_on import GoingOn
from studio.labels import ElidedLabel, plain_tip
from studio.live_panel import LivePanel
from studio.messages import Banner, Log
from studio.plots import PlotGrid
from studio.recorded import Recorded
from studio.replay.pane import ReplayPane
from studio.run_controller import RunController, RunState
from studio.run_model import RunModel
from studio.runs_browser import RunsBrowser
from studio.setup_panel import SetupPanel
from studio.status_line import StatusLine
from studio.theme import Theme, apply_theme, load_theme
from studio.verify_dialog import VerifyDialog
from td3core import events
from td3core.config import Tunables, changes
from td3core.errors import RequestError
from td3core.records import read_notes
from td3core.runs import step_checkpoint

_LAYOUT_VERSION = 2
_OWN = "own_environments"
_RUNS_HEIGHT = 290
"""Pixels for the list of runs to show some of them."""
_SOFTER = "Branch with half the learning rates"
_RESUME = "Go on where a run was left"
_ACTIONS = (
    # name, text, icon, shortcut, tooltip
    ("train", "Train", "play", "Ctrl+T", "Start a new run with the settings on the left"),
    ("pause", "Pause", "pause", "Ctrl+P", "Hold the run between two steps"),
    ("stop", "Stop", "stop", "Ctrl+.", "Save the agent and end the run"),
    ("save", "Save", "content-save-outline", "Ctrl+S", "Save a checkpoint now"),
    ("resume", "Resume", "play-outline", "Ctrl+Shift+R", _RESUME),
)


class MainWindow(QMainWindow):
    """The whole studio. Owns the run controller and the run model; widgets only look."""

    closed = Signal()

    def __init__(self, runs_dir: Path, settings: QSettings, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("main_window")
        self.setWindowTitle("TD3 Studio")
        self._runs_dir, self._settings, self._theme = runs_dir, settings, theme
        self._closing = self._looked_for_interrupted = False
        self.controller = RunController(self)
        self.model = RunModel(self)
        self.live = LivePanel()
        self.setup = SetupPanel(self.live.tunables)
        self.plots = PlotGrid(self.model, theme)
        self.setup.set_runs_dir(runs_dir)
        self.replay = ReplayPane(runs_dir)
        self.banner = Banner()
        self.log = Log(theme)
        self.runs = RunsBrowser(runs_dir, theme)
        self.going_on = GoingOn(self.controller, self.model, runs_dir, self)
        self.verify = VerifyDialog(self)
        self.status = StatusLine(self.model, theme)
        self.setStatusBar(self.status)
        self._make_toolbar()
        self._make_centre()
        self._make_docks()
        self._connect()
        self.setup.environment.show_remembered(_texts(settings.value(_OWN)))
        self.live.show_tunables(self.setup.chosen_tunables(), as_defaults=True)
        self._on_state(RunState.IDLE)
        self._restore_layout()
        self._dress(theme)

    # Building -----------------------------------------------------------------------------------

    def _make_toolbar(self) -> None:
        bar = QToolBar("Run")
        bar.setObjectName("toolbar")
        bar.setMovable(False)
        bar.setIconSize(QSize(18, 18))
        bar.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.addToolBar(bar)
        self._actions: dict[str, QAction] = {}
        for name, text, _, shortcut, tip in _ACTIONS:
            self._add_action(bar, name, text, shortcut, tip)
        self._title = ElidedLabel()
        self._title.setObjectName("run_title")
        self._title.setProperty("role", "muted")
        self._title.setContentsMargins(14, 0, 0, 0)
        self._title.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        bar.addWidget(self._title)
        self._add_action(bar, "runs", "Runs", "Ctrl+R", "Show all runs, or hide them")
        self._add_action(bar, "panels", "Panels", "", "Show or hide parts of the window")
        self._add_action(bar, "theme", "Theme", "Ctrl+D", "Switch between light and dark")
        self._undo = QAction("Undo the last live change", self)
        self._undo.setObjectName("undo_action")
        self._undo.setShortcut(QKeySequence.StandardKey.Undo)
        self.addAction(self._undo)

    def _add_action(self, bar: QToolBar, name: str, text: str, shortcut: str, tip: str) -> None:
        action = QAction(text, self)
        action.setObjectName(f"{name}_action")
        if shortcut:
            action.setShortcut(QKeySequence(shortcut))
            tip = f"{tip} ({action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)})"
        action.setToolTip(tip)
        button = QToolButton()
        button.setDefaultAction(action)
        button.setObjectName(f"{name}_button")
        button.setAccessibleName(text)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        bar.addWidget(button)
        self.addAction(action)
        self._actions[name] = action
        if name == "panels":
            button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)

    def _make_centre(self) -> None:
        centre = QWidget()
        layout = QVBoxLayout(centre)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self.banner)
        layout.addWidget(self.plots, 1)
        self.setCentralWidget(centre)

    def _make_docks(self) -> None:
        left, right = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
        bottom = Qt.DockWidgetArea.BottomDockWidgetArea
        self.setCorner(Qt.Corner.BottomLeftCorner, left)
        self.setCorner(Qt.Corner.BottomRightCorner, right)
        self._docks = {
            "setup": self._dock("setup", "Setup", FormArea(self.setup), left),
            "live": self._dock("live", "Live settings", FormArea(self.live), left),
            "replay": self._dock("replay", "Replay", self.replay, right),
            "log": self._dock("log", "Log", self.log, bottom),
            "runs": self._dock("runs", "Runs", self.runs, bottom),
        }
        self.tabifyDockWidget(self._docks["log"], self._docks["runs"])
        for name in ("log", "runs"):
            self._docks[name].hide()
        self.panels_menu = QMenu(self)
        self.panels_menu.addActions([dock.toggleViewAction() for dock in self._docks.values()])
        self._actions["panels"].setMenu(self.panels_menu)
        columns = [self._docks["setup"], self._docks["replay"]]
        self.resizeDocks(columns, [292, 300], Qt.Orientation.Horizontal)
        rows = [self._docks["setup"], self._docks["live"]]
        self.resizeDocks(rows, [350, 370], Qt.Orientation.Vertical)
        self.resizeDocks([self._docks["log"]], [130], Qt.Orientation.Vertical)

    def _dock(
        self, name: str, title: str, content: QWidget, area: Qt.DockWidgetArea
    ) -> QDockWidget:
        dock = QDockWidget(title, self)
        dock.setObjectName(f"{name}_dock")
        dock.setWidget(content)
        self.addDockWidget(area, dock)
        return dock

    def _connect(self) -> None:
        self._actions["train"].triggered.connect(self.start_training)
        self._actions["pause"].triggered.connect(self._pause_or_resume)
        self._actions["stop"].triggered.connect(self.controller.stop)
        self._actions["save"].triggered.connect(self.controller.save)
        self._actions["resume"].triggered.connect(self._resume)
        self._actions["theme"].triggered.connect(self.switch_theme)
        self._actions["runs"].triggered.connect(self._show_or_hide_runs)
        self.controller.state_changed.connect(self._on_state)
        self.controller.state_changed.connect(self.status.show_state)
        self.controller.event_reported.connect(self.model.handle)
        self.model.message_added.connect(self.log.add)
        self.model.message_added.connect(self._on_message)
        self.model.tuned.connect(self.live.acknowledge)
        self.model.run_started.connect(self._on_run_started)
        self.model.run_ended.connect(self._on_run_ended)
        self.model.checkpoint_saved.connect(self._on_saved)
        self.model.evaluated.connect(self._on_evaluated)
        self.setup.live_defaults_changed.connect(partial(self.live.show_tunables, as_defaults=True))
        self.setup.advanced_toggled.connect(self._make_room_for_advanced)
        self.setup.refused.connect(partial(self.banner.show_message, "error"))
        self.setup.environment.remembered_changed.connect(partial(self._settings.setValue, _OWN))
        self.live.tunables_edited.connect(self._tune)
        self._undo.triggered.connect(self.live.undo)
        self.live.refused.connect(partial(self.banner.show_message, "error"))
        self.plots.message.connect(partial(self.banner.show_message, "error"))
        self._connect_runs()

    def _connect_runs(self) -> None:
        self.runs.refused.connect(partial(self.banner.show_message, "error"))
        self.runs.opened.connect(self._on_run_opened)
        self.runs.model.renamed.connect(self._on_renamed)
        self.runs.deleted.connect(self.replay.checkpoints.refresh_runs)
        self.runs.interrupted_found.connect(self._point_out_interrupted)
        self.runs.resume_requested.connect(self.going_on.resume)
        self.runs.repeat_requested.connect(self.going_on.repeat_changes)
        self.runs.verify_requested.connect(self.verify.check)
        self.runs.view.choice_changed.connect(self._offer_to_resume)
        self.replay.checkpoints.branch_requested.connect(self.going_on.branch)
        self.going_on.beginning.connect(self.banner.hide)
        self.going_on.resuming.connect(self._on_run_opened)
        self.going_on.refused.connect(partial(self.banner.show_message, "error"))
        self.banner.link_activated.connect(self._show_runs)
        for told in (self.model.checkpoint_saved, self.model.evaluated, self.model.run_ended):
            told.connect(self.runs.refresh_soon)

    # What a person does -------------------------------------------------------------------------

    @Slot()
    def start_training(self) -> None:
        """Start a run with the settings on show, or say why that cannot be."""
        try:
            config, tunables = self.setup.settings(self.live.tunables())
        except RequestError as problem:
            self.banner.show_message("error", str(problem))
            return
        self.banner.hide()
        self.setup.origin.forget()
        self.controller.start(config, tunables, self._runs_dir)

    @Slot()
    def _resume(self) -> None:
        path = self._resumable()
        if path is not None:
            self.going_on.resume(path)

    def _resumable(self) -> Path | None:
        """Return the run on show, or else the one chosen in the list, if none is going on."""
        if self.controller.busy:
            return None
        if self.model.run is not None:
            return self.model.run
        chosen = [row.path for row in self.runs.view.chosen() if row.summary is not None]
        return chosen[0] if len(chosen) == 1 else None

    @Slot()
    def _offer_to_resume(self) -> None:
        path, action = self._resumable(), self._actions["resume"]
        action.setEnabled(path is not None)
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        what = f"Go on with {path.name} where it was left" if path else _RESUME
        action.setToolTip(plain_tip(f"{what} ({keys})"))

    @Slot(bool)
    def _make_room_for_advanced(self, shown: bool) -> None:
        docks = [self._docks["setup"], self._docks["live"]]
        if shown:
            self.resizeDocks(docks, [520, 200], Qt.Orientation.Vertical)
        else:
            self._fit_setup()

    @Slot()
    def _fit_setup(self) -> None:
        """Give the setup what it needs, and the live settings below it the rest."""
        docks = [self._docks["setup"], self._docks["live"]]
        total = sum(dock.height() for dock in docks)
        area = docks[0].widget()
        assert isinstance(area, FormArea)
        wanted = docks[0].height() - area.height() + area.wanted_height()
        self.resizeDocks(docks, [wanted, total - wanted], Qt.Orientation.Vertical)

    @Slot()
    def _pause_or_resume(self) -> None:
        if self.controller.state is RunState.PAUSED:
            self.controller.unpause()
        else:
            self.controller.pause()

    @Slot(object)
    def _tune(self, edit: tuple[Tunables, Tunables]) -> None:
        before, wanted = edit
        names = [name for name, _, _ in changes(before, wanted)]
        self.live.expect(names, self.controller.tune(wanted))

    @Slot()
    def switch_theme(self) -> None:
        """Go from light to dark or back."""
        self._dress(load_theme("light" if self._theme.dark else "dark"))
        self._settings.setValue("theme", self._theme.name)

    @Slot()
    def _show_runs(self) -> None:
        dock = self._docks["runs"]
        dock.show()
        dock.raise_()
        if dock.height() < _RUNS_HEIGHT and not dock.isFloating():
            self.resizeDocks([dock], [_RUNS_HEIGHT], Qt.Orientation.Vertical)
        self.runs.view.setFocus()

    @Slot()
    def _show_or_hide_runs(self) -> None:
        if self.runs.visibleRegion().isEmpty():
            self._show_runs()
        else:
            self._docks["runs"].hide()

    @Slot(object)
    def _on_run_opened(self, recorded: Recorded) -> None:
        self.banner.hide()
        self.model.show_recorded(recorded)
        run = recorded.run
        name = recorded.summary.name or run.path.name
        self._show_title(run.config.env, name)
        self.setup.show_run(run.config, name)
        self.live.show_tunables(recorded.progress.tunables)
        self.live.forget_edits()
        self.replay.show_run(run)
        self._offer_to_resume()

    def _show_title(self, env_id: str, name: str) -> None:
        self._title.setText(f"{env_id}  ·  {name}")

    @Slot(Path, str)
    def _on_renamed(self, path: Path, name: str) -> None:
        run, config = self.model.run, self.model.config
        if run is not None and config is not None and run.absolute() == path:
            self._show_title(config.env, name or path.name)
            self.setup.origin.rename(name or path.name)

    @Slot(int)
    def _point_out_interrupted(self, count: int) -> None:
        runs = "One run was" if count == 1 else f"{count} runs were"
        text = f'{runs} interrupted. <a href="runs">Show all runs</a>'
        self.banner.show_message("info", text, rich=True)

    # What the run says --------------------------------------------------------------------------

    @Slot(object)
    def _on_state(self, state: RunState) -> None:
        idle, paused = state is RunState.IDLE, state is RunState.PAUSED
        steerable = state in (RunState.RUNNING, RunState.PAUSED)
        self._actions["train"].setEnabled(idle)
        self._actions["pause"].setEnabled(steerable)
        self._actions["pause"].setText("Continue" if paused else "Pause")
        self._actions["stop"].setEnabled(steerable or state is RunState.STARTING)
        self._actions["save"].setEnabled(steerable)
        self.setup.setEnabled(idle)
        self.runs.set_busy(not idle)
        self.replay.checkpoints.set_busy(not idle)
        self._offer_to_resume()
        self._show_icons()
        if idle:
            self.live.forget_requests()
            if self._closing:
                QTimer.singleShot(0, self.close)

    @Slot(object)
    def _on_run_started(self, event: events.Started) -> None:
        self._show_title(event.config.env, _name_of(event.run))
        self.setup.welcome.hide()
        self.setup.environment.remember(event.config.env)
        self._show_settings(event)
        self.replay.set_current_run(event.run)
        self.runs.set_training(event.run)

    def _show_settings(self, event: events.Started) -> None:
        """Show the settings of a run that did not begin with those of the form."""
        try:
            chosen, _ = self.setup.settings(self.live.tunables())
        except RequestError:
            chosen = None
        if chosen != event.config or self.setup.origin.shown:
            self.setup.show_run(event.config, _name_of(event.run))
        if not self.live.pending and self.live.tunables() != event.tunables:
            self.live.show_tunables(event.tunables)
            self.live.forget_edits()

    @Slot(object)
    def _on_run_ended(self, event: events.Ended | events.Failed) -> None:
        if not isinstance(event, events.Failed):
            return
        saved = event.last_checkpoint
        if event.diverged and saved is not None:
            softer = partial(self.going_on.branch_with_half_rates, saved)
            self.banner.show_message("error", event.message, event.details, (_SOFTER, softer))
            return
        hint = f" The agent as it was is kept in {saved.name}." if saved else ""
        self.banner.show_message("error", event.message + hint, event.details)

    @Slot(object)
    def _on_saved(self, event: events.Saved) -> None:
        self.replay.note_saved(event.path, event.env_steps, event.mean_return)

    @Slot(object)
    def _on_evaluated(self, event: events.Evaluated) -> None:
        """Say in the list what the checkpoint of that step is worth, if there is one."""
        if self.model.run is not None:
            path = step_checkpoint(self.model.run, event.env_steps)
            if path.exists():
                self.replay.note_saved(path, event.env_steps, event.mean)

    @Slot(str, str)
    def _on_message(self, level: str, text: str) -> None:
        if level == "warning":
            self.banner.show_message(level, text)

    # Looks, layout, leaving ---------------------------------------------------------------------

    def _dress(self, theme: Theme) -> None:
        self._theme = theme
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        apply_theme(app, theme)
        for part in (self.plots, self.status, self.log, self.setup, self.live, self.runs):
            part.set_theme(theme)
        self.replay.set_icon_colour(QColor(theme.text))
        self._show_icons()

    def _show_icons(self) -> None:
        theme = self._theme
        for name, _, icon, _, _ in _ACTIONS:
            colour = theme.on_accent if name == "train" else theme.text
            self._actions[name].setIcon(theme.icon(icon, colour))
        if self.controller.state is RunState.PAUSED:
            self._actions["pause"].setIcon(theme.icon("play"))
        self._actions["theme"].setIcon(
            theme.icon("weather-sunny" if theme.dark else "weather-night")
        )
        self._actions["theme"].setText("Light" if theme.dark else "Dark")
        self._actions["runs"].setIcon(theme.icon("format-list-bulleted"))
        self._actions["panels"].setIcon(theme.icon("view-dashboard-outline"))

    def _restore_layout(self) -> None:
        self.resize(1280, 800)
        for key, restore in (
            ("geometry", self.restoreGeometry),
            ("layout", lambda state: self.restoreState(state, _LAYOUT_VERSION)),
        ):
            saved = self._settings.value(key)
            if isinstance(saved, QByteArray):
                restore(saved)

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802
        """Ask once while a run goes on, let it save, and close when it has ended."""
        if self.controller.busy and not self._closing and self._may_stop():
            # Unless the run ended by itself while the question stood there.
            self._closing = self.controller.busy
            self.controller.stop()
        if self.controller.busy:
            event.ignore()
            return
        self._settings.setValue("geometry", self.saveGeometry())
        self._settings.setValue("layout", self.saveState(_LAYOUT_VERSION))
        self.setup.environment.close_helpers()
        self.replay.close_player()
        self.runs.close_errands()
        self.going_on.stop()
        self.verify.cancel()
        super().closeEvent(event)
        self.closed.emit()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Once on show, look for runs that were cut short."""
        super().showEvent(event)
        if not self._looked_for_interrupted:
            self._looked_for_interrupted = True
            if not isinstance(self._settings.value("layout"), QByteArray):
                QTimer.singleShot(0, self, self._fit_setup)
            QTimer.singleShot(0, partial(self.runs.set_resume_available, True))

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        """See what other programs did to the runs meanwhile."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            self.runs.refresh_soon()

    def leave(self) -> None:
        """Save, end and close without asking, for when the system wants the program gone."""
        self._closing = self.controller.busy
        self.controller.stop()
        if not self._closing:
            self.close()

    def _may_stop(self) -> bool:
        answer = QMessageBox.question(
            self,
            "A run is going on",
            "Stop the run, save its agent and close the window?",
            QMessageBox.StandardButton.Yes | QMessageBox.StandardButton.No,
            QMessageBox.StandardButton.Yes,
        )
        return answer == QMessageBox.StandardButton.Yes


def _name_of(run: Path) -> str:
    """Return what a person calls a run, else the name of its folder."""
    return read_notes(run).name or run.name


def _texts(value: object) -> list[str]:
    """Read a list of texts from the settings, where a list of one is stored as a text."""
    return [str(each) for each in (value if isinstance(value, list) else [value]) if each]
