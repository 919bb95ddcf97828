"""The window: its parts, what a person does in it, and who is told what. No logic of its own."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QSettings, QTimer, Signal, Slot
from PySide6.QtGui import QCloseEvent, QColor, QShowEvent
from PySide6.QtWidgets import QApplication, QMainWindow, QMessageBox, QVBoxLayout, QWidget

from studio.launch.launcher import RunLauncher
from studio.launch.verify_dialog import VerifyDialog
from studio.live.panel import LivePanel
from studio.plots.grid import PlotGrid
from studio.replay.pane import ReplayPane
from studio.run_browser.panel import RunBrowser
from studio.session.controller import RunController, SessionState
from studio.session.history import RunHistory
from studio.session.model import RunModel
from studio.setup.panel import SetupPanel
from studio.theme.theme import Theme, apply_theme, load_theme
from studio.widgets.form_area import FormArea
from studio.widgets.messages import Banner, Log
from studio.window.docks import Docks
from studio.window.run_presenter import RunPresenter, WindowParts
from studio.window.status_bar import StatusBar
from studio.window.toolbar import Toolbar
from td3core.config import Tunables, changes
from td3core.errors import RequestError

_OWN = "own_environments"


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
        self.runs = RunBrowser(runs_dir, theme)
        self.launcher = RunLauncher(self.controller, self.model, runs_dir, self)
        self.verify = VerifyDialog(self)
        self.status = StatusBar(self.model, theme)
        self._lay_out()
        self._connect()
        self.setup.environment.show_remembered(_texts(settings.value(_OWN)))
        self.live.show_tunables(self.setup.chosen_tunables(), as_defaults=True)
        self._on_state(SessionState.IDLE)
        self.docks.restore(settings)
        self._dress(theme)

    def _lay_out(self) -> None:
        self.setStatusBar(self.status)
        self.toolbar = Toolbar(self)
        self.addToolBar(self.toolbar)
        centre = QWidget()
        layout = QVBoxLayout(centre)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self.banner)
        layout.addWidget(self.plots, 1)
        self.setCentralWidget(centre)
        setup, live = FormArea(self.setup), FormArea(self.live)
        self.setup.pointed_out.connect(setup.bring_into_view)
        rest = {"replay": self.replay, "log": self.log, "runs": self.runs}
        self.docks = Docks(self, {"setup": setup, "live": live, **rest})
        self.toolbar.set_panels(self.docks.menu)

    def _connect(self) -> None:
        for name, act in (
            ("train", self.start_training),
            ("pause", self._pause_or_resume),
            ("stop", self.controller.stop),
            ("save", self.controller.save),
            ("resume", self._resume),
            ("theme", self.switch_theme),
            ("runs", self._show_or_hide_runs),
            ("help", self._show_help),
        ):
            self.toolbar.action(name).triggered.connect(act)
        self.toolbar.undo.triggered.connect(self.live.undo)
        self.controller.state_changed.connect(self._on_state)
        self.controller.state_changed.connect(self.status.show_state)
        self.controller.event_reported.connect(self.model.handle)
        self.model.message_added.connect(self.log.add)
        self.setup.live_defaults_changed.connect(partial(self.live.show_tunables, as_defaults=True))
        self.setup.environment.remembered_changed.connect(partial(self._settings.setValue, _OWN))
        self.live.tunables_edited.connect(self._tune)
        parts = WindowParts(
            toolbar=self.toolbar,
            setup=self.setup,
            live=self.live,
            replay=self.replay,
            runs=self.runs,
            banner=self.banner,
        )
        RunPresenter(self.model, self.launcher, parts, self)
        self._connect_runs()

    def _connect_runs(self) -> None:
        for refused in (
            self.setup.refused,
            self.live.refused,
            self.plots.message,
            self.runs.refused,
            self.launcher.refused,
        ):
            refused.connect(partial(self.banner.show_message, "error"))
        actions = self.runs.run_actions
        actions.opened.connect(self._show_recorded)
        actions.resume_requested.connect(self.launcher.resume)
        actions.repeat_requested.connect(self.launcher.repeat_changes)
        actions.verify_requested.connect(self.verify.check)
        actions.deleted.connect(self.replay.checkpoints.refresh_runs)
        self.runs.interrupted_found.connect(self._point_out_interrupted)
        self.runs.view.choice_changed.connect(self._offer_to_resume)
        self.replay.checkpoints.branch_requested.connect(self.launcher.branch)
        self.launcher.beginning.connect(self.banner.hide)
        self.launcher.resuming.connect(self._show_recorded)
        self.banner.link_activated.connect(self._show_interrupted)

    # What a person does -------------------------------------------------------------------------

    @Slot()
    def start_training(self) -> None:
        """Start a run with the settings on show, or say why that cannot be."""
        try:
            config, tunables = self.setup.settings(self.live.tunables())
        except RequestError as problem:
            self.banner.show_message("error", self.setup.point_out(str(problem)))
            return
        self.banner.hide()
        self.setup.origin.forget()
        self.controller.start(config, tunables, self._runs_dir)

    @Slot()
    def _resume(self) -> None:
        path = self._resumable()
        if path is not None:
            self.launcher.resume(path)

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
        self.toolbar.offer_to_resume(self._resumable())

    @Slot()
    def _pause_or_resume(self) -> None:
        if self.controller.state is SessionState.PAUSED:
            self.controller.unpause()
        else:
            self.controller.pause()

    @Slot(object)
    def _tune(self, edit: tuple[Tunables, Tunables]) -> None:
        before, wanted = edit
        names = [name for name, _, _ in changes(before, wanted)]
        self.live.expect(names, self.controller.tune(wanted))

    @Slot(object)
    def _show_recorded(self, recorded: RunHistory) -> None:
        self.model.open(recorded)
        self._offer_to_resume()

    @Slot()
    def show_runs(self) -> None:
        """Show the list of runs and let keys go there."""
        self.docks.show_runs()
        self.runs.view.setFocus()

    @Slot()
    def _show_interrupted(self) -> None:
        self.show_runs()
        self.runs.choose_interrupted()

    @Slot()
    def _show_or_hide_runs(self) -> None:
        if self.docks.runs_seen:
            self.docks.hide_runs()
        else:
            self.show_runs()

    @Slot()
    def _show_help(self) -> None:
        # Imported on first use: it must not slow down the launch.
        from studio.window.help_viewer import HelpViewer

        viewer = self.findChild(HelpViewer)
        if viewer is None:
            viewer = HelpViewer(self)
            self.closed.connect(viewer.close)
        viewer.show()
        viewer.raise_()
        viewer.activateWindow()

    @Slot(int)
    def _point_out_interrupted(self, count: int) -> None:
        runs = "One run was" if count == 1 else f"{count} runs were"
        text = f'{runs} interrupted and can be resumed. <a href="runs">Show all runs</a>'
        self.banner.show_message("info", text, rich=True)

    @Slot(object)
    def _on_state(self, state: SessionState) -> None:
        idle = state is SessionState.IDLE
        self.toolbar.show_state(state)
        self.setup.setEnabled(idle)
        self.live.set_running(not idle)
        self.runs.set_busy(not idle)
        self.replay.set_busy(not idle)
        self._offer_to_resume()
        if idle:
            self.live.forget_requests()
            if self._closing:
                QTimer.singleShot(0, self.close)

    # Looks, layout, leaving ---------------------------------------------------------------------

    @Slot()
    def switch_theme(self) -> None:
        """Go from light to dark or back."""
        self._dress(load_theme("light" if self._theme.dark else "dark"))
        self._settings.setValue("theme", self._theme.name)

    def _dress(self, theme: Theme) -> None:
        self._theme = theme
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        apply_theme(app, theme)
        parts = (self.plots, self.status, self.log, self.setup, self.live, self.runs, self.toolbar)
        for part in parts:
            part.set_theme(theme)
        self.replay.set_icon_colour(QColor(theme.text))

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802
        """Ask once while a run goes on, let it save, and close when it has ended."""
        if self.controller.busy and not self._closing and self._may_stop():
            # Unless the run ended by itself while the question stood there.
            self._closing = self.controller.busy
            self.controller.stop()
        if self.controller.busy:
            event.ignore()
            return
        self.docks.save(self._settings)
        self.setup.close_helpers()
        self.replay.close_player()
        self.runs.stop_tasks()
        self.launcher.stop()
        self.verify.cancel()
        super().closeEvent(event)
        self.closed.emit()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Once on show, look for runs that were cut short."""
        super().showEvent(event)
        if not self._looked_for_interrupted:
            self._looked_for_interrupted = True
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


def _texts(value: object) -> list[str]:
    """Read a list of texts from the settings, where a list of one is stored as a text."""
    return [str(each) for each in (value if isinstance(value, list) else [value]) if each]
