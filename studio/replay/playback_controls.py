"""The controls below the picture: start over, play, step, speed, seed and follow."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLabel,
    QSizePolicy,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from studio.replay.player import SPEEDS
from studio.theme.theme import Theme
from studio.widgets.controls import describe, make_icon_button, make_row
from studio.widgets.number_box import WholeNumberBox

_LARGEST_SEED = 2**31 - 1


class PlaybackControls(QWidget):
    """Emits what the user wants; shows whether the agent is playing."""

    play_clicked = Signal()
    step_clicked = Signal()
    restart_clicked = Signal()
    speed_changed = Signal(float)
    seed_changed = Signal(int)

    def __init__(self, speed: float, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme: Theme | None = None
        self._playing = False
        make = make_icon_button
        self.restart_button = make("replay_restart_button", "Start over", "First episode again")
        self.play_button = make("replay_play_button", "Play", "Play or pause (Space)")
        self.step_button = make("replay_step_button", "Step", "Pause and take one step")
        self.speed_combo = QComboBox()
        tip = "Relative to the environment's own speed"
        describe(self.speed_combo, "replay_speed_combo", "Speed", tip)
        for factor in SPEEDS:
            self.speed_combo.addItem(f"{factor:g}×", factor)
        self.speed_combo.setCurrentIndex(SPEEDS.index(speed))
        self.seed_spin = _make_seed_box()
        self.follow_check = QCheckBox("Follow latest")
        tip = "At the end of an episode, switch to the agent that the run saved last"
        describe(self.follow_check, "replay_follow_check", "Follow latest", tip)
        self._lay_out()
        self.restart_button.clicked.connect(self.restart_clicked)
        self.play_button.clicked.connect(self.play_clicked)
        self.step_button.clicked.connect(self.step_clicked)
        self.speed_combo.currentIndexChanged.connect(self._emit_speed)
        self.seed_spin.valueChanged.connect(self.seed_changed)

    def _lay_out(self) -> None:
        seed_label = QLabel("Seed")
        seed_label.setBuddy(self.seed_spin)
        buttons = (self.restart_button, self.play_button, self.step_button)
        row = make_row(*buttons, self.speed_combo, seed_label, self.seed_spin)
        row.setStretch(row.count() - 1, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addLayout(row)
        layout.addWidget(self.follow_check)

    @property
    def seed(self) -> int:
        """The seed of the episodes."""
        return self.seed_spin.value()

    @property
    def follows_latest(self) -> bool:
        """True if the agent that the run saved last is to be shown."""
        return self.follow_check.isChecked()

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._theme = theme
        self.restart_button.setIcon(theme.icon("skip-previous"))
        self.step_button.setIcon(theme.icon("step-forward"))
        self.show_playing(self._playing)

    def show_playing(self, playing: bool) -> None:
        """Let the play button offer to play or to pause."""
        self._playing = playing
        self.play_button.setAccessibleName("Pause" if playing else "Play")
        if self._theme is not None:
            self.play_button.setIcon(self._theme.icon("pause" if playing else "play"))

    @Slot(int)
    def _emit_speed(self, index: int) -> None:
        self.speed_changed.emit(SPEEDS[index])


def _make_seed_box() -> QSpinBox:
    box = WholeNumberBox(0, _LARGEST_SEED)
    tip = "Seed of the episodes. An evaluation with the same seed measures the same episodes."
    describe(box, "replay_seed_spin", "Seed", tip)
    box.setMinimumWidth(56)
    box.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
    return box
