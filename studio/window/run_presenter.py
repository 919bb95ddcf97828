"""Keeps the parts of the window in sync with the current run, training or opened."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from studio.formatting import format_count
from studio.session.controller import RUN_BUSY
from studio.session.history import RunHistory, read_history
from studio.tasks.background_task import BackgroundTask
from studio.window.parts import WindowParts
from td3core.errors import RequestError
from td3core.protocol import events
from td3core.text import Text

_SOFTER = Text("Branch with half the learning rates")


class RunPresenter(QObject):
    """Passes the run model's signals on to each part, and shows the runs asked for in any of them.

    Only one run is read at a time: the one last asked for.
    """

    refused = Signal(object)
    """Why a run asked for is not shown, a ``Text``."""
    asked = Signal()
    """The user has asked for a run."""

    def __init__(self, parts: WindowParts) -> None:
        super().__init__(parts.window)
        self._model, self._parts = parts.model, parts
        model = parts.model
        model.run_started.connect(self._on_started)
        model.run_opened.connect(self._on_opened)
        model.run_ended.connect(self._on_ended)
        model.checkpoint_saved.connect(self._on_saved)
        model.evaluated.connect(self._on_evaluated)
        # Temporary checkpoints are deleted after the last of them was saved.
        model.run_ended.connect(parts.replay.checkpoints.refresh_current)
        model.message_added.connect(self._on_message)
        model.tuned.connect(parts.live.acknowledge)
        model.status_changed.connect(self._on_status)
        parts.runs.model.renamed.connect(self._on_renamed)
        parts.runs.run_actions.deleted.connect(self._on_deleted)
        for announced in (model.checkpoint_saved, model.evaluated, model.run_ended):
            announced.connect(parts.runs.refresh_soon)
        self._reopening = False
        """Whether the run being read is the one of the last session."""
        self._reader = BackgroundTask("open-run", self)
        self._reader.failed.connect(self._on_unreadable)
        self._reader.busy_changed.connect(parts.runs.show_opening)
        for wanted in (parts.runs.run_actions.open_requested, parts.start.open_requested):
            wanted.connect(self.open_path)
        for name in ("many", "sweeps"):
            parts.panels.when_made(name, lambda panel: panel.run_wanted.connect(self.open_path))

    @Slot(Path)
    def open_path(self, path: Path, *, reopened: bool = False) -> None:
        """Read a run and show it, unless one trains in this window.

        A ``reopened`` run, which the user has not asked for, gives way to any other without a word.
        """
        self._reader.cancel()
        self._reopening = reopened
        if not reopened:
            self.asked.emit()
        if self._may_open():
            rules = self._model.record.rules
            self._reader.read(partial(read_history, path, rules=rules), self._on_read)

    def _on_read(self, history: RunHistory) -> None:
        if self._may_open():
            self.open(replace(history, reopened=self._reopening))

    def _may_open(self) -> bool:
        busy = self._parts.controller.busy
        if self._reopening:
            comparing = self._parts.comparison.session
            return not (busy or comparing.active or comparing.busy or self._model.record.run)
        if busy:
            self.refused.emit(RUN_BUSY)
        return not busy

    @Slot(object)
    def _on_unreadable(self, why: Text) -> None:
        if not self._reopening:
            self.refused.emit(why)

    def stop(self) -> None:
        """Stop reading."""
        self._reader.cancel()

    @Slot(object)
    def open(self, history: RunHistory) -> None:
        """Show a run, and follow it if another process trains it."""
        controller = self._parts.controller
        controller.stop_following()
        self._model.open(history)
        if history.reader is not None:
            controller.follow(history.reader)

    @Slot(object)
    def _on_opened(self, history: RunHistory) -> None:
        parts, record = self._parts, history.record
        if not history.reopened:
            # Otherwise nobody asked for it: what the start of the window says still holds.
            parts.banner.hide()
        parts.setup.welcome.hide()
        # The forms stay as the user left them in the last session, and what was entered since. A
        # run that trains shows its own values: the sliders steer it.
        entered = parts.setup.has_entries or parts.live.can_undo
        show = not history.reopened or (history.live and not entered)
        if record.config is not None:
            parts.toolbar.show_run(record.title)
            if show:
                parts.setup.show_run(record.config, record.title)
        if record.progress is not None:
            self._on_status()
            parts.live.offer(record.first_tunables, record.progress.tunables, show=show)
        parts.replay.show_run(history.agents, live=history.live, keep_choice=history.reopened)

    @Slot()
    def _on_status(self) -> None:
        record = self._model.record
        if record.progress is not None and record.config is not None:
            self._parts.live.follow(record.progress.env_steps, record.config.steps)

    @Slot(object)
    def _on_started(self, event: events.Started) -> None:
        parts = self._parts
        parts.live.offer(None, event.tunables, show=False)
        parts.toolbar.show_run(self._model.record.title)
        parts.setup.welcome.hide()
        parts.setup.environment.remember(event.config.env)
        self._show_settings(event)
        parts.replay.set_current_run(event.run)
        parts.runs.set_training(event.run)

    def _show_settings(self, event: events.Started) -> None:
        """Show the settings of a run that did not come from the form; keep the user's entries."""
        setup = self._parts.setup
        try:
            chosen, _ = setup.settings(event.tunables)
        except RequestError:
            chosen = None
        other, kept = chosen != event.config or setup.origin.shown, setup.has_entries
        if other and not kept:
            setup.show_run(event.config, self._model.record.title)
        self._parts.live.begin(event, keep=kept)

    @Slot(object)
    def _on_ended(self, event: events.Ended | events.Failed | events.Interrupted) -> None:
        if isinstance(event, events.Interrupted):
            title = self._model.record.title
            gone = Text(
                "{run} was interrupted: its process is gone. Resume continues it.", run=title
            )
            self._parts.banner.show_message("warning", gone)
        if not isinstance(event, events.Failed) or event.cancelled:
            return
        saved, banner = event.last_checkpoint, self._parts.banner
        if event.diverged and saved is not None:
            softer = partial(self._parts.launcher.branch_with_half_rates, saved)
            offer = (str(_SOFTER), softer)
            banner.show_message("error", event.message, event.details, offer, lasting=True)
            return
        text = event.message
        if saved is not None and event.saved_steps:
            # On a separate line: an environment's message may lack a final full stop.
            kept = Text(
                "The newest saved agent is of step {step}: {file}.",
                step=format_count(event.saved_steps),
                file=saved.name,
            )
            text = Text.joined((text, kept), "\n")
        # Lasting: saves or live changes of the next run in the queue must not clear it.
        banner.show_message("error", text, event.details, lasting=True)

    @Slot(object)
    def _on_saved(self, event: events.Saved) -> None:
        saved = (event.path, event.env_steps, event.mean_return, event.run_bytes)
        self._parts.replay.note_saved(*saved)

    @Slot(object)
    def _on_evaluated(self, event: events.Evaluated) -> None:
        self._parts.replay.note_evaluated(event.env_steps, event.mean)

    @Slot(str, object)
    def _on_message(self, level: str, text: Text) -> None:
        if level == "warning":
            self._parts.banner.show_message(level, text)

    @Slot(Path, str)
    def _on_renamed(self, path: Path, name: str) -> None:
        if self._shows(path):
            self._model.rename(name)
            self._parts.toolbar.show_run(self._model.record.title)
            self._parts.setup.origin.rename(self._model.record.title)

    @Slot(object)
    def _on_deleted(self, paths: Sequence[Path]) -> None:
        if any(map(self._shows, paths)):
            self._model.note_deleted()
            self._parts.replay.withdraw_run()

    def _shows(self, path: Path) -> bool:
        run = self._model.record.run
        return run is not None and run.absolute() == path
