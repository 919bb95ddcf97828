"""Tracks the newest agent of a run, and notices when the file of the current agent changes."""

from collections.abc import Callable
from enum import Enum, auto
from pathlib import Path
from typing import NamedTuple, Protocol

from PySide6.QtCore import QObject, Signal

from studio.replay.player import Player, PlayerState
from studio.replay.renderer.protocol import Loaded
from studio.session.agents import SavedAgents
from td3core.runs.layout import run_of
from td3core.text import Text

NEWEST = Text("newest")
"""Role of the agent that the current run saved last."""
OVERWRITTEN = {"best": Text("best"), "last": Text("last")}
"""Files that every run overwrites, and their names."""
_EARLIER = {"best": Text("earlier best"), "last": Text("earlier last")}
_UNKNOWN = -1


class LoadAgent(Protocol):
    """Loads an agent, now or at the end of the episode."""

    def __call__(self, path: Path, *, at_episode_end: bool = False) -> None:
        """Load the agent at this path."""


class ShownAgent(NamedTuple):
    """The current agent, as shown in the list, the timeline and the caption."""

    path: Path
    env_steps: int
    mean_return: float | None
    role: Text | None
    """Its relation to the current run: ``newest``, ``best``, ``earlier best``, ``deleted``, the
    name of another run, or none."""
    gone: bool
    """Whether its file has been overwritten or deleted since it was loaded."""


class _Newest(NamedTuple):
    """The agent that a run saved last."""

    path: Path
    env_steps: int = _UNKNOWN


class Tracking(Enum):
    """When the newest agent of the current run is loaded."""

    OFF = auto()
    """When the user chooses it."""
    FOLLOWING = auto()
    """Once it is saved, or at the end of the episode being played."""
    BEHIND = auto()
    """When the user presses Play, or the picture becomes visible again.

    The agent was saved while the picture was paused or hidden.
    """


class ShownFile(Enum):
    """State of the current agent's file since it was loaded."""

    INTACT = auto()
    DELETED = auto()
    REPLACED = auto()
    """It holds another agent."""


