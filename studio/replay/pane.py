"""The replay pane: the picture, its controls, and the agents to choose from."""

from pathlib import Path

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from studio.consent.code_consent import CodeConsent
from studio.replay.caption import Caption
from studio.replay.checkpoint_list import CheckpointPanel
from studio.replay.frame_view import FrameView
from studio.replay.playback_controls import PlaybackControls
from studio.replay.player import Player, PlayerState
from studio.replay.renderer.protocol import Loaded
from studio.replay.renderer_client import Picture
from studio.replay.share.menu import ShareButton
from studio.session.agents import SavedAgents
from studio.theme.theme import Theme
from studio.widgets.controls import describe, make_label
from studio.widgets.labels import breakable, plain_tip
from td3core.config.consent import Consent, LocatedModule

_INVITATION = "Choose an agent below and press Play"


class ReplayPane(QWidget):
    """Shows the state of the player and passes on what the user wants; keeps no state itself."""

    def __init__(self, runs_dir: Path, consent: CodeConsent, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("replay_pane")
        # Otherwise the style sheet could not give it a background.
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._player, self._consent = Player(self), consent
        self._needed: LocatedModule | None = None
        self._resume_when_shown = False
        self._make_widgets()
        self._lay_out()
        self._connect()
        self.checkpoints.set_runs_dir(runs_dir)
        self._show_state()

    # The window ---------------------------------------------------------------------------------

    @property
    def player(self) -> Player:
        """The owner of the replay's state."""
        return self._player

    def set_current_run(self, path: Path | None) -> None:
        """Show the checkpoints of the run in progress, if there is one."""
        self.checkpoints.set_current_run(path)

    def show_run(self, agents: SavedAgents) -> None:
        """Show the checkpoints of an opened run, and load its best agent."""
        self.checkpoints.set_current_run(agents.run, agents)
        if agents.favourite is not None:
            self.checkpoints.select(agents.favourite)
            self.load(agents.favourite)

    def note_saved(
        self, path: Path, env_steps: int, mean_return: float | None, run_bytes: int = 0
    ) -> None:
        """List a checkpoint that has just been written, and show it next if the user wants that."""
        self.checkpoints.note_saved(path, env_steps, mean_return, run_bytes)
        if self.controls.follows_latest and self._player.state is not PlayerState.CRASHED:
            self._player.allow(self._consent.given)
            self._player.load(path, at_episode_end=True)

    def note_evaluated(self, env_steps: int, mean_return: float) -> None:
        """List the mean return of the current run's checkpoint of a step, if there is one."""
        self.checkpoints.note_evaluated(env_steps, mean_return)

    def set_busy(self, busy: bool) -> None:
        """Leave the processor to a run in progress, and offer no branches meanwhile."""
        self.checkpoints.set_busy(busy)
        self._player.reduce_rate(busy)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self.controls.set_theme(theme)

    def shutdown(self) -> None:
        """End the renderer, and stop reading for the list."""
        self.checkpoints.shutdown()
        self.share.shutdown()
        self._player.close()

    # Building -----------------------------------------------------------------------------------

    def _make_widgets(self) -> None:
        self.view = FrameView(_INVITATION)
        describe(self.view, "replay_view", "Replay", "")
        self.setFocusProxy(self.view)
        self.caption = Caption()
        self.controls = PlaybackControls(self._player.speed)
        self.message = make_label("replay_message")
        self.message.setWordWrap(True)
        self.message.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.renderer_button = QPushButton("Restart renderer")
        tip = "Start the renderer again with the same agent"
        describe(self.renderer_button, "replay_renderer_button", "Restart renderer", tip)
        self.allow_button = QPushButton("Allow this code…")
        tip = "Let the code of this agent's environment run, and show the agent"
        describe(self.allow_button, "replay_allow_button", "Allow this code", tip)
        self.allow_button.hide()
        self.checkpoints = CheckpointPanel()
        self.share = ShareButton(self._player, self._consent, self)

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(6)
        layout.addWidget(self.view, 3)
        for widget in (self.caption, self.controls, self.message):
            layout.addWidget(widget)
        for button in (self.allow_button, self.renderer_button):
            layout.addWidget(button)
        layout.addWidget(self.share)
        layout.addWidget(self.checkpoints, 2)

    def _connect(self) -> None:
        player, controls = self._player, self.controls
        player.frame_ready.connect(self._show_picture)
        player.loaded.connect(self._show_loaded)
        player.refused.connect(self.show_message)
        player.code_refused.connect(self._on_code_refused)
        player.crashed.connect(self.show_message)
        player.silent.connect(self._show_silent)
        player.state_changed.connect(self._show_state)
        controls.restart_clicked.connect(self._start_over)
        controls.play_clicked.connect(self.toggle_play)
        controls.step_clicked.connect(self._step)
        controls.speed_changed.connect(player.set_speed)
        controls.seed_changed.connect(player.start_over)
        self.allow_button.clicked.connect(self._allow)
        self.renderer_button.clicked.connect(player.restart)
        self.checkpoints.checkpoint_chosen.connect(self.load)
        self.checkpoints.checkpoint_activated.connect(self._load_and_play)
        self.view.size_settled.connect(player.fit)

    # User actions -------------------------------------------------------------------------------

    @Slot()
    def toggle_play(self) -> None:
        """Play or pause; without an agent, load the chosen one or a bundled one first."""
        if self._player.playing:
            self._player.pause()
        elif self._has_agent():
            self._player.play()

    @Slot()
    def _step(self) -> None:
        if self._has_agent():
            self._player.step()

    @Slot()
    def _start_over(self) -> None:
        self._player.start_over(self.controls.seed)

    @Slot(Path)
    def load(self, path: Path) -> None:
        """Load an agent and show its first picture."""
        self.show_message("")
        self._player.allow(self._consent.given)
        self._player.load(path)

    @Slot(Path)
    def _load_and_play(self, path: Path) -> None:
        waiting = self._player.state in (PlayerState.LOADING, PlayerState.PAUSED)
        if path != self._player.path or not waiting:
            self.load(path)
        self._player.play()

    def _has_agent(self) -> bool:
        """Load an agent if there is none; return False if there is none to load."""
        if self._player.state is not PlayerState.EMPTY:
            return True
        path = self.checkpoints.chosen() or self._player.path or self.checkpoints.model.first()
        if path is None:
            self.show_message("There is no saved agent yet. Press Train to make one.")
            return False
        self.load(path)
        return True

    # Code of strangers --------------------------------------------------------------------------

    @Slot(object)
    def _on_code_refused(self, module: LocatedModule) -> None:
        """Ask about the code that an agent's environment needs; once, however many agents do."""
        self._needed = module
        self.view.show_text("Not shown: its environment is code that you have not allowed.")
        self._ask(module, insist=False)

    @Slot()
    def _allow(self) -> None:
        if self._needed is not None:
            self._ask(self._needed, insist=True)

    def _ask(self, module: LocatedModule, *, insist: bool) -> None:
        path = self._player.path

        def reload(_: Consent) -> None:
            # The user may have chosen another agent while the question was open.
            if path is not None and path == self._player.path:
                self.load(path)

        self._consent.allow(module, reload, self._on_declined, insist=insist)

    def _on_declined(self, module: LocatedModule) -> None:
        if module == self._needed:
            self.allow_button.show()

    # State of the player ------------------------------------------------------------------------

    @Slot(object)
    def _show_picture(self, picture: Picture) -> None:
        self.view.show_image(picture.image)
        self.caption.show_picture(picture)

    @Slot(object)
    def _show_loaded(self, loaded: Loaded) -> None:
        self.checkpoints.select(loaded.path)
        self.caption.show_agent(loaded)
        self.show_message("")

    @Slot()
    def _show_state(self) -> None:
        state = self._player.state
        crashed = state is PlayerState.CRASHED
        self.renderer_button.setVisible(crashed or not self._player.answers)
        if state is not PlayerState.EMPTY:
            self._needed = None
            self.allow_button.hide()
        if state is PlayerState.EMPTY:
            self.view.show_text(_INVITATION)
            self.caption.clear()
        elif state is PlayerState.LOADING and self.view.image is None:
            self.view.show_text("Loading…")
        self.controls.show_playing(state is PlayerState.PLAYING)

    @Slot(str)
    def _show_silent(self, sentence: str) -> None:
        """Offer to restart a renderer that does not answer; an empty sentence: it does again."""
        self.show_message(sentence)
        self._show_state()

    @Slot(str)
    def show_message(self, text: str) -> None:
        """Show a sentence below the controls; an empty one hides it."""
        self.message.setText(breakable(text))
        self.message.setToolTip(plain_tip(text))
        self.message.setVisible(bool(text))

    # Qt -----------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Play and pause with Space, unless the focused control uses it."""
        if event.key() == Qt.Key.Key_Space and not event.isAutoRepeat():
            self.toggle_play()
        else:
            super().keyPressEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        """Pause while the pane is hidden."""
        if not event.spontaneous() and self._player.playing:
            self._resume_when_shown = True
            self._player.pause()
        super().hideEvent(event)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Resume what was playing before the pane was hidden."""
        if self._resume_when_shown:
            self._resume_when_shown = False
            self._player.play()
        super().showEvent(event)
