"""The window: creates its parts, connects them and passes on the user's requests."""

from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, QSettings, QTimer, Signal, Slot
from PySide6.QtGui import QCloseEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QMainWindow, QStackedWidget, QVBoxLayout, QWidget

from studio.consent.code_consent import CodeConsent
from studio.experiments.many_runs import ManyRuns
from studio.launch.launcher import RunLauncher
from studio.launch.verify_dialog import VerifyDialog
from studio.live.live_panel import LivePanel
from studio.plots.compare.view import RunComparisonView
from studio.plots.run.grid import PlotGrid
from studio.replay.pane import ReplayPane
from studio.run_browser.browser import RunBrowser
from studio.session.controller import RunController, SessionState
from studio.session.model import RunModel
from studio.setup.setup_panel import SetupPanel
from studio.share.final_films import FinalFilms
from studio.share.menu import ShareButton
from studio.tasks.background_task import wait_for_cancelled
from studio.theme.sizes import scale
from studio.theme.theme import Theme, apply_theme, load_theme
from studio.welcome.first_run import FirstRunNotes
from studio.welcome.start_page import StartPage
from studio.widgets.form_area import FormArea
from studio.widgets.messages import Banner, Log
from studio.window.centre import Centre
from studio.window.close_question import ask_to_end, ask_what_to_do
from studio.window.docking.keyboard import PanelKeys
from studio.window.docks import Docks
from studio.window.group_comparison import GroupComparison
from studio.window.health_advice import HealthAdvice, thresholds_page
from studio.window.inspecting import Inspecting
from studio.window.manual_and_keys import HelpWindows
from studio.window.many_runs_presenter import ManyRunsPresenter
from studio.window.opener import Opener
from studio.window.opening.importing import ImportAction
from studio.window.opening.late_panels import LatePanels
from studio.window.opening.lessons import show_lessons
from studio.window.opening.recent import RecentFiles
from studio.window.opening.start import connect_start_page
from studio.window.panels import PANELS, PanelContext, Panels, PanelSpec
from studio.window.parts import WindowParts
from studio.window.preferences.notifications import (
    notify_of_groups,
    notify_of_runs,
    notify_of_sweeps,
)
from studio.window.preferences.notifier import Notifier
from studio.window.preferences.preferences import Preferences
from studio.window.replay_stage import ReplayStage, StageSize
from studio.window.resume_offer import ResumeOffer
from studio.window.run_presenter import RunPresenter
from studio.window.session_memory import SessionMemory
from studio.window.start_request import StartRequest
from studio.window.status_bar import StatusBar
from studio.window.toolbar import Toolbar
from td3core.config import Tunables
from td3core.errors import RequestError


