"""Connects the actions of the start page with the rest of the window."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path

from studio.experiments.many_runs import ManyRuns
from studio.launch.launcher import RunLauncher
from studio.replay.checkpoint_list import CheckpointPanel
from studio.replay.checkpoint_model import WALKER
from studio.run_browser.browser import RunBrowser
from studio.setup.setup_panel import SetupPanel
from studio.welcome.first_run import FirstRunNotes
from studio.welcome.start_page import StartPage
from studio.window.docks import Docks
from studio.window.replay_stage import ReplayStage, StageSize
from td3core.envs.catalogue import FIRST_ENV


@dataclass(frozen=True, slots=True, kw_only=True)
class StartParts:
    """The parts of the window that the start page uses."""

    docks: Docks
    setup: SetupPanel
    agents: CheckpointPanel
    runs: RunBrowser
    launcher: RunLauncher
    many: ManyRuns
    stage: ReplayStage
    first_run: FirstRunNotes
    train: Callable[[], None]
    """Starts the run described in Setup."""
    show_runs: Callable[[], None]
    """Opens the list of runs."""


def connect_start_page(page: StartPage, parts: StartParts) -> None:
    """Connect the actions of the start page, and update it on changes."""
    page.runs_requested.connect(parts.show_runs)
    # Connected first: the run may start at once.
    page.train_requested.connect(parts.first_run.expect)
    page.train_requested.connect(partial(train_first, parts.setup, parts.train))
    page.watch_requested.connect(partial(watch_walker, parts.docks, parts.agents))
    page.continue_requested.connect(parts.launcher.resume)
    page.open_requested.connect(parts.many.open_run)
    # Next to a large replay, the plots are a strip without space for the start page.
    parts.stage.changed.connect(lambda size: page.set_aside(size != StageSize.DOCK))
    for changed in (parts.runs.run_actions.deleted, parts.runs.model.renamed):
        changed.connect(page.refresh)


def watch_walker(docks: Docks, agents: CheckpointPanel) -> None:
    """Play the bundled walking agent."""
    walker = Path(str(files("resources") / "agents" / WALKER))
    docks.open("replay")
    agents.select(walker)
    agents.checkpoint_activated.emit(walker)


def train_first(setup: SetupPanel, train: Callable[[], None]) -> None:
    """Train on the first environment, with its own preset."""
    setup.show_usual(FIRST_ENV)
    train()
