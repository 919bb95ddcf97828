"""What can be done with the runs chosen in the list, and why not, where it cannot."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal, SignalInstance, Slot
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QToolButton

from studio.run_browser.columns import DAMAGED
from studio.run_browser.dialogs import SettingsDialog, ask_note, delete_runs
from studio.run_browser.filter_proxy import RunFilterProxy
from studio.run_browser.scanner import RunRow
from studio.run_browser.tree_model import RunTreeModel
from studio.run_browser.tree_view import RunTreeView
from studio.session.history import SMOOTHED_EPISODES, RunHistory, read_history
from studio.tasks.background_task import BackgroundTask
from studio.theme.theme import Theme
from td3core.errors import RequestError
from td3core.runs.directory import RunDirectory
from td3core.runs.lock import holder
from td3core.runs.metadata import RunLabel, RunStatus

_BUSY = "Not while a run is training: stop it first"
_ONE = "Choose one run first"


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One thing that can be done with runs: its name, text, icon, shortcuts and tip."""

    name: str
    text: str
    icon: str
    keys: tuple[str, ...]
    tip: str
    button: bool = True
    """False for what is done rarely, and only stands in the menu."""


_ACTIONS = (
    ActionSpec(
        "open", "Open", "folder-open-outline", ("Return", "Enter"), "Show its curves and agents"
    ),
    ActionSpec("resume", "Resume", "play-outline", (), "Go on where it was left"),
    ActionSpec(
        *("repeat", "Train with this run's live changes…", "repeat-variant", ()),
        *("Start a new run with its settings, and its live changes at the same steps", False),
    ),
    ActionSpec(
        *("verify", "Verify this run resumes exactly", "shield-check-outline", ()),
        *("Try on a copy whether an interruption would change anything", False),
    ),
    ActionSpec("settings", "Settings", "tune-variant", (), "Show the settings it was started with"),
    ActionSpec(
        "rename", "Rename", "pencil-outline", ("F2",), "Name it; its folder keeps its own name"
    ),
    ActionSpec(
        "note", "Note", "note-text-outline", (), "Write down what is worth remembering of it"
    ),
    ActionSpec("delete", "Delete", "trash-can-outline", ("Del",), "Move it to the trash"),
)