class MainWindow(QMainWindow):
    """The whole studio. Owns the run controller and the run model; widgets only show them."""

    closed = Signal()

    def __init__(
        self,
        runs_dir: Path,
        settings: QSettings,
        theme: Theme,
        panels: tuple[PanelSpec, ...] = PANELS,
    ) -> None:
        super().__init__()
        self.setObjectName("main_window")
        self.setWindowTitle("TD3 Studio")
        self._runs_dir, self._settings, self._theme = runs_dir, settings, theme
        self._scale = scale()
        self._closing = self._looked_for_interrupted = False
        self.controller = RunController(self)
        self.model = RunModel(self)
        self.consent = CodeConsent(self)
        self.many = ManyRuns(self.controller, self.consent, runs_dir, self)
        self.launcher = RunLauncher(
            self.controller,
            self.model,
            self.consent,
            runs_dir,
            self,
            obstacle=self.many.obstacle,
            edited=self._edited,
        )
        self.verify = VerifyDialog(self)
        self._make_panels(panels)
        self.plots = PlotGrid(self.model, theme)
        self.comparison = RunComparisonView(theme)
        self.start = StartPage(self.plots.card(self.plots.large).plot, runs_dir)
        self.banner = Banner()
        self.first_run = FirstRunNotes(self.model, settings)
        self.status = StatusBar(self.model, theme)
        self.toolbar = Toolbar(self)
        self.preferences = Preferences(
            settings, self.replay, lambda: self._theme, self.switch_theme, runs_dir, self
        )
        self.start_request = StartRequest(
            self.setup, self.live, self.many, self.consent, self.banner, self, self.preferences
        )
        self.opener = Opener(self)
        self.importing = ImportAction(self, runs_dir, self.consent, self.share.tasks.open_dialog)
        self.recent = RecentFiles(
            settings,
            self.opener,
            self.model,
            self.toolbar.button("runs"),
            [self.importing.action],
        )
        self.group_comparison = GroupComparison(self.many.session, self.comparison.session, self)
        self.memory = SessionMemory(settings, self.setup, self.live, self.plots)
        self._lay_out()
        parts = self._parts()
        self._connect_user()
        self._connect_run(parts)
        self._connect_messages()
        self._connect_forms()
        Centre(self._stack, parts)
        ManyRunsPresenter(parts)
        self._connect_run_list()
        self._connect_replay()
        self._connect_opening(parts)
        self._connect_health_and_sweeps(parts)
        self._connect_notifications()
        self._connect_films()
        self._connect_closing()
        self._on_state(SessionState.IDLE)
        self.docks.restore(settings)
        self._apply_theme(theme)
        self.memory.restore_forms()

    def _make_panels(self, specs: tuple[PanelSpec, ...]) -> None:
        context = PanelContext(
            model=self.model,
            controller=self.controller,
            consent=self.consent,
            session=self.many.session,
            queue=self.many.queue,
            runs_dir=self._runs_dir,
            settings=self._settings,
            theme=self._theme,
        )
        self.panels = Panels(context, specs)
        self.setup = self.panels.get(SetupPanel)
        self.live = self.panels.get(LivePanel)
        self.replay = self.panels.get(ReplayPane)
        self.share = ShareButton(
            self.replay, self.consent, partial(self.panels.if_made, "instruments")
        )
        self.replay.controls.add_tool(self.share)
        self.log = self.panels.get(Log)
        self.runs = self.panels.get(RunBrowser)

    @property
    def runs_dir(self) -> Path:
        """The folder of the runs."""
        return self._runs_dir

    def _lay_out(self) -> None:
        self.setStatusBar(self.status)
        self.addToolBar(self.toolbar)
        centre = QWidget()
        layout = QVBoxLayout(centre)
        layout.setContentsMargins(0, 0, 0, 0)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.plots)
        self._stack.addWidget(self.comparison)
        area = FormArea(self._stack)
        area.setObjectName("centre_area")
        layout.addWidget(self.first_run)
        layout.addWidget(area, 1)
        self.banner.float_over(centre)
        self.setCentralWidget(centre)
        self.docks = Docks(self, self.panels)
        self.panel_keys = PanelKeys(self, self.docks, self.comparison, self.banner)
        self.help = HelpWindows(self.toolbar, self.panel_keys, self)
        dock = self.docks.dock("replay")
        self.stage = ReplayStage(self, dock, self.replay, self._show_plots_as_strip)
        self.toolbar.set_panels(self.docks.menu)

    def _parts(self) -> WindowParts:
        return WindowParts(
            window=self,
            runs_dir=self._runs_dir,
            settings=self._settings,
            controller=self.controller,
            model=self.model,
            consent=self.consent,
            many=self.many,
            launcher=self.launcher,
            panels=self.panels,
            setup=self.setup,
            live=self.live,
            replay=self.replay,
            log=self.log,
            runs=self.runs,
            tasks=self.share.tasks,
            plots=self.plots,
            comparison=self.comparison,
            groups=self.group_comparison,
            start=self.start,
            first_run=self.first_run,
            banner=self.banner,
            status=self.status,
            toolbar=self.toolbar,
            docks=self.docks,
            stage=self.stage,
        )

    def _connect_user(self) -> None:
        for name, act in (
            ("train", self.start_request.start),
            ("queue", self.start_request.queue),
            ("pause", self.many.pause_or_continue),
            ("stop", self.many.stop),
            ("save", self.many.save),
            ("theme", self.switch_theme),
            ("runs", self._toggle_runs),
            ("help", self.help.show_manual),
            ("undo", self.live.undo),
            ("redo", self.live.redo),
            ("keys", self.help.show_keys),
            ("settings", self.preferences.show),
            ("lessons", partial(show_lessons, self.many, self)),
            ("next_panel", self.panel_keys.go_on),
            ("previous_panel", self.panel_keys.go_back),
            ("quit", self.close),
            ("large", self.stage.toggle_large),
            ("full", self.stage.toggle_full),
        ):
            self.toolbar.action(name).triggered.connect(act)

    def _connect_run(self, parts: WindowParts) -> None:
        self.controller.state_changed.connect(self._on_state)
        self.controller.event_reported.connect(self.model.handle)
        self.controller.caught_up.connect(self.model.catch_up)
        self.model.message_added.connect(self.log.add)
        self.presenter = RunPresenter(parts)
        ResumeOffer(parts).runs_wanted.connect(self.show_runs)
        for beginning in (self.launcher.beginning, self.many.beginning):
            beginning.connect(self.banner.hide)
            # The user starts this run: the form may show it.
            beginning.connect(self.setup.forget_entries)
        self.launcher.resuming.connect(self.model.open)

    def _connect_messages(self) -> None:
        show_error = partial(self.banner.show_message, "error")
        self.panels.on_refusal(show_error)
        for refused in (
            *(self.controller.refused, self.launcher.refused, self.many.refused),
            *(self.consent.refused, self.share.tasks.refused, self.opener.refused),
            self.presenter.refused,
            *(self.plots.message, self.comparison.refused, self.model.refused),
        ):
            refused.connect(show_error)
        self.opener.left_out.connect(partial(self.banner.show_message, "warning"))
        for succeeded in (
            *(self.plots.exported, self.comparison.session.exported, self.model.tuned),
            *(self.model.checkpoint_saved, self.many.session.message_added),
        ):
            succeeded.connect(self.banner.clear_error)

    def _connect_forms(self) -> None:
        self.controller.set_own_process(self.setup.own_process.isChecked())
        self.setup.own_process.toggled.connect(self.controller.set_own_process)
        self.setup.seeds.textChanged.connect(
            lambda text: self.toolbar.offer_group(bool(text.strip()))
        )
        self.setup.use_live_settings(self.live.next_tunables)
        self.setup.live_defaults_changed.connect(self.live.show_defaults)
        self.setup.steps_changed.connect(self.live.set_steps)
        self.setup.algorithm_changed.connect(self.live.show_algorithm)
        self.live.show_defaults(self.setup.chosen_tunables())
        self.start_request.panel_wanted.connect(self.docks.reveal)

    def _connect_run_list(self) -> None:
        actions = self.runs.run_actions
        # The widgets of the comparison are made when it is first opened.
        self.comparison.session.opened.connect(self.panel_keys.sort_tabs)
        actions.resume_requested.connect(self.launcher.resume)
        actions.repeat_requested.connect(self.launcher.repeat_changes)
        actions.verify_requested.connect(self.launcher.verify)
        actions.film_requested.connect(self.share.tasks.film_run)
        self.launcher.verifying.connect(self.verify.check)

    def _connect_replay(self) -> None:
        controls, agents = self.replay.controls, self.replay.checkpoints
        controls.add_option(self.docks.dock("instruments").toggleViewAction())
        self.runs.run_actions.deleted.connect(agents.refresh_runs)
        agents.branch_requested.connect(self.launcher.branch)
        inspecting = Inspecting(self.model, agents, self)
        self.plots.offer_checkpoints(inspecting.nearest, inspecting.show)
        controls.large_clicked.connect(self.stage.toggle_large)
        controls.full_screen_clicked.connect(self.stage.toggle_full)
        self.stage.changed.connect(self._on_stage)

    def _connect_opening(self, parts: WindowParts) -> None:
        connect_start_page(parts, self.start_request.start, self.show_runs)
        self.opener.run_wanted.connect(self.presenter.open_path)
        self.presenter.asked.connect(self.opener.give_way)
        self.opener.runs_opened.connect(self.comparison.session.compare)
        self.opener.agent_opened.connect(self.replay.choose)
        self.opener.import_wanted.connect(self.importing.show_file)
        self.importing.imported.connect(self._show_imported)
        self.runs.model.renamed.connect(self.recent.refresh)

    @Slot(object)
    def _show_imported(self, found: dict[str, Any]) -> None:
        self.runs.refresh_soon()
        self.replay.checkpoints.refresh_runs()
        if found["checkpoint"]:
            self.replay.choose(Path(found["checkpoint"]))

    def _connect_health_and_sweeps(self, parts: WindowParts) -> None:
        self.health = HealthAdvice(parts)
        self.preferences.add_page(thresholds_page(self.health.board, self))
        self.late = LatePanels(parts)
        for changed in (
            *(self.many.group_changed, self.health.paired_tests.busy_changed),
            *(self.late.sweep_started, self.late.sweep_ended),
        ):
            changed.connect(self._on_training)

    def _connect_films(self) -> None:
        player, wanted = self.replay.player, self.preferences
        self.films = FinalFilms(lambda: wanted.film_folder, lambda: player.variables, self)
        self.films.watch(self.controller, self.many.session)
        self.films.told.connect(self.log.add)
        wanted.films_unwanted.connect(self.films.cancel)

    def _connect_notifications(self) -> None:
        notifier = Notifier(self, lambda: self.preferences.notifies)
        notify_of_runs(notifier, self.controller, self.model)
        notify_of_groups(notifier, self.many.session)
        self.panels.when_made("sweeps", partial(notify_of_sweeps, notifier))
        self.share.tasks.began.connect(notifier.begin)
        self.share.tasks.ended.connect(notifier.end)
        self.closed.connect(notifier.stop)

    def _connect_closing(self) -> None:
        # In any order: none of them needs another.
        for end in (
            *(self.share.shutdown, self.panels.shutdown, self.comparison.shutdown),
            *(self.launcher.stop, self.consent.stop, self.verify.cancel, self.films.cancel),
            *(self.presenter.stop, self.start.stop, self.opener.stop, self.recent.stop),
            self.help.close_manual,
        ):
            self.closed.connect(end)

    def _edited(self, run: Path) -> Tunables | None:
        """Return the displayed live settings, if they were changed since this run ended."""
        record = self.model.record
        if run != record.run or record.progress is None or record.config is None:
            return None
        try:
            chosen, edited = self.setup.settings(self.live.tunables())
        except RequestError:
            return None
        # Forms with another environment are for another run.
        return edited if chosen.env == record.config.env else None

    # User actions -------------------------------------------------------------------------------

    def _show_plots_as_strip(self, strip: bool) -> None:
        self.plots.set_columns(1 if strip else 2)

    @Slot(str)
    def _on_stage(self, size: str) -> None:
        self.replay.set_large(size != StageSize.DOCK)
        self.docks.fold.hold(size != StageSize.DOCK)
        # The plots are hidden then, and the controls are at the lower edge.
        full, centre = size == StageSize.FULL, self.centralWidget()
        assert centre is not None
        self.banner.float_over(self.replay if full else centre, at_top=full)

    @Slot()
    def show_runs(self) -> None:
        """Open the list of runs and give it the keyboard focus."""
        self.docks.open("runs")
        self.runs.view.setFocus()

    @Slot()
    def _toggle_runs(self) -> None:
        if self.docks.is_seen("runs"):
            self.docks.close("runs")
        else:
            self.show_runs()

    @Slot(object)
    def _on_state(self, state: SessionState) -> None:
        busy, following = self.controller.busy, self.controller.following
        ending = self.controller.can_give_up
        self.toolbar.show_state(state, following=following, can_give_up=ending)
        self.status.show_state(state, following=following)
        self.panels.set_busy(busy)
        self.live.set_steered(busy or following)
        self.start.set_busy(busy)
        self._on_training()

    @Slot()
    def _on_training(self) -> None:
        """Adapt to whatever is training: a run, a group, a sweep, or a paired test of a change."""
        obstacle = self.many.obstacle()
        self.runs.run_actions.set_obstacle(obstacle)
        self.runs.set_expecting(self._trains)
        self.replay.set_training(self._trains, branches_wait=obstacle is not None)
        self._close_if_asked()

    @property
    def _trains(self) -> bool:
        """Return whether any training must be ended, or left, before the window closes."""
        return self.many.busy or self.late.sweep_trains or self.health.paired_tests.trains

    @Slot()
    def _close_if_asked(self) -> None:
        if self._closing and not self._trains:
            QTimer.singleShot(0, self, self.close)

    # Theme and closing --------------------------------------------------------------------------

    @property
    def theme(self) -> Theme:
        """The current theme."""
        return self._theme

    @Slot()
    def switch_theme(self) -> None:
        """Switch between light and dark."""
        self._apply_theme(load_theme("light" if self._theme.dark else "dark"))
        self._settings.setValue("theme", self._theme.name)

    def _apply_theme(self, theme: Theme) -> None:
        self._theme, self._scale = theme, scale()
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        apply_theme(app, theme)
        for part in (self.plots, self.comparison, self.status, self.toolbar, self.panels):
            part.set_theme(theme)

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802
        """Ask once during training and tasks; close when training was saved and ended, or left."""
        if self._closing and self.controller.can_give_up:
            # The user closes again while the run is ending: its environment may hang.
            self.controller.stop()
        tasks = self._tasks_under_way
        if (self._trains or tasks) and not self._closing:
            answer = self._ask_about_training(tasks) if self._trains else ask_to_end(self, tasks)
            if answer == "cancel":
                event.ignore()
                return
            # It may have ended by itself while the question was open.
            self._closing = self._trains
            if answer == "stop":
                self.many.stop_all()
                self.health.paired_tests.stop()
                self.late.stop_sweep()
            elif answer == "keep":
                self.many.leave_all()
        if self._trains:
            event.ignore()
            return
        # First what would start more training once the followed run is left: the queue, and a
        # paired test that waits for a core. Leaving it makes panels read; they end after that.
        self.many.shutdown()
        self.health.shutdown()
        self.controller.stop_following()
        # The layout is that of the replay in its dock.
        self.stage.leave()
        self.docks.save(self._settings)
        self.memory.save(self.model.record.run)
        super().closeEvent(event)
        self.closed.emit()
        wait_for_cancelled()

    @property
    def _tasks_under_way(self) -> list[str]:
        """The titles of tasks that the user has started, and that end with the window."""
        verifying = [self.verify.windowTitle()] if self.verify.busy else []
        return self.share.tasks.under_way + verifying

    def _ask_about_training(self, tasks: list[str]) -> str:
        # Sweeps and paired tests are run by processes that end with the window.
        others = self.late.sweep_trains or self.health.paired_tests.trains
        can_leave = self.many.can_leave and not others
        return ask_what_to_do(self, can_leave=can_leave, tasks=tasks)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Look for interrupted runs once the window is shown."""
        super().showEvent(event)
        if not self._looked_for_interrupted:
            self._looked_for_interrupted = True
            # Start without a focused control, rather than with Train focused.
            self.setFocus()
            QTimer.singleShot(0, self, self.runs.look_for_interrupted)
            if self.memory.run is not None:
                self.presenter.open_path(self.memory.run, reopened=True)
            self.many.find_training()
            self.health.paired_tests.find()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        """Follow the desktop's font, and refresh runs and queue, which others may have changed."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and scale() != self._scale:
            # Not inside the event: setting a style sheet would undo the rest of its handling.
            QTimer.singleShot(0, self, lambda: self._apply_theme(self._theme))
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            self.runs.refresh_soon()
            self.many.queue.look()

    def save_and_close(self) -> None:
        """End the run and close without asking, because the system is ending the program."""
        self._closing = True
        self.many.stop_all()
        self.health.paired_tests.stop()
        self.late.end_sweep()
        self.close()
