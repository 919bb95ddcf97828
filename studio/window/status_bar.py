"""The status bar: state, progress and speed of the run."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QLabel, QProgressBar, QStatusBar, QToolButton

from studio.formatting import (
    format_count,
    format_duration,
    format_return,
    format_share,
    format_state,
)
from studio.session.controller import SessionState
from studio.session.group_record import GroupRecord
from studio.session.model import RunModel
from studio.theme.theme import Theme
from studio.widgets.labels import ElidedLabel, SteadyLabels
from td3core.protocol import wording
from td3core.protocol.events import Ended, Failed, Interrupted
from td3core.protocol.run_status import RunStatus
from td3core.text import Text, tr


class StatusBar(QStatusBar):
    """State, progress bar, step, episode, speed, time left and device."""

    health_wanted = Signal()

    def __init__(self, model: RunModel, theme: Theme) -> None:
        super().__init__()
        self._model, self._theme = model, theme
        self._state, self._following = SessionState.IDLE, False
        self._group: GroupRecord | None = None
        self._group_state: SessionState | None = None
        self._sweep = False
        self.setSizeGripEnabled(False)
        self._state_label = QLabel()
        self._state_label.setObjectName("status_state")
        self._state_label.setMinimumWidth(110)
        self._bar = QProgressBar()
        self._bar.setObjectName("status_progress")
        self._bar.setAccessibleName(tr("Progress of the run"))
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(150)
        self._numbers = ElidedLabel()
        self._numbers.setObjectName("status_numbers")
        self._device = QLabel()
        self._device.setObjectName("status_device")
        self._device.setProperty("role", "muted")
        self._state_label.setToolTip(
            tr("State of the training run or group, or of the current run")
        )
        self._bar.setToolTip(tr("Completed share of the run's steps"))
        self._device.setToolTip(tr("Device of the updates × threads"))
        self.addWidget(self._state_label)
        self.addWidget(self._bar)
        self.addWidget(SteadyLabels({self._numbers: 1}), 1)
        self._advice = QToolButton()
        self._advice.setObjectName("status_advice")
        self._advice.setAccessibleName(tr("Health of the run"))
        self._advice.setAutoRaise(True)
        self._advice.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._advice.clicked.connect(self.health_wanted)
        self._advice.hide()
        self.addPermanentWidget(self._advice)
        self.addPermanentWidget(self._device)
        model.status_changed.connect(self._refresh)
        model.run_started.connect(self._refresh)
        model.run_ended.connect(self._refresh)
        model.run_opened.connect(self._refresh)
        self._refresh()

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._theme = theme
        self._advice.setIcon(theme.icon("stethoscope", theme.warn))
        self._refresh()

    def show_state(self, state: SessionState, *, following: bool = False) -> None:
        """Show the state of the controller's run; ``following``: a run of another process."""
        self._state, self._following = state, following
        self._refresh()

    def show_group(self, state: SessionState | None, group: GroupRecord | None) -> None:
        """Show the state of the group that trains; None shows the current run."""
        if state is not None or self._group_state is not None:
            self._group_state, self._group = state, group
            self._refresh()

    def show_advice(self, titles: Sequence[str]) -> None:
        """Show the number of open health warnings; ``titles`` go to the tooltip."""
        count = len(titles)
        text = str(Text.counted("{n} health warning", "{n} health warnings", n=count))
        # Setting the same text again would lay out the window; a hidden label takes no space.
        if count and text != self._advice.text():
            self._advice.setText(text)
        self._advice.setToolTip("\n".join(titles))
        self._advice.setVisible(count > 0)

    def show_sweep(self, training: bool) -> None:
        """Set whether a sweep of this window trains; the current run is not one of its runs."""
        self._sweep = training
        self._refresh()

    def _show_group(self, state: SessionState) -> None:
        text, colour = self._looks_of(state)
        self._state_label.setText(_dot(text, colour))
        self._bar.setRange(0, 1000)
        self._bar.setValue(round(1000 * self._group.share) if self._group else 0)
        self._numbers.setText(self._group.in_words() if self._group else "")
        self._device.clear()

    @Slot()
    def _refresh(self) -> None:
        if self._group_state is not None:
            self._show_group(self._group_state)
            return
        now, config = self._model.record.progress, self._model.record.config
        self._state_label.setText(self._state_text())
        place = tr("in another process") if self._following else ""
        self._device.setText("  ·  ".join(filter(None, (self._model.record.device, place))))
        if now is None or config is None or self._state is SessionState.STARTING:
            # While a run starts, another one may still be shown.
            self._show_no_run()
            return
        if self._state is SessionState.IDLE and self._sweep:
            # The panel tells how far the sweep is; what is shown is none of its runs.
            self._show_no_run()
            self._device.clear()
            return
        # In per mille, because a number of steps may not fit into 32 bits.
        self._bar.setRange(0, 1000)
        # Several environments may exceed the last step slightly.
        done = min(now.env_steps, config.steps)
        self._bar.setValue(1000 * done // config.steps)
        parts = [
            format_share(done / config.steps),
            tr("step {step}", step=format_count(now.env_steps)),
            tr("episode {episode}", episode=format_count(now.episodes)),
        ]
        if self._state is SessionState.RUNNING:
            parts.append(tr("{speed} steps/s", speed=format_count(now.steps_per_s)))
            left = self._model.record.seconds_left
            if left is None:
                parts.append(tr("estimating time left"))
            else:
                parts.append(tr("{duration} left", duration=format_duration(left)))
        elif self._state is SessionState.IDLE:
            parts.append(tr("took {duration}", duration=format_duration(now.wall_s)))
            outcome = self._model.record.outcome
            if isinstance(outcome, Ended) and outcome.best_eval_return is not None:
                best = format_return(outcome.best_eval_return)
                parts.append(tr("best return {mean}", mean=best))
        self._numbers.setText("  ·  ".join(parts))

    def _show_no_run(self) -> None:
        self._bar.setRange(0, 1)
        self._bar.setValue(0)
        self._numbers.setText(self._model.preparing)

    def _state_text(self) -> str:
        theme, state = self._theme, self._state
        text, colour = self._looks_of(state)
        outcome = self._model.record.outcome
        if state is SessionState.IDLE and isinstance(outcome, Failed):
            text, colour = format_state(RunStatus.FAILED), theme.bad
        elif state is SessionState.IDLE and isinstance(outcome, Interrupted):
            text, colour = format_state(RunStatus.INTERRUPTED), theme.bad
        elif state is SessionState.IDLE and isinstance(outcome, Ended):
            finished = outcome.state is RunStatus.FINISHED
            text, colour = format_state(outcome.state), theme.good if finished else theme.muted
        if state is SessionState.IDLE and self._sweep:
            text, colour = (tr("sweep is training"), theme.good)
        if state is SessionState.STARTING and self._model.preparing:
            text = tr("preparing")
        if state is SessionState.RUNNING and self._model.record.progress is not None:
            text = str(wording.PHASES[self._model.record.progress.phase])
        return _dot(text, colour)

    def _looks_of(self, state: SessionState) -> tuple[str, str]:
        """Return the name of a state and the colour of its dot."""
        theme = self._theme
        return {
            SessionState.IDLE: (tr("ready"), theme.muted),
            SessionState.STARTING: (tr("starting"), theme.accent),
            SessionState.RUNNING: (tr("training"), theme.good),
            SessionState.PAUSED: (tr("paused"), theme.warn),
            SessionState.STOPPING: (tr("saving"), theme.warn),
        }[state]


def _dot(text: str, colour: str) -> str:
    return f'<span style="color:{colour}">●</span> {text}'
