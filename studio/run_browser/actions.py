"""Actions on the runs selected in the list, and reasons why they are not available."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal, SignalInstance, Slot
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QToolButton

from studio.run_browser.columns import DAMAGED
from studio.run_browser.deletion import RunDeletion
from studio.run_browser.dialogs import SettingsDialog, ask_note
from studio.run_browser.filter_proxy import RunFilterProxy
from studio.run_browser.rows import RunRow
from studio.run_browser.tree_model import RunTreeModel
from studio.run_browser.tree_view import RunTreeView
from studio.tasks.background_queue import BackgroundQueue
from studio.tasks.background_task import BackgroundTask
from studio.theme.theme import Theme
from studio.widgets.controls import enable
from studio.widgets.path_actions import PATH_ACTIONS, command, copy, open_path
from td3core.errors import RequestError, file_reason, quoted
from td3core.protocol.run_status import RunStatus
from td3core.runs.directory import RunDirectory
from td3core.runs.metadata import RunLabel, read_label, write_label
from td3core.text import NO_TEXT, Text, tr

_BUSY = Text("a run is training: stop it first")
_ONE = Text("choose one run first")


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One action on runs: its name, text, icon, tip and shortcuts."""

    name: str
    text: Text
    icon: str
    tip: Text
    keys: tuple[str, ...] = ()
    button: bool = True
    """False for rare actions, which are only in the menu."""


_ACTIONS = (
    ActionSpec(
        "open",
        Text("Open"),
        "folder-open-outline",
        Text("Show its curves and agents"),
        keys=("Return", "Enter"),
    ),
    ActionSpec(
        "compare",
        Text("Compare"),
        "chart-multiple",
        Text("Show the runs chosen in the same plots, with intervals over seeds"),
    ),
    ActionSpec(
        "compare_group",
        Text("Compare its group"),
        "chart-timeline-variant",
        Text("Show all runs of the group of seeds that it belongs to"),
        button=False,
    ),
    ActionSpec("resume", Text("Resume"), "play-outline", Text("Resume it where it stopped")),
    ActionSpec(
        "repeat",
        Text("Train with this run's live changes…"),
        "repeat-variant",
        Text("Start a new run with its settings, and its live changes at the same steps"),
        button=False,
    ),
    ActionSpec(
        "verify",
        Text("Verify this run resumes exactly"),
        "shield-check-outline",
        Text("Test on a copy whether an interruption would change anything"),
        button=False,
    ),
    ActionSpec(
        "film",
        Text("Growth film…"),
        "movie-open-outline",
        Text("Film an episode of each of its checkpoints, in order"),
        button=False,
    ),
    ActionSpec(
        "report",
        Text("Report…"),
        "file-document-outline",
        Text("Write the runs chosen as one page to send or to print"),
        button=False,
    ),
    ActionSpec(
        "settings", Text("Settings"), "tune-variant", Text("Show the settings it was started with")
    ),
    ActionSpec(
        "rename",
        Text("Rename"),
        "pencil-outline",
        Text("Name it; its folder keeps its own name"),
        keys=("F2",),
    ),
    ActionSpec(
        "note",
        Text("Note"),
        "note-text-outline",
        Text("Write down what is worth remembering about it"),
    ),
    *(ActionSpec(*about, button=False) for about in PATH_ACTIONS),
    ActionSpec(
        "delete", Text("Delete"), "trash-can-outline", Text("Move it to the trash"), keys=("Del",)
    ),
)


