"""The controls below the picture: scrub bar, play, step, loop, speed, seed, follow and size."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLabel,
    QMenu,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from studio.formatting import format_value
from studio.replay.player import SPEEDS, UNPACED
from studio.replay.renderer.protocol import Frame
from studio.replay.transport.scrub_bar import ScrubBar
from studio.theme.theme import Theme
from studio.widgets.controls import describe, make_icon_button, make_row
from studio.widgets.number_box import WholeNumberBox
from td3core.config.run_config import HIGHEST_SEED
from td3core.text import Text, tr

_LOOP_TIP = Text("Play the same episode again at its end, instead of the next one")


class PlaybackControls(QWidget):
    """Emits the user's requests; shows whether the agent is playing."""

    play_clicked = Signal()
    step_clicked = Signal()
    back_clicked = Signal()
    restart_clicked = Signal()
    loop_changed = Signal(bool)
    speed_changed = Signal(float)
    seed_changed = Signal(int)
    large_clicked = Signal()
    full_screen_clicked = Signal()

    def __init__(self, speed: float) -> None:
        super().__init__()
        self._theme: Theme | None = None
        self._playing = False
        self.scrub_bar = ScrubBar()
        tip = tr("Where the episode is: drag to any step that was drawn")
        describe(self.scrub_bar, "replay_scrub_bar", tr("Step of the episode"), tip)
        self.scrub_bar.clear()
        self._make_buttons()
        self.speed_combo = _make_speed_combo(speed)
        self.seed_spin = _make_seed_box()
        self.follow_check = QCheckBox(tr("Follow latest"))
        tip = tr(
            "Show the newest agent of the run now, and each later one after the current episode"
        )
        describe(self.follow_check, "replay_follow_check", tr("Follow latest"), tip)
        self._lay_out()
        self._connect()

    def _make_buttons(self) -> None:
        make = make_icon_button
        self.restart_button = make(
            "replay_restart_button", tr("Start over"), tr("First episode again")
        )
        self.back_button = make(
            "replay_back_button", tr("Step back"), tr("Pause, one step back (,)")
        )
        self.play_button = make("replay_play_button", tr("Play"), tr("Play or pause (Space)"))
        self.step_button = make("replay_step_button", tr("Step"), tr("Pause and take one step (.)"))
        self.loop_button = make("replay_loop_button", tr("Loop"), str(_LOOP_TIP))
        self.loop_button.setCheckable(True)
        self.large_button = make("replay_large_button", tr("Large replay"), tr("Large replay (F9)"))
        self.full_button = make("replay_full_button", tr("Full screen"), tr("Full screen (F11)"))
        self.menu_button = make("replay_menu_button", tr("Replay options"), tr("More options"))
        self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu = QMenu(self)
        self.menu_button.setMenu(self.menu)

    def _lay_out(self) -> None:
        seed_label = QLabel(tr("Seed"))
        seed_label.setBuddy(self.seed_spin)
        steps = (self.restart_button, self.back_button, self.play_button, self.step_button)
        upper = make_row(*steps, self.loop_button, self.speed_combo)
        # All controls must fit into a narrow dock.
        upper.setSpacing(0)
        upper.addStretch(1)
        for button in (self.large_button, self.full_button):
            upper.addWidget(button)
        self._lower = lower = make_row(self.follow_check)
        lower.addStretch(1)
        for widget in (seed_label, self.seed_spin, self.menu_button):
            lower.addWidget(widget)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.scrub_bar)
        layout.addLayout(upper)
        layout.addLayout(lower)

    def _connect(self) -> None:
        for button, clicked in (
            (self.restart_button, self.restart_clicked),
            (self.back_button, self.back_clicked),
            (self.play_button, self.play_clicked),
            (self.step_button, self.step_clicked),
            (self.large_button, self.large_clicked),
            (self.full_button, self.full_screen_clicked),
        ):
            button.clicked.connect(clicked)
        self.loop_button.toggled.connect(self.loop_changed)
        self.speed_combo.currentIndexChanged.connect(self._emit_speed)
        self.seed_spin.valueChanged.connect(self._emit_seed)
        self.scrub_bar.stepped.connect(self._on_stepped)

    def add_option(self, action: QAction) -> None:
        """Offer an option in the menu."""
        self.menu.addAction(action)

    def add_tool(self, button: QToolButton) -> None:
        """Add a button to the lower row."""
        self._lower.insertWidget(self._lower.count() - 1, button)
        self.setTabOrder(self.seed_spin, button)
        self.setTabOrder(button, self.menu_button)

    @property
    def seed(self) -> int:
        """The seed of the episodes."""
        return self.seed_spin.value()

    @property
    def follows_latest(self) -> bool:
        """True if the run's newest agent is shown."""
        return self.follow_check.isChecked()

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._theme = theme
        for button, name in (
            (self.restart_button, "skip-previous"),
            (self.back_button, "step-backward"),
            (self.step_button, "step-forward"),
            (self.loop_button, "repeat"),
            (self.large_button, "arrow-expand"),
            (self.full_button, "fullscreen"),
            (self.menu_button, "dots-vertical"),
        ):
            button.setIcon(theme.icon(name))
        self.show_playing(self._playing)

    def show_playing(self, playing: bool) -> None:
        """Make the play button offer to play or to pause."""
        self._playing = playing
        self.play_button.setAccessibleName(tr("Pause") if playing else tr("Play"))
        if self._theme is not None:
            self.play_button.setIcon(self._theme.icon("pause" if playing else "play"))

    def show_frame(self, frame: Frame) -> None:
        """Show the position of a picture in its episode."""
        self.scrub_bar.show_frame(frame)

    @Slot(bool)
    def _on_stepped(self, back: bool) -> None:
        clicked = self.back_clicked if back else self.step_clicked
        clicked.emit()

    @Slot(int)
    def _emit_speed(self, index: int) -> None:
        self.speed_changed.emit(SPEEDS[index])

    @Slot()
    def _emit_seed(self) -> None:
        self.seed_changed.emit(self.seed)


def _make_speed_combo(speed: float) -> QComboBox:
    box = QComboBox()
    tip = tr("Relative to the environment's own speed; Max takes step after step without waiting")
    describe(box, "replay_speed_combo", tr("Speed"), tip)
    for factor in SPEEDS:
        box.addItem(tr("Max") if factor == UNPACED else f"{format_value(factor)}×", factor)
    box.setCurrentIndex(SPEEDS.index(speed))
    box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    box.setMinimumWidth(52)
    return box


def _make_seed_box() -> WholeNumberBox:
    box = WholeNumberBox(0, HIGHEST_SEED)
    tip = tr("Seed of the episodes. An evaluation with the same seed measures the same episodes.")
    describe(box, "replay_seed_spin", tr("Seed"), tip)
    box.setMinimumWidth(50)
    box.setMaximumWidth(110)
    box.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
    return box
