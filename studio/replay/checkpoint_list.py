"""Saved agents to choose from: this run's, an earlier run's, and those that come along."""

from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QItemSelection, QModelIndex, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QListView,
    QMenu,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from studio.replay.checkpoint_model import CheckpointModel, Section
from studio.widgets.labels import plain_tip
from td3core.errors import RequestError
from td3core.runs.directory import RunDirectory
from td3core.runs.listing import list_runs

_BRANCH = "Start a new run with all that this agent knows, and other settings"
_NOT_WHILE_TRAINING = "Not while a run is training: stop it first"
_CHOOSE = "Earlier runs: choose…"


class CheckpointPanel(QWidget):
    """The list, and above it the choice of an earlier run."""

    checkpoint_chosen = Signal(Path)
    checkpoint_activated = Signal(Path)
    branch_requested = Signal(Path)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._runs_dir: Path | None = None
        self._current: Path | None = None
        self._quiet = False
        self.model = CheckpointModel(self)
        self.source = _RunCombo()
        self.source.setObjectName("checkpoint_source")
        self.source.setAccessibleName("Earlier run")
        self.source.setToolTip("Also list the checkpoints of an earlier run")
        self.view = _AgentView()
        self.view.setObjectName("checkpoint_list")
        self.view.setAccessibleName("Saved agents")
        self.view.setModel(self.model)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self.source)
        layout.addWidget(self.view, 1)
        self.source.about_to_open.connect(self.refresh_runs)
        self.source.activated.connect(self._show_source)
        self.view.selectionModel().selectionChanged.connect(self._on_selection)
        self.view.confirmed.connect(self._on_confirmed)
        self._busy = False
        self._asked: Path | None = None
        self._make_menu()
        self.model.show_bundled()

    def _make_menu(self) -> None:
        self.branch_action = QAction("Branch from here…", self)
        self.branch_action.setObjectName("branch_action")
        self.branch_action.triggered.connect(self._branch)
        self.menu = QMenu(self)
        self.menu.setToolTipsVisible(True)
        self.menu.addAction(self.branch_action)
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.customContextMenuRequested.connect(self.show_menu)

    @Slot(QPoint)
    def show_menu(self, position: QPoint) -> None:
        """Say what can be done with the agent at a position of the list."""
        self._asked = _path_of(self.view.indexAt(position))
        if self._asked is not None:
            why_not = _NOT_WHILE_TRAINING if self._busy else self.model.why_no_branch(self._asked)
            self.branch_action.setEnabled(not why_not)
            self.branch_action.setToolTip(plain_tip(why_not or _BRANCH))
            self.menu.popup(self.view.viewport().mapToGlobal(position))

    @Slot()
    def _branch(self) -> None:
        if self._asked is not None:
            self.branch_requested.emit(self._asked)

    def set_busy(self, busy: bool) -> None:
        """Say whether a run is training in this window: nothing can be branched meanwhile."""
        self._busy = busy

    def set_runs_dir(self, path: Path) -> None:
        """Offer the runs of a folder. They are read once one is looked for."""
        self._runs_dir = path.absolute()
        self._offer([])
        if self._runs_dir.is_dir() and any(self._runs_dir.iterdir()):
            self.source.setItemText(0, _CHOOSE)
            self.source.setEnabled(True)

    def set_current_run(self, path: Path | None) -> None:
        """Show the checkpoints of the run that is going on, if there is one."""
        self._current = path.absolute() if path else None
        self._set_run(Section.CURRENT, "This run", self._current)
        self.refresh_runs()

    def note_saved(self, path: Path, env_steps: int, mean_return: float | None) -> None:
        """Show a checkpoint that has just been written."""
        path = path.absolute()
        run = path.parent.parent
        if run != self._current:
            # It is on disk already, so the listing below finds it too.
            self.set_current_run(run)
        self.model.note_saved(path, env_steps, mean_return)
        self.model.show_size(Section.CURRENT, run)

    def chosen(self) -> Path | None:
        """Return the checkpoint that is selected."""
        rows = self.view.selectionModel().selectedRows()
        return _path_of(rows[0]) if rows else None

    def select(self, path: Path) -> None:
        """Mark the row of a checkpoint without announcing it as chosen."""
        index = self.model.find(path)
        if index.isValid() and path != self.chosen():
            self._quiet = True
            self.view.setCurrentIndex(index)
            self._quiet = False

    @Slot()
    def refresh_runs(self) -> None:
        """Read which runs the folder holds now; the choice stays."""
        shown = self.source.currentData()
        runs = list(list_runs(self._runs_dir)) if self._runs_dir else []
        runs = [run for run in runs if run.path != self._current]
        self._offer(runs)
        at = self.source.findData(shown) if shown is not None else 0
        self.source.setCurrentIndex(max(at, 0))
        if at < 0:
            self._show_source()

    def _offer(self, runs: list[RunDirectory]) -> None:
        self.source.clear()
        self.source.addItem(_CHOOSE if runs else "No earlier runs", None)
        for run in runs:
            # As text: a combo box does not find other Python objects again.
            self.source.addItem(_title(run), str(run.path))
            at = self.source.count() - 1
            self.source.setItemData(at, plain_tip(str(run.path)), Qt.ItemDataRole.ToolTipRole)
        self.source.setEnabled(bool(runs))

    @Slot()
    def _show_source(self) -> None:
        path = self.source.currentData()
        self._set_run(
            Section.EARLIER, self.source.currentText(), Path(path) if path is not None else None
        )

    def _set_run(self, section: Section, title: str, path: Path | None) -> None:
        chosen = self.chosen()
        # Qt moves the selection to a neighbour of the rows that go; nobody has chosen that one.
        self._quiet = True
        if path is None:
            self.model.clear_section(section)
        else:
            self.model.show_run(section, title, _opened(path))
        if chosen is None or not self.model.find(chosen).isValid():
            self.view.clearSelection()
            self.view.selectionModel().clearCurrentIndex()
        else:
            self.view.setCurrentIndex(self.model.find(chosen))
        self._quiet = False

    @Slot(QItemSelection, QItemSelection)
    def _on_selection(self, selected: QItemSelection, _: QItemSelection) -> None:
        # Rows that move along also say that the selection changed, with nothing newly selected.
        path = self.chosen()
        if path is not None and not selected.isEmpty() and not self._quiet:
            self.checkpoint_chosen.emit(path)

    @Slot(QModelIndex)
    def _on_confirmed(self, index: QModelIndex) -> None:
        path = _path_of(index)
        if path is not None:
            self.checkpoint_activated.emit(path)


