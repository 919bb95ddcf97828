"""The button "Share" of the replay pane, and the tasks of its menu.

The dialogs are loaded when they are opened: the window starts sooner without them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction, QImage, QKeySequence
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from studio.consent.code_consent import CodeConsent
from studio.replay.compare.comparison import NO_AGENT
from studio.replay.pane import ReplayPane
from studio.replay.player import PlayerState
from studio.replay.renderer.protocol import Frame
from studio.share.task_dialog import TaskDialog
from studio.tasks.background_task import BackgroundTask, Stopped
from studio.widgets.controls import describe, enable
from td3core.config.env_choice import EnvChoice
from td3core.runs.directory import RunDirectory
from td3core.runs.layout import DESCRIPTION, run_of
from td3core.runs.naming import full_name_of, with_env
from td3core.system.regular_files import exists
from td3core.text import NO_TEXT, Text, tr

if TYPE_CHECKING:
    from studio.share.picture_dialog import PictureDialog

Instruments = Callable[[], QWidget | None]

_NO_RUN = Text("this agent belongs to no run")
_NONE_LEFT = Text("its run has no checkpoints any more")
_NO_PICTURE = Text("there is no picture")
_GONE = Text("its file no longer holds this agent")
_FROM_FILE = ("film", "evaluate", "export")
"""Entries whose commands read the agent from its file."""


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    text: Text
    keys: str
    tip: Text


_ENTRIES = (
    _Entry(
        "film",
        Text("Record film…"),
        "Ctrl+Shift+F",
        Text("Film episodes of what is shown (MP4, GIF, WebP)"),
    ),
    _Entry(
        "growth",
        Text("Growth film…"),
        "Ctrl+Shift+G",
        Text("Film all checkpoints of this agent's run"),
    ),
    _Entry(
        "picture", Text("Save picture as PNG…"), "Ctrl+Shift+P", Text("Alone, or as it is shown")
    ),
    _Entry("evaluate", Text("Evaluate episodes…"), "Ctrl+Shift+E", Text("Measure this agent")),
    _Entry(
        "export", Text("Export actor…"), "Ctrl+Shift+X", Text("Write this agent in another format")
    ),
)


class ShareButton(QToolButton):
    """Offers actions on the current agent outside of the replay."""

    def __init__(self, pane: ReplayPane, consent: CodeConsent, instruments: Instruments) -> None:
        """Share the contents of ``pane``; ``instruments`` returns their panel, if it exists."""
        super().__init__(pane)
        describe(
            self, "replay_share_button", tr("Share"), tr("Films, pictures, evaluations and exports")
        )
        self.setText(tr("Share"))
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.tasks = ShareTasks(pane, consent, instruments, self)
        self.share_menu = QMenu(self)
        self.share_menu.setToolTipsVisible(True)
        self._actions = dict[str, QAction]()
        for entry in _ENTRIES:
            action = QAction(str(entry.text), self)
            action.setObjectName(f"share_{entry.name}_action")
            action.setShortcut(QKeySequence(entry.keys))
            action.setAutoRepeat(False)
            action.triggered.connect(getattr(self.tasks, entry.name))
            self._actions[entry.name] = action
        self.share_menu.addActions(list(self._actions.values()))
        # Also on the button, so that the keys work while the menu is closed.
        self.addActions(list(self._actions.values()))
        self.setMenu(self.share_menu)
        pane.player.state_changed.connect(self.show_what_is_possible)
        pane.tracker.changed.connect(self.show_what_is_possible)
        self.share_menu.aboutToShow.connect(self.show_what_is_possible)
        self.show_what_is_possible()

    @Slot()
    def show_what_is_possible(self) -> None:
        """Enable the actions available for the current agent; tooltips explain the rest."""
        agent = self.tasks.agent()
        for entry in _ENTRIES:
            why_not = NO_TEXT if agent is not None else NO_AGENT
            if agent is not None and entry.name == "growth":
                none_left = _NONE_LEFT if self.tasks.is_run_gone else NO_TEXT
                why_not = _NO_RUN if run_of(agent) is None else none_left
            if entry.name == "picture" and self.tasks.has_no_picture:
                why_not = _NO_PICTURE
            if agent is not None and entry.name in _FROM_FILE and self.tasks.is_gone:
                why_not = _GONE
            enable(self._actions[entry.name], why_not, entry.tip)

    def shutdown(self) -> None:
        """End running tasks: the window is closing."""
        self.tasks.shutdown()


class ShareTasks(QObject):
    """Opens a dialog for each task once the code of the environment may run."""

    began = Signal(str)
    """A possibly long task has begun; carries its name."""
    ended = Signal(str, object, str)
    """A task has ended by itself; carries its name, a title (``Text``) and the dialog's text."""
    refused = Signal(object)
    """Why no dialog was opened, a ``Text``."""

    def __init__(
        self, pane: ReplayPane, consent: CodeConsent, instruments: Instruments, widget: QWidget
    ) -> None:
        super().__init__(widget)
        self._pane, self._player = pane, pane.player
        self._consent, self._widget = consent, widget
        self._reader = BackgroundTask("read-environment", self)
        self._reader.failed.connect(self.refused)
        self.dialogs: list[TaskDialog | PictureDialog] = []
        """The open dialogs."""
        self._waits_for_picture = False
        self._instruments = instruments
        self._player.captured.connect(self._on_captured)

    def agent(self) -> Path | None:
        """Return the current agent, if there is one."""
        shown = self._player.state in (PlayerState.PAUSED, PlayerState.PLAYING)
        return self._player.path if shown else None

    @property
    def under_way(self) -> list[str]:
        """The titles of the dialogs whose commands run: these end with the window."""
        tasks = [each for each in self.dialogs if isinstance(each, TaskDialog)]
        return [each.windowTitle() for each in tasks if each.job.busy]

    @property
    def has_no_picture(self) -> bool:
        """True if the current agent plays without pictures."""
        return self._player.agent is not None and bool(self._player.agent.no_picture)

    @property
    def is_gone(self) -> bool:
        """True if the file of the current agent was overwritten or deleted."""
        shown = self._pane.tracker.shown
        return shown is not None and shown.gone

    @property
    def is_run_gone(self) -> bool:
        """True if all checkpoints of the current agent's run were deleted."""
        return self._pane.tracker.is_run_gone

    @Slot()
    def film(self) -> None:
        """Film the current agent, or the compared ones."""
        from studio.share.film_dialogs import AgentFilmDialog, ComparisonFilmDialog

        agent = self.agent()
        if agent is None:
            return
        player, window = self._player, self._window()
        # A film needs a finite speed; a replay without pauses has an infinite one.
        speed = player.speed if isfinite(player.speed) else 1.0
        if player.compared:
            made = player.compared, player.seed, speed, player.pushes, self._pane.columns
            self._open_about_agent(ComparisonFilmDialog(*made, window))
        else:
            self._open_about_agent(AgentFilmDialog(agent, player.seed, speed, window))

    @Slot()
    def growth(self) -> None:
        """Film all checkpoints of the run of the current agent."""
        from studio.share.film_dialogs import GrowthFilmDialog

        agent = self.agent()
        run = run_of(agent) if agent is not None else None
        if run is not None:
            name = self._name_of_run()
            self.open_dialog(GrowthFilmDialog(run, name, self._player.seed, self._window()))

    @Slot(Path)
    def film_run(self, run: Path) -> None:
        """Film all checkpoints of a run that is not shown."""
        from studio.share.film_dialogs import GrowthFilmDialog

        def open_dialog(name: str) -> None:
            self.open_dialog(GrowthFilmDialog(run, name, self._player.seed, self._window()))

        def obtain(found: tuple[EnvChoice, str]) -> None:
            choice, name = found
            self._consent.obtain(choice, partial(open_dialog, name))

        self._reader.read(partial(_choice_of, run), obtain)

    @Slot(object, object)
    def report_runs(self, runs: Sequence[Path], options: Sequence[str] = ()) -> None:
        """Write a report about runs; ``options`` are those of the comparison."""

        def read(_: Stopped) -> _ToReport:
            # Without any, the first is refused.
            there = [run for run in runs if exists(run / DESCRIPTION)] or runs[:1]
            choices = tuple(dict.fromkeys(RunDirectory.open(run).config.choice for run in there))
            several = str(Text.counted("{n} run", "{n} runs", n=len(there)))
            name = full_name_of(there[0]) if len(there) == 1 else several
            sources = tuple(map(str, there))
            return _ToReport(name, sources, tuple(options), choices, len(runs) - len(there))

        self._reader.read(read, self._open_report)

    def report_sweep(self, name: str, runs_dir: Path) -> None:
        """Write a report about a sweep."""

        def read(_: Stopped) -> _ToReport:
            from td3core.experiments.sweeps.folder import SweepFolder

            choices = SweepFolder.find(runs_dir, name).spec().env_choices()
            return _ToReport(name, (name,), ("--runs-dir", str(runs_dir)), tuple(choices))

        self._reader.read(read, self._open_report)

    def _open_report(self, found: "_ToReport") -> None:
        from studio.share.report_dialog import ReportDialog, ReportSubject

        subject = ReportSubject(
            name=found.name, sources=found.sources, options=found.options, gone=found.gone
        )
        allow = partial(self._consent.obtain_all, found.choices)
        self.open_dialog(ReportDialog(subject, allow, self._window()))

    @Slot()
    def evaluate(self) -> None:
        """Evaluate the current agent."""
        from studio.share.evaluate_dialog import EvaluateDialog

        agent = self.agent()
        if agent is not None:
            name = self._name_of_run()
            self._open_about_agent(EvaluateDialog(agent, name, self._player.seed, self._window()))

    @Slot()
    def export(self) -> None:
        """Write the current agent in another format."""
        from studio.share.export_dialog import ExportDialog

        agent = self.agent()
        if agent is not None:
            self._open_about_agent(ExportDialog(agent, self._window()))

    @Slot()
    def picture(self) -> None:
        """Save the displayed frame, alone or with its surroundings."""
        if self.agent() is not None:
            self._waits_for_picture = True
            self._player.capture()

    def shutdown(self) -> None:
        """End running tasks: the window is closing."""
        self._reader.cancel()
        for dialog in self.dialogs:
            dialog.shutdown()

    @Slot(object, object)
    def _on_captured(self, image: QImage, frame: Frame) -> None:
        from studio.share.picture_dialog import PictureDialog
        from studio.share.screenshot import Screenshot

        # The capture arrives later: other agents may be shown by then.
        waited, self._waits_for_picture = self._waits_for_picture, False
        names = self._pane.names
        if not waited or len(names) != max(1, len(frame.steps)):
            return
        panel, agent = self._instruments(), self._player.path
        screenshot = Screenshot(
            image=image,
            names=names,
            steps=frame.steps or (frame.step,),
            columns=self._pane.columns,
            instruments=panel.grab().toImage() if panel and panel.isVisible() else None,
        )
        name = f"{agent.stem if agent else 'picture'}.png"
        self.open_dialog(PictureDialog(screenshot, name, self._window()))

    def _open_about_agent(self, dialog: TaskDialog) -> None:
        """Show a dialog that reads the current agents from their files."""
        agent = self._player.agent
        assert agent is not None
        dialog.require_unchanged(agent.path, agent.changed_ns)
        for other in agent.agents[1:]:
            dialog.require_unchanged(other.agent.path, other.changed_ns)
        self.open_dialog(dialog)

    def open_dialog(self, dialog: "TaskDialog | PictureDialog") -> None:
        """Show a dialog whose work ends with the window."""
        if isinstance(dialog, TaskDialog):
            dialog.job.set_variables(self._player.variables)
            dialog.job.busy_changed.connect(partial(self._on_busy, dialog))
            dialog.job.ended.connect(partial(self._on_ended, dialog))
        self.dialogs.append(dialog)
        dialog.destroyed.connect(lambda: self.dialogs.remove(dialog))
        dialog.show()

    def _on_busy(self, dialog: TaskDialog, busy: bool) -> None:
        if busy:
            self.began.emit(dialog.objectName())

    def _on_ended(self, dialog: TaskDialog, succeeded: bool) -> None:
        done = Text("{task} is done", task=dialog.windowTitle())
        failed = Text("{task} has failed", task=dialog.windowTitle())
        text = dialog.job.status.text().replace("\u200b", "")
        self.ended.emit(dialog.objectName(), done if succeeded else failed, text)

    def _name_of_run(self) -> str:
        """Return the name of the current agent's run; empty if it belongs to none."""
        agent = self._player.agent
        return with_env(agent.env_id, agent.run) if agent is not None and agent.run else ""

    def _window(self) -> QWidget:
        return self._widget.window()


@dataclass(frozen=True, slots=True)
class _ToReport:
    name: str
    sources: tuple[str, ...]
    options: tuple[str, ...]
    choices: tuple[EnvChoice, ...]
    gone: int = 0
    """Number of runs that were deleted meanwhile."""


def _choice_of(run: Path, _: Stopped) -> tuple[EnvChoice, str]:
    return RunDirectory.open(run).config.choice, full_name_of(run)