class NewestAgentTracker(QObject):
    """Decides when the newest agent of the current run is loaded.

    While an agent plays, its episode is finished first. A paused picture stays; Play then starts
    with the newest agent.
    """

    changed = Signal()
    """:attr:`shown` may have changed."""

    def __init__(self, player: Player, load: LoadAgent, visible: Callable[[], bool]) -> None:
        """Load agents with ``player``; nothing is loaded unless ``visible`` returns True."""
        super().__init__(player)
        self._player, self._load, self._visible = player, load, visible
        self._run: Path | None = None
        self._newest: _Newest | None = None
        self._listed: frozenset[Path] = frozenset()
        self._tracking, self._file = Tracking.OFF, ShownFile.INTACT
        player.loaded.connect(self._on_loaded)

    @property
    def newest(self) -> Path | None:
        """The agent that the current run saved last."""
        return self._newest.path if self._newest else None

    @property
    def shown(self) -> ShownAgent | None:
        """The current agent."""
        agent = self._player.agent
        if agent is None:
            return None
        gone = self._file is not ShownFile.INTACT
        role = self._role_of(agent)
        return ShownAgent(agent.path, agent.env_steps, agent.mean_return, role, gone)

    @property
    def is_run_gone(self) -> bool:
        """True if the current agent was deleted, and so were all others of its run."""
        return self._file is ShownFile.DELETED and not self._listed

    def _role_of(self, agent: Loaded) -> Text | None:
        stem = agent.path.stem
        if self._file is ShownFile.REPLACED:
            return _EARLIER.get(stem) or Text("earlier {file}", file=stem)
        if self._file is ShownFile.DELETED:
            return Text("deleted")
        run = run_of(agent.path)
        if run is not None and self._run is not None and run != self._run:
            return Text("from {run} (earlier run)", run=agent.run or run.name)
        return NEWEST if self._shows_newest(agent) else OVERWRITTEN.get(stem)

    # The run ------------------------------------------------------------------------------------

    def set_run(self, run: Path | None, agents: SavedAgents | None = None) -> None:
        """Set the current run, and its agents on disk if known."""
        if run != self._run:
            self._run, self._newest = run, None
            # Otherwise agents of the previous run would count as deleted.
            self._listed = frozenset()
            self._caught_up()
        if agents is not None:
            self.note_listed(agents)
        self.changed.emit()

    def note_listed(self, agents: SavedAgents) -> None:
        """Note the run's agents on disk."""
        stamps = agents.stamps
        if stamps and self._newest is None:
            self._newest = _Newest(max(stamps, key=lambda path: stamps[path][0]))
        agent = self._player.agent
        if agent is not None and stamps.get(agent.path, (0, 0))[0] > agent.changed_ns:
            self._note_replaced(agent)
        missing = agent is not None and agent.path in self._listed and agent.path not in stamps
        if missing and self._file is ShownFile.INTACT:
            self._file = ShownFile.DELETED
        self._listed = frozenset(stamps)
        self.changed.emit()

    def note_saved(self, path: Path, env_steps: int) -> None:
        """Note an agent just saved by the run, and show it if the run is followed."""
        path, newest = path.absolute(), self._newest
        # The best agent is known only after its evaluation: by then there may be newer ones.
        if newest is None or path.parent != newest.path.parent or env_steps >= newest.env_steps:
            self._newest = _Newest(path, env_steps)
        agent = self._player.agent
        if agent is not None and agent.path == path and agent.env_steps != env_steps:
            self._note_replaced(agent)
        if self._tracking is not Tracking.OFF:
            self._show_newest()
        self.changed.emit()

    def _note_replaced(self, agent: Loaded) -> None:
        """The current agent's file now holds another agent: load it after the episode."""
        self._file = ShownFile.REPLACED
        if self._player.playing and self._tracking is Tracking.OFF and self._visible():
            self._load(agent.path, at_episode_end=True)

    # The user -----------------------------------------------------------------------------------

    def set_enabled(self, enabled: bool) -> None:
        """Follow the run from now on, starting with its newest agent, or stop following."""
        self._tracking = Tracking.FOLLOWING if enabled else Tracking.OFF
        if enabled and self._newest is not None and not self._is_on_show():
            self._load(self._newest.path)
        self.changed.emit()

    def catch_up(self) -> None:
        """Before playing: show the newest agent if it was saved while the picture was paused."""
        behind = self._tracking is Tracking.BEHIND
        self._caught_up()
        if behind and self._newest and not self._is_on_show():
            self._load(self._newest.path)

    def note_seen(self) -> None:
        """The picture is visible again: show an agent saved meanwhile, unless paused."""
        if self._tracking is Tracking.BEHIND and (self._player.playing or self._player.idle):
            self._show_newest()

    # Loading ------------------------------------------------------------------------------------

    def _show_newest(self) -> None:
        newest, player = self._newest, self._player
        if newest is None or player.state is PlayerState.CRASHED or self._is_on_show():
            return
        idle = player.idle
        if not self._visible():
            self._tracking = Tracking.BEHIND
        elif idle or not self._shows_same_run(newest):
            # The player is idle, or shows another run: there is no episode worth waiting for.
            self._caught_up()
            self._load(newest.path)
            if idle:
                player.play()
        elif player.playing:
            self._load(newest.path, at_episode_end=True)
        else:
            self._tracking = Tracking.BEHIND

    def _caught_up(self) -> None:
        if self._tracking is Tracking.BEHIND:
            self._tracking = Tracking.FOLLOWING

    def _shows_same_run(self, newest: _Newest) -> bool:
        """Return whether the picture belongs, or will belong, to the run that saved an agent."""
        path = self._player.path
        return path is not None and path.parent == newest.path.parent

    def _is_on_show(self) -> bool:
        agent = self._player.agent
        return agent is not None and self._shows_newest(agent) and self._player.path == agent.path

    def _shows_newest(self, agent: Loaded) -> bool:
        newest = self._newest
        if newest is None or self._file is ShownFile.REPLACED:
            return False
        if newest.env_steps == _UNKNOWN:
            return agent.path == newest.path
        # The same agent may be saved under two names.
        return agent.path.parent == newest.path.parent and agent.env_steps == newest.env_steps

    def _on_loaded(self, loaded: Loaded) -> None:
        self._file = ShownFile.INTACT
        self._caught_up()
        newest = self._newest
        if (
            newest is not None
            and newest.path == loaded.path
            and newest.env_steps < loaded.env_steps
        ):
            self._newest = _Newest(loaded.path, loaded.env_steps)
        self.changed.emit()
