"""Connects the actions of the start page with the rest of the window."""

from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import Path

from studio.replay.checkpoint_list import CheckpointPanel
from studio.replay.checkpoint_model import WALKER
from studio.setup.setup_panel import SetupPanel
from studio.window.docks import Docks
from studio.window.parts import WindowParts
from studio.window.replay_stage import StageSize
from td3core.envs.catalogue import FIRST_ENV


def connect_start_page(
    parts: WindowParts, train: Callable[[], None], show_runs: Callable[[], None]
) -> None:
    """Connect the actions of the start page, and update it on changes.

    ``train`` starts the run described in Setup, ``show_runs`` opens the list of runs.
    """
    page = parts.start
    page.runs_requested.connect(show_runs)
    # Connected first: the run may start at once.
    page.train_requested.connect(parts.first_run.expect)
    page.train_requested.connect(partial(train_first, parts.setup, train))
    page.watch_requested.connect(partial(watch_walker, parts.docks, parts.replay.checkpoints))
    page.continue_requested.connect(parts.launcher.resume)
    for announced in (parts.model.run_started, parts.model.run_opened):
        announced.connect(page.dismiss)
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
