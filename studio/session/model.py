"""Folds the events of a run into the displayed data. Owns all of it; knows no widgets."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from studio.formatting import format_count, format_duration, format_return, typographic
from studio.session.curves import RunCurves
from studio.session.history import RunHistory
from studio.session.markers import Marker
from studio.session.record import RunRecord
from td3core.analysis.advice import Rule
from td3core.protocol import events, wording
from td3core.runs.journal import SAME_GESTURE_S
from td3core.text import Text, Value, tr


class RunModel(QObject):
    """Everything that the window shows of the current run. Reads no file."""

    run_started = Signal(object)
    run_opened = Signal(object)
    curves_changed = Signal()
    status_changed = Signal()
    tuned = Signal(object)
    checkpoint_saved = Signal(object)
    evaluated = Signal(object)
    run_ended = Signal(object)
    refused = Signal(object)
    """Why the run refused a change of its settings, a ``Text``."""
    message_added = Signal(str, object)
    """Level and ``Text`` of a line for the log."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._record = RunRecord()
        self._training = False
        self._parent_curves: RunCurves | None = None
        """Earlier curves of the branch that is about to start."""
        self._preparing = ""
        self._early: list[events.Noted] = []
        """Events of the run that is about to start."""
        self._quiet = False
        """True while old events are processed: they are not logged."""
        self._unlogged: dict[int, Marker] = {}
        self._gesture = QTimer(self, singleShot=True, interval=round(1000 * SAME_GESTURE_S))
        self._gesture.timeout.connect(self._log_changes)

    # Displayed data -----------------------------------------------------------------------------

    @property
    def record(self) -> RunRecord:
        """The current run. It is replaced by a new record with every run that starts or opens."""
        return self._record

    @property
    def in_progress(self) -> bool:
        """True from the report of the run's start until the report of its end."""
        return self._training

    @property
    def preparing(self) -> str:
        """Long preparation that the run about to start is waiting for; empty if none."""
        return self._preparing

    # Changes ------------------------------------------------------------------------------------

    @Slot(object)
    def open(self, history: RunHistory) -> None:
        """Show a run that was read from its files, in place of the current one."""
        self._training = False
        self._show(history.record)
        self._log("info", Text("Opened {run}", run=history.record.title))
        self.run_opened.emit(history)
        self.curves_changed.emit()

    def use_rules(self, rules: Sequence[Rule]) -> None:
        """Judge the health of this run and of later ones by these rules."""
        self._record.judge_by(tuple(rules))
        self.curves_changed.emit()

    def _show(self, record: RunRecord) -> None:
        record.judge_by(self._record.rules)
        self._record = record
        self._unlogged.clear()

    def rename(self, name: str) -> None:
        """Set the new name of the current run."""
        self._record.name = name

    def note_deleted(self) -> None:
        """Note that the folder of the current run is gone."""
        self._record.deleted = True

    def expect_branch(self, parent_curves: RunCurves) -> None:
        """Set the curves before the branch that is about to start, to be shown dimmed."""
        self._parent_curves = parent_curves

    @Slot(object)
    def catch_up(self, events_so_far: tuple[events.Event, ...]) -> None:
        """Process the events that a run of another process reported before it was followed."""
        self._quiet = True
        for event in events_so_far:
            self.handle(event)
        self._log_changes()
        self._quiet = False
        step = self._record.progress.env_steps if self._record.progress else None
        title = self._record.title
        following = Text("Following {run}, which trains in another process", run=title)
        self._log("info", following, step)

    @Slot(object)
    def handle(self, event: object) -> None:
        """Process one event of the run."""
        match event:
            case events.Preparing():
                self._preparing = str(event.message)
                self._log("info", event.message)
                self.status_changed.emit()
            case events.Started():
                self._on_started(event)
            case events.Progress():
                self._on_progress(event)
            case events.Evaluated():
                self._on_evaluated(event)
            case events.Saved():
                self._log("info", Text("Saved {file}", file=event.path.name), event.env_steps)
                self.checkpoint_saved.emit(event)
            case events.Tuned():
                self._on_tuned(event)
            case events.Noted():
                self._on_noted(event)
            case events.Warned():
                self._log("warning", event.message, event.env_steps)
            case events.Ended() | events.Failed() | events.Interrupted():
                self._end(event)

    def _on_started(self, event: events.Started) -> None:
        resumed = event.run == self._record.run
        if not resumed:
            parent_curves = self._parent_curves if event.env_steps else None
            self._show(RunRecord(parent_curves=parent_curves or RunCurves()))
        self._record.take(event)
        for early in self._early:
            self._record.take(early)
        self._training, self._parent_curves, self._preparing = True, None, ""
        self._early.clear()
        self._log("info", _start_in_words(event, self._record.title, resumed=resumed))
        if event.repeated_steps:
            self._log("info", wording.repeated_steps(event), event.env_steps)
        self.run_started.emit(event)
        self.curves_changed.emit()

    def _on_progress(self, event: events.Progress) -> None:
        self._record.take(event)
        self.status_changed.emit()
        if len(event.training) or event.ended:
            self.curves_changed.emit()

    def _on_evaluated(self, event: events.Evaluated) -> None:
        self._record.take(event)
        parts = [format_return(event.mean, event.std), typographic(str(wording.success(event)))]
        parts.append(tr("best so far") if event.is_best else "")
        facts = ", ".join(filter(None, parts))
        self._log("info", Text("Evaluation: {facts}", facts=facts), event.env_steps)
        self.evaluated.emit(event)
        self.curves_changed.emit()

    def _on_tuned(self, event: events.Tuned) -> None:
        if not event.time:
            event = replace(event, time=datetime.now(UTC).isoformat())
        for marker in self._record.take(event):
            # Logged once no change can extend it: a drag is one change, not a hundred lines.
            self._unlogged[id(marker)] = marker
            self._gesture.start()
        self.tuned.emit(event)
        if event.refused and not self._quiet:
            self.refused.emit(event.refused)
        self.curves_changed.emit()

    def _on_noted(self, event: events.Noted) -> None:
        if not self._training:
            self._early.append(event)
            return
        self._record.take(event)
        self.curves_changed.emit()

    def _end(self, event: events.Ended | events.Failed | events.Interrupted) -> None:
        self._log_changes()
        if isinstance(event, events.Ended):
            duration = format_duration(event.wall_s)
            ending = wording.ending(event)
            text = Text("Run {ending} after {duration}", ending=ending, duration=duration)
            self._log("info", text, event.env_steps)
        elif isinstance(event, events.Failed):
            self._log("info" if event.cancelled else "error", event.message)
        else:
            gone = Text("Interrupted: the run's process is gone")
            self._log("error", gone, event.env_steps)
        if self._training or not isinstance(event, events.Failed):
            # A run refused before its start has no record yet: the current one stays.
            self._record.take(event)
        self._training, self._parent_curves, self._preparing = False, None, ""
        self._early.clear()
        self.run_ended.emit(event)

    # The log ------------------------------------------------------------------------------------

    @Slot()
    def _log_changes(self) -> None:
        for marker in self._unlogged.values():
            self._log("change", marker.text, marker.env_steps)
        self._unlogged.clear()

    def _log(self, level: str, text: Text | str, env_steps: int | None = None) -> None:
        if self._quiet:
            return
        if env_steps is not None:
            text = Text("step {step}: {text}", step=format_count(env_steps), text=text)
        self.message_added.emit(level, text)


def _start_in_words(event: events.Started, title: str, *, resumed: bool) -> Text:
    values: dict[str, Value] = {
        "run": title,
        "step": format_count(event.env_steps),
        "where": f"{event.device} × {event.threads}",
        "engine": event.engine,
    }
    if not event.env_steps:
        if resumed:
            return Text("Resumed {run} on {where}, computed with {engine}", **values)
        return Text("Started {run} on {where}, computed with {engine}", **values)
    if resumed:
        return Text("Resumed {run} at step {step} on {where}, computed with {engine}", **values)
    return Text("Started {run} at step {step} on {where}, computed with {engine}", **values)
