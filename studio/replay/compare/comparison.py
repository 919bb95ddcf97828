"""Opens and closes the comparison of agents."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QSize, Signal, Slot
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from studio.formatting import format_count
from studio.replay.checkpoint_list import CheckpointPanel
from studio.replay.compare.dialog import CompareDialog
from studio.replay.compare.view import AgentComparisonView
from studio.replay.newest_agent_tracker import ShownAgent
from studio.replay.player import Player
from studio.replay.renderer.protocol import Frame, Loaded
from studio.replay.timeline.strip import Timeline
from studio.widgets.controls import enable
from td3core.playing.compared import ComparedAgent
from td3core.text import NO_TEXT, Text, tr

_TIP = Text("Play two to four agents side by side")
NO_AGENT = Text("choose an agent first")


class AgentComparison(QObject):
    """Lets the player play several agents, and shows them; the player owns their list."""

    changed = Signal(bool)
    """Carries True if several agents are shown now, False if a single one is shown again."""
    closed = Signal(Path)
    """The user wants to see this agent alone."""

    def __init__(
        self,
        player: Player,
        checkpoints: CheckpointPanel,
        timeline: Timeline,
        shown: Callable[[], ShownAgent | None],
        parent: QWidget,
    ) -> None:
        """Compare agents of the list and the timeline; ``shown`` returns the current one."""
        super().__init__(parent)
        self._player, self._checkpoints, self._timeline = player, checkpoints, timeline
        self._shown, self._widget = shown, parent
        self.on_show = False
        """True while several agents are shown."""
        self.view = AgentComparisonView()
        self.view.hide()
        self.action = QAction(tr("Compare agents…"), self)
        self.action.setObjectName("compare_action")
        self.action.setShortcut(QKeySequence("Ctrl+Shift+M"))
        self.action.setAutoRepeat(False)
        self.action.triggered.connect(self.choose)
        # Added to the parent as well, so that the shortcut works while the menu is closed.
        parent.addAction(self.action)
        player.loaded.connect(self._on_loaded)
        player.frame_ready.connect(self._on_frame)
        player.state_changed.connect(self._on_state)
        self.view.tile_settled.connect(self._fit)
        self.view.close_button.clicked.connect(self.close)
        self.view.change_button.clicked.connect(self.choose)
        self.view.push_button.clicked.connect(player.push)
        self._on_state()

    @property
    def active(self) -> bool:
        """True if several agents are shown, or being loaded."""
        return bool(self._player.compared)

    @property
    def names(self) -> list[str]:
        """The names of the current agents; empty for a single one."""
        return [tile.title.text() for tile in self.view.tiles] if self.on_show else []

    @property
    def can_push(self) -> bool:
        """True if one of the current agents can be pushed."""
        return self.on_show and self.view.push_button.isVisible()

    @Slot()
    def choose(self) -> None:
        """Ask which agents to compare; the current ones are checked."""
        self.choose_with(None)

    def choose_with(self, other: Path | None) -> None:
        """Ask which agents to compare, with ``other`` checked, too."""
        agent = self._player.agent
        if agent is None:
            return
        window, points = self._widget.window(), self._timeline.points
        for earlier in window.findChildren(CompareDialog):
            earlier.close()
        compared = list(self._player.compared) or [ComparedAgent(agent.path)]
        shown, not_saved = self._shown(), NO_TEXT
        if shown is not None and shown.gone:
            # Its path would lead to another agent.
            saved = self._other_file(shown)
            own = [each for each in compared if each.path == shown.path]
            compared = [each for each in compared if each not in own]
            if saved is not None:
                compared = [each._replace(path=saved) for each in own] + compared
            else:
                not_saved = Text(
                    "The agent shown ({role}, step {step}) is left out: it is no longer saved.",
                    role=shown.role or NO_TEXT,
                    step=format_count(shown.env_steps),
                )
        if other is not None and all(each.path != other for each in compared):
            compared.append(ComparedAgent(other))
        model, run = self._checkpoints.model, self._checkpoints.current_run
        dialog = CompareDialog(model, points, agent.env_id, compared, window, run, not_saved)
        dialog.chosen.connect(self.compare)
        dialog.open()

    def _other_file(self, gone: ShownAgent) -> Path | None:
        """Return another file of its run that holds an agent whose own file no longer does."""
        for point in self._timeline.points:
            if point.env_steps == gone.env_steps and point.path.parent == gone.path.parent:
                files = (point.path, *sorted(point.others))
                return next((path for path in files if path != gone.path), None)
        return None

    @Slot(object)
    def compare(self, compared: list[ComparedAgent]) -> None:
        """Load agents and show them side by side."""
        self._player.compare(compared)

    @Slot()
    def close(self) -> None:
        """Show the first agent alone."""
        compared = self._player.compared
        if compared:
            self.closed.emit(compared[0].path)

    @Slot(object)
    def _on_loaded(self, loaded: Loaded) -> None:
        if loaded.agents:
            self.view.show_agents(loaded)
        self._show(bool(loaded.agents))

    @Slot(object)
    def _on_frame(self, frame: Frame) -> None:
        if self.on_show:
            self.view.show_frame(frame)

    @Slot()
    def _on_state(self) -> None:
        agent = self._player.agent
        # The menu of the list offers it as well.
        for action in (self.action, self._checkpoints.compare_action):
            enable(action, NO_AGENT if agent is None else NO_TEXT, _TIP)
        if agent is None:
            self._show(False)

    def _show(self, on_show: bool) -> None:
        if on_show is not self.on_show:
            self.on_show = on_show
            self.changed.emit(on_show)

    @Slot(QSize)
    def _fit(self, size: QSize) -> None:
        if self.on_show:
            self._player.fit(size)
