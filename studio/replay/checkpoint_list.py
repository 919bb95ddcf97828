"""Saved agents to choose from: this run's, an earlier run's, and bundled ones."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from PySide6.QtCore import QItemSelection, QModelIndex, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QAction, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QMenu,
    QVBoxLayout,
    QWidget,
)

from studio.replay.checkpoint_model import CheckpointModel, Section
from studio.replay.newest_agent_tracker import ShownAgent
from studio.replay.run_combo import RunCombo
from studio.session.agents import SavedAgents, read_agents
from studio.tasks.background_task import BackgroundTask, Stopped
from studio.widgets.controls import enable
from studio.widgets.path_actions import PATH_ACTIONS, command, copy, open_path
from td3core.runs.directory import RunDirectory
from td3core.runs.layout import run_of
from td3core.text import NO_TEXT, Text, tr

_BRANCH = Text("Start a new run from this agent, with other settings")
_BRANCH_WHILE_TRAINING = Text(
    "Start a new run from this agent, with other settings. It waits for its turn, or trains in a"
    " process of its own"
)

_INSPECT = Text("Transitions of its replay buffer with their TD errors, and Q₁ over the actions")


class CheckpointPanel(QWidget):
    """The list, below the selector for an earlier run. Reads files in the background."""

    checkpoint_chosen = Signal(Path)
    checkpoint_activated = Signal(Path)
    branch_requested = Signal(Path)
    compare_requested = Signal(Path)
    inspect_requested = Signal(Path)
    listed = Signal(object)
    """The saved agents of the current run (:class:`~studio.session.agents.SavedAgents`)."""

    def __init__(self) -> None:
        super().__init__()
        self._current: Path | None = None
        self._quiet = self._busy = self._outdated = False
        self._shown: ShownAgent | None = None
        """The current agent, which may have no row yet."""
        self._asked: tuple[Path, QPoint] | None = None
        """The agent whose menu was requested, and the position."""
        self._current_reader = BackgroundTask("list-agents", self)
        self._earlier_reader = BackgroundTask("list-earlier-agents", self)
        self.model = CheckpointModel(self)
        self.source = RunCombo()
        self.view = _AgentView()
        self._lay_out()
        self._connect()
        self._make_menu()
        self.model.show_bundled()

    def _lay_out(self) -> None:
        self.source.setObjectName("checkpoint_source")
        self.source.setAccessibleName(tr("Earlier run"))
        self.source.setToolTip(tr("Also list the checkpoints of an earlier run"))
        self.view.setObjectName("checkpoint_list")
        self.view.setAccessibleName(tr("Saved agents"))
        self.view.setModel(self.model)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self.source)
        layout.addWidget(self.view, 1)

    def _connect(self) -> None:
        self.source.run_chosen.connect(self._show_source)
        self.view.selectionModel().selectionChanged.connect(self._on_selection)
        self.view.confirmed.connect(self._on_confirmed)
        self._current_reader.busy_changed.connect(self._on_current_read)
        self.model.headers.known.connect(self._on_header)

    def shutdown(self) -> None:
        """Stop reading."""
        self.source.stop()
        self._current_reader.cancel()
        self._earlier_reader.cancel()
        self.model.headers.stop()

    # Branching ----------------------------------------------------------------------------------

    def _make_menu(self) -> None:
        self.branch_action = QAction(tr("Branch from here…"), self)
        self.branch_action.setObjectName("branch_action")
        self.branch_action.triggered.connect(self._branch)
        self.compare_action = QAction(tr("Compare with the current agent…"), self)
        self.compare_action.setObjectName("compare_with_action")
        self.compare_action.triggered.connect(self._compare)
        self.inspect_action = QAction(tr("Inspect a batch…"), self)
        self.inspect_action.setObjectName("inspect_action")
        self.inspect_action.triggered.connect(self._inspect)
        self.menu = QMenu(self)
        self.menu.setToolTipsVisible(True)
        self.menu.addActions([self.compare_action, self.branch_action, self.inspect_action])
        self.menu.addSeparator()
        for name, text, _, tip in PATH_ACTIONS:
            action = self.menu.addAction(str(text), partial(self._use_path, name))
            action.setObjectName(f"agent_{name}")
            action.setToolTip(str(tip))
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.customContextMenuRequested.connect(self.show_menu)

    @Slot(QPoint)
    def show_menu(self, position: QPoint) -> None:
        """Offer actions on the agent at a position, once its file has been read."""
        path = _path_of(self.view.indexAt(position))
        self._asked = None if path is None else (path, position)
        self._show_menu_if_known()

    def _show_menu_if_known(self) -> None:
        if self._asked is None:
            return
        path, position = self._asked
        why_not = self.model.why_no_branch(path)
        if why_not is None:
            return
        self._asked = None
        self.branch_action.setData(path)
        self.compare_action.setData(path)
        enable(self.branch_action, why_not, _BRANCH_WHILE_TRAINING if self._busy else _BRANCH)
        enable(self.inspect_action, self.model.why_no_inspection(path) or NO_TEXT, _INSPECT)
        self.menu.popup(self.view.viewport().mapToGlobal(position))

    @Slot(Path)
    def _on_header(self, path: Path) -> None:
        if self._asked is not None and self._asked[0] == path:
            self._show_menu_if_known()

    @Slot()
    def _compare(self) -> None:
        self.compare_requested.emit(self.compare_action.data())

    @Slot()
    def _inspect(self) -> None:
        self.inspect_requested.emit(self.branch_action.data())

    @Slot()
    def _branch(self) -> None:
        self.branch_requested.emit(self.branch_action.data())

    def _use_path(self, name: str) -> None:
        path: Path = self.branch_action.data()
        match name:
            case "folder":
                open_path(path.parent)
            case "path":
                copy(str(path))
            case "command":
                copy(command("eval", path))

    def set_busy(self, busy: bool) -> None:
        """Note whether a run or group is training here: a branch then does not start at once."""
        self._busy = busy

    # The current run ----------------------------------------------------------------------------

    @property
    def current_run(self) -> Path | None:
        """The current run."""
        return self._current

    def set_current_run(self, path: Path | None, agents: SavedAgents | None = None) -> None:
        """Show the checkpoints of the current run; ``agents`` are those known to be on disk."""
        path = path.absolute() if path else None
        if path != self._current or agents is not None:
            self._current = path
            self._show_section(Section.CURRENT, tr("This run") if path else "", agents)
        self._outdated = False
        if path is None or agents is not None:
            self._current_reader.cancel()
        else:
            self._current_reader.read(partial(_agents_of, path), self._show_current)
        self.source.set_current_run(path)

    def note_saved(
        self, path: Path, env_steps: int, mean_return: float | None, run_bytes: int = 0
    ) -> None:
        """Show a checkpoint that has just been written."""
        path = path.absolute()
        run = run_of(path)
        if run != self._current:
            self.set_current_run(run)
        self.model.note_saved(path, env_steps, mean_return, run_bytes)
        # Other checkpoints may have been deleted when this one was saved.
        self.refresh_current()

    def note_evaluated(self, env_steps: int, mean_return: float) -> None:
        """Show the mean return of the current run's checkpoint at a step, if there is one."""
        self.model.note_evaluated(env_steps, mean_return)

    @Slot()
    def refresh_current(self) -> None:
        """Check the current run's agents on disk now."""
        if self._current_reader.busy:
            # Results of an earlier read may be older than the agent just saved.
            self._outdated = True
        elif self._current is not None:
            read = partial(_agents_of, self._current)
            self._current_reader.read(read, self._show_current)

    def _show_current(self, agents: SavedAgents) -> None:
        if not self._outdated:
            with self._choice_kept():
                self.model.show_agents(Section.CURRENT, agents)
            self.listed.emit(agents)

    @Slot(bool)
    def _on_current_read(self, busy: bool) -> None:
        if not busy and self._outdated:
            self._outdated = False
            self.refresh_current()

    # Earlier runs -------------------------------------------------------------------------------

    def set_runs_dir(self, path: Path) -> None:
        """Offer the runs of a folder as earlier runs."""
        self.source.set_runs_dir(path)

    @Slot()
    def refresh_runs(self) -> None:
        """Check which earlier runs exist now."""
        self.source.refresh()

    @Slot(object, str)
    def _show_source(self, path: Path | None, title: str) -> None:
        self._show_section(Section.EARLIER, title)
        if path is None:
            self._earlier_reader.cancel()
        else:
            self._earlier_reader.read(partial(_agents_of, path), self._show_earlier)

    def _show_earlier(self, agents: SavedAgents) -> None:
        with self._choice_kept():
            self.model.show_agents(Section.EARLIER, agents)

    # Choosing -----------------------------------------------------------------------------------

    def chosen(self) -> Path | None:
        """Return the checkpoint that is selected."""
        rows = self.view.selectionModel().selectedRows()
        return _path_of(rows[0]) if rows else None

    def show_agent(self, shown: ShownAgent) -> None:
        """Select the row of the current agent, if any, without announcing a choice."""
        self._shown, self._quiet = shown, True
        self.model.show_gone(shown if shown.gone else None)
        index = self.model.find_shown(shown)
        if index != self.view.currentIndex() or not self.view.selectionModel().hasSelection():
            self._mark(index)
        self._quiet = False

    def select(self, path: Path) -> None:
        """Select the row of a saved agent, once it has one, without announcing a choice."""
        self.show_agent(ShownAgent(path, -1, None, role=None, gone=False))

    def _mark(self, index: QModelIndex) -> None:
        if index.isValid():
            self.view.setCurrentIndex(index)
        else:
            self.view.clearSelection()
            self.view.selectionModel().clearCurrentIndex()

    def _show_section(
        self, section: Section, title: str, agents: SavedAgents | None = None
    ) -> None:
        """Show a section with this title, or remove it without one; its agents may follow later."""
        with self._choice_kept():
            if title:
                self.model.show_heading(section, title)
            else:
                self.model.clear_section(section)
            if agents is not None:
                self.model.show_agents(section, agents)

    @contextmanager
    def _choice_kept(self) -> Iterator[None]:
        """Keep the selection while rows are added and removed."""
        # The current agent may have had no row until now.
        chosen = self.chosen()
        # Qt selects a neighbour of removed rows, which the user has not chosen.
        self._quiet = True
        try:
            yield
            index = QModelIndex()
            if chosen is not None:
                index = self.model.find(chosen)
            elif self._shown is not None:
                index = self.model.find_shown(self._shown)
            if not index.isValid() or chosen != self.chosen():
                self._mark(index)
        finally:
            self._quiet = False

    @Slot(QItemSelection, QItemSelection)
    def _on_selection(self, selected: QItemSelection, _: QItemSelection) -> None:
        # Moved rows also announce a changed selection, with nothing newly selected.
        path = self.chosen()
        if path is not None and not selected.isEmpty() and not self._quiet:
            self.checkpoint_chosen.emit(path)

    @Slot(QModelIndex)
    def _on_confirmed(self, index: QModelIndex) -> None:
        path = _path_of(index)
        if path is not None:
            self.checkpoint_activated.emit(path)


class _AgentView(QListView):
    """A flat list. Enter and a double click confirm; Space is left to the surrounding pane."""

    confirmed = Signal(QModelIndex)

    def __init__(self) -> None:
        super().__init__()
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        # Otherwise Qt would measure every row, and so open every file.
        self.setUniformItemSizes(True)
        self.setSpacing(1)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumSize(120, 90)
        self.doubleClicked.connect(self.confirmed)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Choose with the left button only: the right one opens a menu about an agent."""
        if event.button() == Qt.MouseButton.LeftButton:
            super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Confirm with Enter."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.confirmed.emit(self.currentIndex())
        elif event.key() == Qt.Key.Key_Space:
            event.ignore()
        else:
            super().keyPressEvent(event)


def _agents_of(path: Path, _: Stopped) -> SavedAgents:
    return read_agents(RunDirectory.open(path))


def _path_of(index: QModelIndex) -> Path | None:
    path = index.data(Qt.ItemDataRole.UserRole)
    return path if isinstance(path, Path) else None
