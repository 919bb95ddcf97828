"""Connects the start page with the rest of the window."""

from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from studio.replay.checkpoint_model import WALKER
from studio.welcome.start_facts import FIRST_ENV
from studio.window.replay_stage import StageSize

if TYPE_CHECKING:
    from studio.window.main_window import MainWindow


def connect_start_page(window: "MainWindow") -> None:
    """Let the buttons of the start page do what they offer."""
    page, actions = window.start, window.runs.run_actions
    page.runs_requested.connect(window.show_runs)
    page.train_requested.connect(partial(_train_first, window))
    page.watch_requested.connect(partial(_watch_walker, window))
    page.continue_requested.connect(window.launcher.resume)
    page.open_requested.connect(window.many.open_run)
    # Beside a large replay the plots are a strip, which has no room for it.
    window.stage.changed.connect(lambda size: page.set_aside(size != StageSize.DOCK))
    for changed in (actions.deleted, window.runs.model.renamed):
        changed.connect(page.refresh)
    window.closed.connect(page.stop)


def _watch_walker(window: "MainWindow") -> None:
    walker = Path(str(files("resources") / "agents" / WALKER))
    window.docks.open("replay")
    window.replay.checkpoints.select(walker)
    window.replay.checkpoints.checkpoint_activated.emit(walker)


def _train_first(window: "MainWindow") -> None:
    window.setup.environment.picker.setCurrentText(FIRST_ENV)
    window.start_request.start()
