"""What the buttons of the start page do that concern several parts of the window."""

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from studio.replay.checkpoint_list import CheckpointPanel
from studio.replay.checkpoint_model import WALKER
from studio.setup.setup_panel import SetupPanel
from studio.welcome.start_facts import FIRST_ENV
from studio.window.docks import Docks


def watch_walker(docks: Docks, agents: CheckpointPanel) -> None:
    """Play the bundled agent that walks."""
    walker = Path(str(files("resources") / "agents" / WALKER))
    docks.open("replay")
    agents.select(walker)
    agents.checkpoint_activated.emit(walker)


def train_first(setup: SetupPanel, train: Callable[[], None]) -> None:
    """Choose the environment that learns soonest, and train on it."""
    setup.environment.picker.setCurrentText(FIRST_ENV)
    train()