class RunActions(QObject):
    """The actions on the list of runs."""

    opened = Signal(object)
    """A run was read to be shown (:class:`~studio.session.history.RunHistory`)."""
    resume_requested = Signal(Path)
    repeat_requested = Signal(Path)
    """Train anew with the live changes of a run."""
    verify_requested = Signal(Path)
    refused = Signal(str)
    deleted = Signal()
    reading_changed = Signal(bool)
    """Whether a run is being read to be opened."""

    def __init__(self, view: RunTreeView, model: RunTreeModel, proxy: RunFilterProxy) -> None:
        super().__init__(view)
        self._view, self._model, self._proxy = view, model, proxy
        self._busy = self._resume_available = False
        self._opener = BackgroundTask("open-run", self)
        self._opener.said.connect(self._on_read)
        self._opener.ended.connect(self._on_opener_ended)
        self._opener.failed.connect(self.refused)
        self._make_actions()
        view.doubleClicked.connect(self._open)
        view.choice_changed.connect(self.show_what_is_possible)
        self.show_what_is_possible()

    def _make_actions(self) -> None:
        self._actions: dict[str, QAction] = {}
        self._buttons: dict[str, QToolButton] = {}
        for spec in _ACTIONS:
            action = QAction(spec.text, self)
            action.setObjectName(f"runs_{spec.name}")
            action.setShortcuts([QKeySequence(key) for key in spec.keys])
            # Only the list's own: in the editor of a name these keys mean something else.
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.triggered.connect(getattr(self, f"_{spec.name}"))
            self._view.addAction(action)
            self._actions[spec.name] = action
            if not spec.button:
                continue
            button = QToolButton()
            button.setDefaultAction(action)
            button.setObjectName(f"runs_{spec.name}_button")
            button.setProperty("role", "small")
            button.setAccessibleName(f"{spec.text} run")
            self._buttons[spec.name] = button

    @property
    def buttons(self) -> list[QToolButton]:
        """Buttons for the usual actions."""
        return list(self._buttons.values())

    def set_theme(self, theme: Theme) -> None:
        """Take on the colours of a theme."""
        for spec in _ACTIONS:
            self._actions[spec.name].setIcon(theme.icon(spec.icon))

    def set_resume_available(self, available: bool) -> None:
        """Offer to resume runs, or do not."""
        self._resume_available = available
        self.show_what_is_possible()

    def set_busy(self, busy: bool) -> None:
        """Say whether a run is training in this window: none can be opened meanwhile."""
        self._busy = busy
        if busy:
            self.stop()
        self.show_what_is_possible()

    def stop(self) -> None:
        """Stop reading a run."""
        self._opener.stop()
        self.reading_changed.emit(False)

    def _chosen_one(self) -> RunRow | None:
        rows = self._view.chosen()
        return rows[0] if len(rows) == 1 else None

    @Slot()
    def show_what_is_possible(self) -> None:
        """Enable what can be done with the runs chosen; the others say why not."""
        reasons = self._reasons()
        for spec in _ACTIONS:
            action = self._actions[spec.name]
            keys = f" ({spec.keys[0]})" if spec.keys else ""
            action.setEnabled(not reasons[spec.name])
            action.setToolTip(reasons[spec.name] or f"{spec.tip}{keys}")
        self._actions["resume"].setVisible(self._resume_available)
        self._buttons["resume"].setVisible(self._resume_available)

    def _reasons(self) -> dict[str, str]:
        """Say of each action why it is not possible; empty where it is."""
        rows = self._view.chosen()
        states = [self._model.state(row.path) for row in rows]
        alone = "" if len(rows) == 1 else _ONE
        readable = alone or ("The run is damaged" if DAMAGED in states else "")
        busy = _BUSY if self._busy else ""
        living = RunStatus.RUNNING in states
        return {
            "open": busy or alone,
            "resume": busy or readable or ("The run is running" if living else ""),
            "repeat": busy or readable,
            "verify": readable or ("The run is running" if living else ""),
            "settings": readable,
            "rename": readable,
            "note": readable,
            "delete": "A running run cannot be deleted"
            if living
            else ("" if rows else "Choose a run first"),
        }

    @Slot()
    def _open(self) -> None:
        row = self._chosen_one()
        if row is None or self._busy:
            return
        if row.problem:
            self.refused.emit(row.problem)
            return
        path = row.path

        def read(say: Callable[[object], None], stopped: Callable[[], bool]) -> None:
            try:
                say(read_history(path, SMOOTHED_EPISODES, stopped))
            except RequestError as problem:
                say(problem)

        self.reading_changed.emit(True)
        self._opener.start(read)

    @Slot(object)
    def _on_read(self, result: RunHistory | RequestError) -> None:
        if isinstance(result, RequestError):
            self.refused.emit(str(result))
        elif not self._busy:
            self.opened.emit(result)

    @Slot()
    def _on_opener_ended(self) -> None:
        self.reading_changed.emit(False)

    @Slot()
    def _resume(self) -> None:
        self._ask(self.resume_requested)

    @Slot()
    def _repeat(self) -> None:
        self._ask(self.repeat_requested)

    @Slot()
    def _verify(self) -> None:
        self._ask(self.verify_requested)

    def _ask(self, for_this: SignalInstance) -> None:
        row = self._chosen_one()
        if row is not None:
            for_this.emit(row.path)

    @Slot()
    def _settings(self) -> None:
        row = self._chosen_one()
        if row is None:
            return
        try:
            SettingsDialog(RunDirectory.open(row.path), self._view).show()
        except RequestError as problem:
            self.refused.emit(str(problem))

    @Slot()
    def _rename(self) -> None:
        row = self._chosen_one()
        if row is not None:
            index = self._proxy.find(row.path)
            self._view.scrollTo(index)
            self._view.edit(index)

    @Slot()
    def _note(self) -> None:
        row = self._chosen_one()
        if row is None or row.summary is None:
            return
        note = ask_note(self._view, row.summary.name or row.path.name, row.summary.note)
        if note is not None:
            self._model.set_notes(row, RunLabel(name=row.summary.name, note=note))

    @Slot()
    def _delete(self) -> None:
        rows = self._view.chosen()
        for row in rows:
            if self._model.state(row.path) == RunStatus.RUNNING or holder(row.path):
                self.refused.emit(f"{row.path.name} is running and cannot be deleted.")
                return
        if rows:
            for problem in delete_runs(self._view, [row.path for row in rows]):
                self.refused.emit(problem)
            self.deleted.emit()
