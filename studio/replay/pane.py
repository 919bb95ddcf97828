"""The replay pane: the picture, its controls, and the agents to choose from."""

from pathlib import Path

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QColor, QHideEvent, QIcon, QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLabel,
    QPushButton,
    QSizePolicy,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from studio.formatting import short_steps
from studio.replay.checkpoint_list import CheckpointPanel
from studio.replay.frame_view import FrameView
from studio.replay.player import SPEEDS, Player, PlayerState
from studio.replay.renderer.protocol import Loaded
from studio.replay.renderer_client import Picture
from studio.session.agents import SavedAgents
from studio.theme.icons import icon
from studio.widgets.controls import describe, in_a_row, make_icon_button, make_label
from studio.widgets.labels import breakable, plain_tip
from studio.widgets.setting_fields import keep_off_the_edge

_INVITATION = "Choose an agent below and press Play"
_LARGEST_SEED = 2**31 - 1
_FIGURES = ("step", "return", "episode")


class ReplayPane(QWidget):
    """Shows what the player tells and passes on what the user wants; keeps no state of its own."""

    def __init__(self, runs_dir: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("replay_pane")
        # So that a style sheet may give it a background.
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._player = Player(self)
        self._resume_when_shown = False
        self._icon_colour = self.palette().buttonText().color()
        self._make_widgets()
        self._lay_out()
        self._connect()
        self.checkpoints.set_runs_dir(runs_dir)
        self._show_state()

    @property
    def player(self) -> Player:
        """The one owner of the replay's state."""
        return self._player

    def set_current_run(self, path: Path | None) -> None:
        """Show the checkpoints of the run that is training."""
        self.checkpoints.set_current_run(path)

    def show_run(self, agents: SavedAgents) -> None:
        """Show the checkpoints of a run that was opened, and put its best agent on stage."""
        self.checkpoints.set_current_run(agents.run, agents)
        if agents.favourite is not None:
            self.checkpoints.select(agents.favourite)
            self._load(agents.favourite)

    def note_saved(
        self, path: Path, env_steps: int, mean_return: float | None, run_bytes: int = 0
    ) -> None:
        """List a checkpoint that has just been written, and show it next if that is wanted."""
        self.checkpoints.note_saved(path, env_steps, mean_return, run_bytes)
        if self.follow_check.isChecked() and self._player.state is not PlayerState.CRASHED:
            self._player.load(path, at_episode_end=True)

    def note_evaluated(self, env_steps: int, mean_return: float) -> None:
        """List the mean return of the current run's checkpoint of a step, if there is one."""
        self.checkpoints.note_evaluated(env_steps, mean_return)

    def set_busy(self, busy: bool) -> None:
        """Leave the processor to a run that is going on, and its agents where they are."""
        self.checkpoints.set_busy(busy)
        self._player.spare(busy)

    def set_icon_colour(self, colour: QColor) -> None:
        """Tint the icons."""
        self._icon_colour = colour
        self.restart_button.setIcon(self._icon("skip-previous"))
        self.step_button.setIcon(self._icon("step-forward"))
        self._show_play_icon()

    def close_player(self) -> None:
        """End the renderer, and drop what is being read for the list."""
        self.checkpoints.stop_tasks()
        self._player.close()

    # Building -----------------------------------------------------------------------------------

    def _make_widgets(self) -> None:
        self.view = FrameView(_INVITATION)
        describe(self.view, "replay_view", "Replay", "")
        self.setFocusProxy(self.view)
        self.title = make_label("replay_title", muted=True)
        self.numbers = [make_label(f"replay_{name}_label") for name in _FIGURES]
        self.chip = make_label("replay_chip")
        self.chip.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.chip.setStyleSheet(
            "QLabel { border: 1px solid palette(highlight); border-radius: 7px; padding: 0 5px; }"
        )
        self.message = make_label("replay_message")
        self.message.setWordWrap(True)
        self.message.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.renderer_button = QPushButton("Restart renderer")
        tip = "Start the renderer again with the same agent"
        describe(self.renderer_button, "replay_renderer_button", "Restart renderer", tip)
        self.checkpoints = CheckpointPanel()
        self._make_controls()
        self.set_icon_colour(self._icon_colour)

    def _make_controls(self) -> None:
        make = make_icon_button
        self.restart_button = make("replay_restart_button", "Start over", "First episode again")
        self.play_button = make("replay_play_button", "Play", "Play or pause (Space)")
        self.step_button = make("replay_step_button", "Step", "Pause and take one step")
        self.speed_combo = QComboBox()
        tip = "Times the environment's own pace"
        describe(self.speed_combo, "replay_speed_combo", "Speed", tip)
        for factor in SPEEDS:
            self.speed_combo.addItem(f"{factor:g}×", factor)
        self.speed_combo.setCurrentIndex(SPEEDS.index(self._player.speed))
        self.seed_spin = QSpinBox()
        tip = "Seed of the episodes: those that an evaluation with this seed measures"
        describe(self.seed_spin, "replay_seed_spin", "Seed", tip)
        self.seed_spin.setRange(0, _LARGEST_SEED)
        self.seed_spin.setKeyboardTracking(False)
        self.seed_spin.setMinimumWidth(56)
        keep_off_the_edge(self.seed_spin)
        self.seed_spin.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.follow_check = QCheckBox("Follow latest")
        tip = "When an episode ends, go on with the agent that the run saved last"
        describe(self.follow_check, "replay_follow_check", "Follow latest", tip)

    def _lay_out(self) -> None:
        heading = in_a_row(self.title, self.chip)
        heading.setStretch(0, 1)
        numbers = in_a_row(*self.numbers)
        for at, share in enumerate((3, 4, 3)):
            numbers.setStretch(at, share)
        seed_label = QLabel("Seed")
        seed_label.setBuddy(self.seed_spin)
        buttons = (self.restart_button, self.play_button, self.step_button)
        controls = in_a_row(*buttons, self.speed_combo, seed_label, self.seed_spin)
        controls.setStretch(controls.count() - 1, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(6)
        layout.addWidget(self.view, 3)
        layout.addLayout(heading)
        layout.addLayout(numbers)
        layout.addLayout(controls)
        layout.addWidget(self.follow_check)
        layout.addWidget(self.message)
        layout.addWidget(self.renderer_button)
        layout.addWidget(self.checkpoints, 2)
        # Their places stay, or the buttons below would jump under the hand.
        for label in (self.title, self.chip):
            policy = label.sizePolicy()
            policy.setRetainSizeWhenHidden(True)
            label.setSizePolicy(policy)
            label.hide()

    def _connect(self) -> None:
        player = self._player
        player.frame_ready.connect(self._show_picture)
        player.loaded.connect(self._show_loaded)
        player.refused.connect(self._show_refusal)
        player.crashed.connect(self._say)
        player.state_changed.connect(self._show_state)
        self.restart_button.clicked.connect(self._start_over)
        self.play_button.clicked.connect(self.toggle_play)
        self.step_button.clicked.connect(self._step)
        self.speed_combo.currentIndexChanged.connect(self._set_speed)
        self.seed_spin.valueChanged.connect(player.start_over)
        self.renderer_button.clicked.connect(player.restart)
        self.checkpoints.checkpoint_chosen.connect(self._load)
        self.checkpoints.checkpoint_activated.connect(self._load_and_play)
        self.view.size_settled.connect(player.fit)

    # What the user wants ------------------------------------------------------------------------

    @Slot()
    def toggle_play(self) -> None:
        """Play, or pause; with nothing on stage, take the chosen agent or a bundled one."""
        if self._player.playing:
            self._player.pause()
        elif self._on_stage():
            self._player.play()

    @Slot()
    def _step(self) -> None:
        if self._on_stage():
            self._player.step()

    @Slot()
    def _start_over(self) -> None:
        self._player.start_over(self.seed_spin.value())

    @Slot(int)
    def _set_speed(self, at: int) -> None:
        self._player.set_speed(SPEEDS[at])

    @Slot(Path)
    def _load(self, path: Path) -> None:
        self._say("")
        self._player.load(path)

    @Slot(Path)
    def _load_and_play(self, path: Path) -> None:
        if path != self._player.path or self._player.state not in (
            PlayerState.LOADING,
            PlayerState.PAUSED,
        ):
            self._load(path)
        self._player.play()

    def _on_stage(self) -> bool:
        """Put an agent on stage if there is none; False if there is none to be had."""
        if self._player.state is not PlayerState.EMPTY:
            return True
        path = self.checkpoints.chosen() or self._player.path or self.checkpoints.model.first()
        if path is None:
            self._say("There is no saved agent yet. Press Train to make one.")
            return False
        self._load(path)
        return True

    # What the player tells ----------------------------------------------------------------------

    @Slot(object)
    def _show_picture(self, picture: Picture) -> None:
        moment = picture.moment
        self.view.show_image(picture.image)
        figures = (f"{moment.step}", f"{moment.total:.1f}", f"{picture.episode + 1}")
        for label, name, figure in zip(self.numbers, _FIGURES, figures, strict=True):
            label.setText(f"{name} {figure}")
        self.chip.setText("ended" if moment.terminated else "time limit")
        self.chip.setVisible(moment.over)

    @Slot(object)
    def _show_loaded(self, loaded: Loaded) -> None:
        self.checkpoints.select(loaded.path)
        self.title.setText(f"{loaded.env_id} · {short_steps(loaded.env_steps)}")
        self.title.setToolTip(plain_tip(_about(loaded)))
        self.title.show()
        self._say("")

    @Slot(str)
    def _show_refusal(self, message: str) -> None:
        self._say(message)

    @Slot()
    def _show_state(self) -> None:
        state = self._player.state
        self.renderer_button.setVisible(state is PlayerState.CRASHED)
        if state is PlayerState.EMPTY:
            self.view.show_text(_INVITATION)
            self.title.hide()
            self.chip.hide()
            for label in self.numbers:
                label.clear()
        elif state is PlayerState.LOADING and self.view.image is None:
            self.view.show_text("Loading…")
        self._show_play_icon()

    def _show_play_icon(self) -> None:
        playing = self._player.state is PlayerState.PLAYING
        self.play_button.setIcon(self._icon("pause" if playing else "play"))
        self.play_button.setAccessibleName("Pause" if playing else "Play")

    @Slot(str)
    def _say(self, text: str) -> None:
        self.message.setText(breakable(text))
        self.message.setToolTip(plain_tip(text))
        self.message.setVisible(bool(text))

    def _icon(self, name: str) -> QIcon:
        return icon(name, color=self._icon_colour)

    # Qt -----------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Play and pause with Space, where no control uses it itself."""
        if event.key() == Qt.Key.Key_Space and not event.isAutoRepeat():
            self.toggle_play()
        else:
            super().keyPressEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        """Draw nothing that nobody sees."""
        if not event.spontaneous() and self._player.playing:
            self._resume_when_shown = True
            self._player.pause()
        super().hideEvent(event)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Go on with what was being played."""
        if self._resume_when_shown:
            self._resume_when_shown = False
            self._player.play()
        super().showEvent(event)


def _about(loaded: Loaded) -> str:
    mean = "" if loaded.mean_return is None else f", return {loaded.mean_return:.1f}"
    return f"{loaded.path}\nstep {loaded.env_steps:,}{mean}"
