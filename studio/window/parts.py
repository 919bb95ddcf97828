"""The parts of the window, for the modules that connect them."""

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QMainWindow

from studio.consent.code_consent import CodeConsent
from studio.experiments.many_runs import ManyRuns
from studio.launch.launcher import RunLauncher
from studio.live.live_panel import LivePanel
from studio.plots.compare.view import RunComparisonView
from studio.plots.run.grid import PlotGrid
from studio.replay.pane import ReplayPane
from studio.run_browser.browser import RunBrowser
from studio.session.controller import RunController
from studio.session.model import RunModel
from studio.setup.setup_panel import SetupPanel
from studio.share.menu import ShareTasks
from studio.welcome.first_run import FirstRunNotes
from studio.welcome.start_page import StartPage
from studio.widgets.messages import Banner, Log
from studio.window.docks import Docks
from studio.window.group_comparison import GroupComparison
from studio.window.panels import Panels
from studio.window.replay_stage import ReplayStage
from studio.window.status_bar import StatusBar
from studio.window.toolbar import Toolbar


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowParts:
    """Everything that is connected with something else, once all of it has been made."""

    window: QMainWindow
    """The parent of dialogs."""
    runs_dir: Path
    settings: QSettings
    controller: RunController
    model: RunModel
    consent: CodeConsent
    many: ManyRuns
    launcher: RunLauncher
    panels: Panels
    setup: SetupPanel
    live: LivePanel
    replay: ReplayPane
    log: Log
    runs: RunBrowser
    tasks: ShareTasks
    plots: PlotGrid
    comparison: RunComparisonView
    groups: GroupComparison
    start: StartPage
    first_run: FirstRunNotes
    banner: Banner
    status: StatusBar
    toolbar: Toolbar
    docks: Docks
    stage: ReplayStage