class _AgentView(QListView):
    """A flat list. Enter and a double click confirm; Space is left to the pane around it."""

    confirmed = Signal(QModelIndex)

    def __init__(self) -> None:
        super().__init__()
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        # Or Qt would measure every row, and so open every file.
        self.setUniformItemSizes(True)
        self.setSpacing(1)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumSize(120, 90)
        self.doubleClicked.connect(self.confirmed)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Confirm with Enter."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.confirmed.emit(self.currentIndex())
        elif event.key() == Qt.Key.Key_Space:
            event.ignore()
        else:
            super().keyPressEvent(event)


class _RunCombo(QComboBox):
    """Announces that it is about to open, so that runs made elsewhere can be found."""

    about_to_open = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(12)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def showPopup(self) -> None:  # noqa: N802
        """Open the list."""
        self.about_to_open.emit()
        super().showPopup()


def _opened(path: Path) -> RunDirectory | None:
    try:
        return RunDirectory.open(path)
    except RequestError:
        return None  # Deleted or damaged since it was listed.


def _path_of(index: QModelIndex) -> Path | None:
    path = index.data(Qt.ItemDataRole.UserRole)
    return path if isinstance(path, Path) else None


def _title(run: RunDirectory) -> str:
    try:
        made = datetime.fromisoformat(run.created).astimezone()
    except ValueError:
        return f"{run.config.env} · seed {run.config.seed}"
    return f"{run.config.env} · seed {run.config.seed} · {made:%Y-%m-%d %H:%M:%S}"
