"""Folds what a run says into what is shown. Owns all shown data; knows no widgets."""

import math
import time
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from studio.session.history import (
    EPISODES,
    EVALUATIONS,
    SMOOTHED_EPISODES,
    JournalEntry,
    RunCurves,
    RunHistory,
    latest_entries,
)
from studio.session.markers import Marker
from studio.session.series import Series
from td3core.config import RunConfig
from td3core.protocol import events
from td3core.protocol.metrics import TRAINING_COLUMNS

SAME_GESTURE_S = 1.5
"""Changes of one setting that follow one another this fast are one, as in a drag of its slider."""
_SETTLED_MS = 600


class RunModel(QObject):
    """Everything the window shows of the current run."""

    run_started = Signal(object)
    run_opened = Signal(object)
    curves_changed = Signal()
    status_changed = Signal()
    tuned = Signal(object)
    checkpoint_saved = Signal(object)
    evaluated = Signal(object)
    run_ended = Signal(object)
    message_added = Signal(str, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._gesture = QTimer(self)
        self._gesture.setSingleShot(True)
        self._gesture.setInterval(_SETTLED_MS)
        self._gesture.timeout.connect(self._say_changes)
        self._awaited_past: RunCurves | None = None
        self._reset()

    def _reset(self) -> None:
        self.run: Path | None = None
        self.config: RunConfig | None = None
        self.device = ""
        self.progress: events.Progress | None = None
        self.episodes = Series(EPISODES)
        self.training = Series(TRAINING_COLUMNS)
        self.evaluations = Series(EVALUATIONS)
        self.reward_threshold: float | None = None
        self.past: RunCurves | None = None
        """What the run was branched from, if that is known."""
        self.markers: list[Marker] = []
        self.notes: list[JournalEntry] = []
        self._revision = 0
        self.outcome: events.Ended | events.Failed | None = None
        self._unsaid: dict[int, Marker] = {}
        self._recent: deque[float] = deque(maxlen=SMOOTHED_EPISODES)

    @property
    def seconds_left(self) -> float | None:
        """Time to the last step at the present speed, if that can be told."""
        now = self.progress
        if now is None or self.config is None or now.steps_per_s <= 0:
            return None
        # The warm-up is far faster than learning and says nothing of what is to come.
        if now.phase is events.Phase.WARM_UP and now.env_steps < self.config.learning_starts:
            return None
        return max(self.config.steps - now.env_steps, 0) / now.steps_per_s

    def show_recorded(self, recorded: RunHistory) -> None:
        """Show a run as its files tell it, in place of the one on show."""
        self._reset()
        self.run, self.config = recorded.run.path, recorded.run.config
        curves = recorded.curves
        self.episodes, self.training = curves.episodes, curves.training
        self.evaluations, self.past = curves.evaluations, recorded.past
        self.progress, self.outcome = recorded.progress, recorded.outcome
        self.reward_threshold = recorded.reward_threshold
        self.notes.extend(recorded.notes)
        for change in recorded.changes:
            self._add_marker(change.env_steps, change.name, change.old, change.new, change.time)
        self._say("info", f"Opened {recorded.run.path.name}")
        self.run_opened.emit(recorded)
        self.curves_changed.emit()

    def expect_branch(self, past: RunCurves) -> None:
        """Take what came before the branch that is about to begin, to be shown dimmed."""
        self._awaited_past = past

    @Slot(object)
    def handle(self, event: object) -> None:
        """Take in one event of the run."""
        match event:
            case events.Started():
                self._on_started(event)
            case events.Progress():
                self._on_progress(event)
            case events.Evaluated():
                self._on_evaluated(event)
            case events.Saved():
                self._say("info", f"Saved {event.path.name}", event.env_steps)
                self._look_for_notes()
                self.checkpoint_saved.emit(event)
            case events.Tuned():
                self._on_tuned(event)
            case events.Warned():
                self._say("warning", event.message, event.env_steps)
            case events.Ended():
                word = "finished" if event.stopped == "finished" else "stopped and saved"
                self._say("info", f"Run {word} after {event.wall_s:.0f} s", event.env_steps)
                self._end(event)
            case events.Failed():
                self._say("error", event.message)
                self._end(event)

    def _end(self, event: events.Ended | events.Failed) -> None:
        self.outcome, self._awaited_past = event, None
        self._look_for_notes()
        self.run_ended.emit(event)

    def _on_started(self, event: events.Started) -> None:
        if event.run == self.run:
            self._go_on_from(event.env_steps)
        else:
            past = self._awaited_past if event.env_steps else None
            self._reset()
            self.past = past
        self._awaited_past = None
        self.run, self.config = event.run, event.config
        self.device = f"{event.device} × {event.threads}"
        self.reward_threshold = event.reward_threshold
        how = f"{self.device}, matrix products by {event.products}"
        word = f"Went on at step {event.env_steps:,} with" if event.env_steps else "Started"
        self._say("info", f"{word} {event.run.name} on {how}")
        if event.repeats:
            self._say("info", event.repeats, event.env_steps)
        self._look_for_notes()
        self.run_started.emit(event)
        self.curves_changed.emit()

    def _go_on_from(self, env_steps: int) -> None:
        """Keep what is shown of the run up to a step; what came after it did not happen."""
        for series in (self.episodes, self.training, self.evaluations):
            series.keep_to(env_steps)
        self.markers = [each for each in self.markers if each.env_steps <= env_steps]
        self.notes = [each for each in self.notes if each.env_steps <= env_steps]
        self._recent.clear()
        self._recent.extend(map(float, self.episodes.column("return")[-SMOOTHED_EPISODES:]))
        self._revision, self.outcome = 0, None
        if self.progress is not None:
            self.progress = replace(self.progress, env_steps=env_steps)

    def _look_for_notes(self) -> None:
        """Take in what was written down of pauses and the like since the last look."""
        if self.run is not None:
            known = set(self.notes)
            self.notes += [each for each in latest_entries(self.run) if each not in known]

    def _on_progress(self, event: events.Progress) -> None:
        before, self.progress = self.progress, event
        if event.phase is events.Phase.PAUSED and (before is None or before.phase != event.phase):
            self._look_for_notes()
            self.curves_changed.emit()
        if len(event.training):
            self.training.append(event.training)
        for ended in event.ended:
            self._recent.append(ended.episode_return)
            smoothed = sum(self._recent) / len(self._recent)
            row = (ended.env_steps, ended.episode_return, smoothed, ended.length)
            self.episodes.append(row)
        self.status_changed.emit()
        if len(event.training) or event.ended:
            self.curves_changed.emit()

    def _on_evaluated(self, event: events.Evaluated) -> None:
        success = math.nan if event.success is None else event.success
        self.evaluations.append((event.env_steps, event.mean, event.std, success))
        best = ", best so far" if event.is_best else ""
        reach = ""
        if event.success is not None:
            reach = f", {event.success:.0%} reach {event.reward_threshold:g}"
        text = f"Evaluation: {event.mean:.1f} ± {event.std:.1f}{reach}{best}"
        self._say("info", text, event.env_steps)
        self.evaluated.emit(event)
        self.curves_changed.emit()

    def _on_tuned(self, event: events.Tuned) -> None:
        # What is asked for now has a revision of its own.
        scheduled, self._revision = event.revision == self._revision, event.revision
        for change in event.changes:
            self._mark(event.env_steps, *change, scheduled=scheduled)
        self.tuned.emit(event)
        self.curves_changed.emit()

    def _mark(self, env_steps: int, name: str, old: Any, new: Any, *, scheduled: bool) -> None:
        """Add a marker; the many small changes of one drag of a slider are one marker."""
        now = -math.inf if scheduled else time.time()
        last = self._add_marker(env_steps, name, old, new, now)
        last.scheduled = scheduled
        # Said once the hand rests: a drag is one change, not a hundred lines.
        self._unsaid[id(last)] = last
        self._gesture.start()

    def _add_marker(self, env_steps: int, name: str, old: Any, new: Any, now: float) -> Marker:
        last = next((m for m in reversed(self.markers) if m.name == name), None)
        same = last is not None and 0 <= now - last.changed_at < SAME_GESTURE_S
        # A way back is a change of its own, or both would look as if nothing had been changed.
        if last is not None and same and new != last.old:
            last.env_steps, last.new, last.changed_at = env_steps, new, now
        elif last is not None and (last.env_steps, last.old, last.new) == (env_steps, old, new):
            return last  # On record already: a run that goes on makes it again.
        else:
            last = Marker(env_steps=env_steps, name=name, old=old, new=new, changed_at=now)
            self.markers.append(last)
        return last

    @Slot()
    def _say_changes(self) -> None:
        for marker in self._unsaid.values():
            self._say("change", marker.text, marker.env_steps)
        self._unsaid.clear()

    def _say(self, level: str, text: str, env_steps: int | None = None) -> None:
        step = "" if env_steps is None else f"step {env_steps:,}: "
        self.message_added.emit(level, step + text)