class RunActions(QObject):
    """The actions on the list of runs."""

    open_requested = Signal(Path)
    """Show a run."""
    compare_requested = Signal(object)
    """Show these runs, a list of paths, in the same plots."""
    group_requested = Signal(object, str)
    """Show these runs, a list of paths, as the group of this name."""
    resume_requested = Signal(Path)
    repeat_requested = Signal(Path)
    """Start a new run that repeats the live changes of a run."""
    verify_requested = Signal(Path)
    film_requested = Signal(Path)
    report_requested = Signal(object, object)
    """Write a report about these runs, a list of paths, with no further options."""
    refused = Signal(object)
    deleted = Signal(object)
    """The paths of the runs that no longer exist."""
    labelled = Signal(Path, object)
    """A run has this :class:`~td3core.runs.metadata.RunLabel` now."""

    def __init__(self, view: RunTreeView, model: RunTreeModel, proxy: RunFilterProxy) -> None:
        super().__init__(view)
        self._view, self._model, self._proxy = view, model, proxy
        self._busy = False
        self._obstacle: Text | None = None
        self._reader = BackgroundTask("read-settings", self)
        self._reader.failed.connect(self.refused)
        self._writer = BackgroundQueue("write-runs", self)
        self._writer.failed.connect(self.refused)
        self._deletion = RunDeletion(self._writer, view)
        self._deletion.refused.connect(self.refused)
        self._deletion.deleted.connect(self.deleted)
        self._make_actions()
        model.name_edited.connect(self._write_name)
        view.doubleClicked.connect(self._open)
        view.choice_changed.connect(self.show_what_is_possible)
        self.show_what_is_possible()

    def _make_actions(self) -> None:
        self._actions: dict[str, QAction] = {}
        self._buttons: dict[str, QToolButton] = {}
        for spec in _ACTIONS:
            action = QAction(str(spec.text), self)
            action.setObjectName(f"runs_{spec.name}")
            action.setShortcuts([QKeySequence(key) for key in spec.keys])
            keys = f" ({spec.keys[0]})" if spec.keys else ""
            action.setToolTip(f"{spec.tip}{keys}")
            # Only in the list: in the editor of a name these keys have another meaning.
            action.setAutoRepeat(False)
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
            button.setAccessibleName(tr("{action} run", action=spec.text))
            self._buttons[spec.name] = button

    @property
    def buttons(self) -> list[QToolButton]:
        """Buttons for the usual actions."""
        return list(self._buttons.values())

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        for spec in _ACTIONS:
            self._actions[spec.name].setIcon(theme.icon(spec.icon))

    def set_busy(self, busy: bool) -> None:
        """Set whether a run is training in this window: none can be opened meanwhile."""
        self._busy = busy
        self.show_what_is_possible()

    def set_obstacle(self, why_not: Text | None) -> None:
        """Set why no run can be resumed or repeated now; None if one can."""
        if why_not != self._obstacle:
            self._obstacle = why_not
            self.show_what_is_possible()

    def shutdown(self) -> None:
        """Stop reading, and wait for pending writes."""
        self._reader.cancel()
        self._writer.finish()

    def _chosen_one(self) -> RunRow | None:
        rows = self._view.chosen()
        return rows[0] if len(rows) == 1 else None

    @Slot()
    def show_what_is_possible(self) -> None:
        """Enable the actions available for the selected runs; tooltips explain the rest."""
        reasons = self._reasons()
        for spec in _ACTIONS:
            enable(self._actions[spec.name], reasons[spec.name])

    def _reasons(self) -> dict[str, Text]:
        """Return why each action is not available; empty if it is."""
        rows = self._view.chosen()
        states = [self._model.state(row.path) for row in rows]
        alone = NO_TEXT if len(rows) == 1 else _ONE
        readable = alone or (Text("the run is damaged") if DAMAGED in states else NO_TEXT)
        busy = _BUSY if self._busy else NO_TEXT
        obstacle = busy or self._obstacle or NO_TEXT
        living = RunStatus.RUNNING in states
        ended = Text("the run is running") if living else NO_TEXT
        agent = NO_TEXT
        if not readable and rows[0].curves_only:
            agent = Text("it contains only curves, no agent")
        grouped, comparable, reportable = NO_TEXT, NO_TEXT, NO_TEXT
        if not readable and not rows[0].group:
            grouped = Text("it was not started in a group")
        if not set(states) - {DAMAGED}:
            comparable = Text("choose the runs to compare first")
            reportable = Text("choose the runs to report first")
        deletable = Text("a running run cannot be deleted") if living else NO_TEXT
        if not rows:
            deletable = Text("choose a run first")
        return {
            "open": busy or alone,
            "compare": comparable,
            "compare_group": readable or grouped,
            "resume": obstacle or readable or ended or agent,
            "repeat": obstacle or readable,
            "verify": readable or ended or agent,
            "film": readable or agent,
            "report": reportable,
            "settings": readable,
            "rename": readable,
            "note": readable,
            "folder": alone,
            "path": alone,
            "command": readable or agent,
            "delete": deletable,
        }

    @Slot()
    def _open(self) -> None:
        row = self._chosen_one()
        if row is not None and row.problem:
            self.refused.emit(quoted(row.problem))
        else:
            self._ask(self.open_requested)

    @Slot()
    def _compare(self) -> None:
        rows = [row for row in self._view.chosen() if not row.problem]
        if rows:
            self.compare_requested.emit([row.path for row in rows])

    @Slot()
    def _report(self) -> None:
        rows = [row for row in self._view.chosen() if not row.problem]
        if rows:
            self.report_requested.emit([row.path for row in rows], [])

    @Slot()
    def _compare_group(self) -> None:
        row = self._chosen_one()
        if row is not None and row.group:
            paths = [each.path for each in self._model.members(row.group)]
            self.group_requested.emit(paths, row.group)

    @Slot()
    def _resume(self) -> None:
        self._ask(self.resume_requested)

    @Slot()
    def _repeat(self) -> None:
        self._ask(self.repeat_requested)

    @Slot()
    def _verify(self) -> None:
        self._ask(self.verify_requested)

    @Slot()
    def _film(self) -> None:
        self._ask(self.film_requested)

    def _ask(self, for_this: SignalInstance) -> None:
        row = self._chosen_one()
        if row is not None:
            for_this.emit(row.path)

    @Slot()
    def _settings(self) -> None:
        row = self._chosen_one()
        if row is not None:
            path, title = row.path, row.title

            def show(run: RunDirectory) -> None:
                SettingsDialog(run, title, self._view).show()

            self._reader.read(lambda _: RunDirectory.open(path), show)

    @Slot()
    def _folder(self) -> None:
        row = self._chosen_one()
        if row is not None:
            open_path(row.path)

    @Slot()
    def _path(self) -> None:
        row = self._chosen_one()
        if row is not None:
            copy(str(row.path))

    @Slot()
    def _command(self) -> None:
        """Copy the command for the next step: follow a run, resume it, or evaluate its agent."""
        row = self._chosen_one()
        if row is not None:
            verbs: dict[str, str] = {RunStatus.RUNNING: "follow", RunStatus.FINISHED: "eval"}
            copy(command(verbs.get(self._model.state(row.path), "resume"), row.path))

    # Writing ------------------------------------------------------------------------------------

    @Slot()
    def _rename(self) -> None:
        row = self._chosen_one()
        if row is not None:
            index = self._proxy.find(row.path)
            self._view.scrollTo(index)
            self._view.edit(index)

    @Slot(Path, str)
    def _write_name(self, path: Path, name: str) -> None:
        self._write_label(path, {"name": name})

    @Slot()
    def _note(self) -> None:
        row = self._chosen_one()
        if row is None or row.summary is None:
            return
        note = ask_note(self._view, row.title, row.summary.note)
        if note is not None:
            self._write_label(row.path, {"note": note})

    def _write_label(self, path: Path, values: dict[str, str]) -> None:
        row = self._model.rows.get(path)
        title = row.title if row is not None else path.name
        self._writer.add(partial(_labelled, path, title, values), partial(self.labelled.emit, path))

    @Slot()
    def _delete(self) -> None:
        rows = self._view.chosen()
        if rows:
            self._deletion.start(rows)


def _labelled(path: Path, title: str, values: dict[str, str]) -> RunLabel:
    """Change the name or the note of a run; return the new label."""
    label = replace(read_label(path), **values)
    try:
        write_label(path, label)
    except OSError as problem:
        # Name and note are in one file.
        raise RequestError(
            "Name and note of {run} cannot be written: {reason}.",
            run=title,
            reason=file_reason(problem),
        ) from problem
    return label
