"""The replay pane: the picture, its controls, and the agents to choose from."""

from pathlib import Path

from PySide6.QtCore import QSettings, QSize, Qt, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from studio.consent.code_consent import CodeConsent
from studio.replay.caption import PictureCaption
from studio.replay.checkpoint_list import CheckpointPanel
from studio.replay.code_question import CodeQuestion
from studio.replay.compare.comparison import AgentComparison
from studio.replay.frame_view import FrameView
from studio.replay.newest_agent_tracker import NEWEST, NewestAgentTracker
from studio.replay.player import Player, PlayerState
from studio.replay.renderer.protocol import Frame, Loaded
from studio.replay.replay_options import ReplayOptions
from studio.replay.timeline.source import TimelineSource
from studio.replay.timeline.strip import Timeline
from studio.replay.transport.camera_menu import CameraMenu
from studio.replay.transport.controls import PlaybackControls
from studio.replay.transport.scrub_hold import ScrubHold
from studio.session.agents import SavedAgents
from studio.theme.theme import Theme
from studio.widgets.controls import describe, make_label
from studio.widgets.labels import breakable, plain_tip
from studio.widgets.setting_names import in_labels
from studio.widgets.sight import Shown, Sight
from td3core.text import NO_TEXT, Text, tr

_INVITATION = Text("Choose an agent below and press Play")


class ReplayPane(QWidget):
    """Shows the player's state and passes on the user's requests; keeps no state itself."""

    def __init__(
        self,
        runs_dir: Path,
        consent: CodeConsent,
        settings: QSettings | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("replay_pane")
        # Otherwise the style sheet could not give it a background.
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._player, self._consent = Player(self), consent
        self.options = ReplayOptions(settings or QSettings(), self._player, self)
        self._tracker = NewestAgentTracker(self._player, self._load, self._may_follow)
        self._large = self._training = False
        self._chosen = False
        """Whether the user has chosen an agent."""
        self._sight = Sight(self)
        self._make_widgets()
        self._lay_out()
        self._connect()
        self.checkpoints.set_runs_dir(runs_dir)
        self._follow_if_preferred()
        self._show_state()

    # The window ---------------------------------------------------------------------------------

    @property
    def player(self) -> Player:
        """The owner of the replay's state."""
        return self._player

    @property
    def tracker(self) -> NewestAgentTracker:
        """Knows whether the current agent's file still holds it."""
        return self._tracker

    @property
    def names(self) -> list[str]:
        """Names of the current agents."""
        return self.comparison.names or [self.caption.title.text()]

    @property
    def columns(self) -> int:
        """Number of pictures in a row of a comparison."""
        return self.comparison.view.columns

    def set_current_run(self, path: Path | None) -> None:
        """Show the checkpoints of the run in progress, if any, and follow it.

        A resumed run already has saved agents: its newest one is shown.
        """
        self.checkpoints.set_current_run(path)
        self._tracker.set_run(path)
        self._follow_if_preferred()
        if self.controls.follows_latest and self._may_follow():
            self._tracker.set_enabled(True)

    def show_run(
        self, agents: SavedAgents, *, live: bool = False, keep_choice: bool = False
    ) -> None:
        """List the checkpoints of an opened run; load its best agent, or its newest if ``live``.

        If the newest agent is shown and followed, it stays: its run may be resumed. With
        ``keep_choice``, agents that the user has chosen stay, too.
        """
        self.checkpoints.set_current_run(agents.run, agents)
        self._tracker.set_run(agents.run, agents)
        if keep_choice and (self._chosen or self.comparison.active):
            return
        if live:
            self._follow_if_preferred()
        follows, shown = self.controls.follows_latest, self._tracker.shown
        if follows and shown is not None and shown.role == NEWEST:
            return
        first = self._tracker.newest if live and follows else agents.favourite
        if first is not None:
            self.show_message(NO_TEXT)
            self._load(first)

    def withdraw_run(self) -> None:
        """Stop listing agents of the current run: it was deleted. A displayed one stays."""
        run = self.checkpoints.current_run
        if run is not None:
            none = SavedAgents(run=run, stamps={}, means={}, favourite=None, run_bytes=0)
            self._tracker.note_listed(none)
        self.set_current_run(None)

    def play_at_start(self) -> None:
        """Play the run's agent or a bundled one if that option is on and no agent was chosen."""
        player = self._player
        if not (self.options.play_at_start_action.isChecked() and self.isVisible()):
            return
        if player.state in (PlayerState.LOADING, PlayerState.PAUSED) and player.idle:
            player.play()
        first = self.checkpoints.model.first()
        if player.state is PlayerState.EMPTY and player.path is None and first is not None:
            self._load_and_play(first)

    def note_saved(
        self, path: Path, env_steps: int, mean_return: float | None, run_bytes: int = 0
    ) -> None:
        """List a checkpoint just written, and show it next if the user wants that."""
        self.checkpoints.note_saved(path, env_steps, mean_return, run_bytes)
        self._tracker.set_run(self.checkpoints.current_run)
        self._tracker.note_saved(path, env_steps)

    def note_evaluated(self, env_steps: int, mean_return: float) -> None:
        """List the mean return of the current run's checkpoint at a step, if there is one."""
        self.checkpoints.note_evaluated(env_steps, mean_return)

    def set_training(self, training: bool, *, branches_wait: bool) -> None:
        """Draw less often while a run trains; ``branches_wait``: branches do not start at once."""
        self.checkpoints.set_busy(branches_wait)
        if training is not self._training:
            self._training = training
            self._player.reduce_rate(training)

    def set_large(self, large: bool) -> None:
        """Give the picture all the space, or show the list of agents again."""
        self._large = large
        self.checkpoints.setHidden(large or self.comparison.on_show)
        self.view.use_all_height(large)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self.controls.set_theme(theme)
        self.timeline.set_theme(theme)

    def shutdown(self) -> None:
        """End the renderer, and stop reading for the list."""
        self.checkpoints.shutdown()
        self._player.close()

    # Building -----------------------------------------------------------------------------------

    def _make_widgets(self) -> None:
        self.view = FrameView(str(_INVITATION))
        describe(self.view, "replay_view", tr("Replay"), "")
        self.setFocusProxy(self.view)
        self.caption = PictureCaption()
        self.controls = PlaybackControls(self._player.speed)
        self.timeline = Timeline()
        self.message = make_label("replay_message")
        self.message.setWordWrap(True)
        self.message.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.renderer_button = QPushButton(tr("Restart renderer"))
        tip = tr("Start the renderer again with the same agent")
        describe(self.renderer_button, "replay_renderer_button", tr("Restart renderer"), tip)
        self.question = CodeQuestion(self._player, self._consent, self)
        self.checkpoints = CheckpointPanel()
        self.comparison = AgentComparison(
            self._player, self.checkpoints, self.timeline, lambda: self._tracker.shown, self
        )
        self.controls.add_option(self.comparison.action)
        self.camera_menu = CameraMenu(self._player, self)
        self.camera_menu.add_view(self.view)
        self.comparison.view.tile_added.connect(self.camera_menu.add_view)
        self.controls.add_option(self.camera_menu.menuAction())
        self.controls.add_option(self.options.play_at_start_action)

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(6)
        layout.addWidget(self.view, 10)
        layout.addWidget(self.comparison.view, 10)
        buttons = self.question.button, self.renderer_button
        for widget in (self.caption, self.controls, self.message, *buttons):
            layout.addWidget(widget)
        layout.addWidget(self.timeline)
        layout.addWidget(self.checkpoints, 1)

    def _connect(self) -> None:
        player, controls = self._player, self.controls
        player.frame_ready.connect(self._show_frame)
        player.loaded.connect(self._show_loaded)
        player.undrawn.connect(self._show_undrawn)
        player.refused.connect(self.show_message)
        player.code_refused.connect(self._show_code_refused)
        player.crashed.connect(self.show_message)
        player.silent.connect(self._show_silent)
        player.state_changed.connect(self._show_state)
        controls.restart_clicked.connect(self._start_over)
        controls.play_clicked.connect(self.toggle_play)
        controls.step_clicked.connect(self._step)
        controls.back_clicked.connect(player.step_back)
        controls.loop_changed.connect(player.set_loop)
        ScrubHold(player, controls.scrub_bar)
        controls.speed_changed.connect(player.set_speed)
        controls.seed_changed.connect(player.start_over)
        self.question.allowed.connect(self._load_and_play)
        self.renderer_button.clicked.connect(player.restart)
        controls.follow_check.toggled.connect(self._tracker.set_enabled)
        # Only clicks by the user change the preference; the pane unchecks the box, too.
        controls.follow_check.clicked.connect(self.options.set_follow_latest)
        self._tracker.changed.connect(self._show_agent)
        self.checkpoints.checkpoint_chosen.connect(self.choose)
        self.checkpoints.checkpoint_activated.connect(self._choose_and_play)
        self.checkpoints.listed.connect(self._tracker.note_listed)
        self._source = TimelineSource(self.checkpoints.model, self)
        self._source.changed.connect(self.timeline.show_points)
        self.timeline.chosen.connect(self._choose_and_play)
        self.view.size_settled.connect(self._fit)
        self._sight.changed.connect(self._on_shown)
        self.comparison.changed.connect(self._show_comparison)
        self.comparison.closed.connect(self._end_comparison)
        self.checkpoints.compare_requested.connect(self.comparison.choose_with)

    # User actions -------------------------------------------------------------------------------

    @Slot()
    def toggle_play(self) -> None:
        """Play or pause; without an agent, load the chosen one or a bundled one first."""
        if self._player.playing:
            self._player.pause()
        elif self._has_agent():
            if not self.comparison.active:
                self._tracker.catch_up()
            self._player.play()

    @Slot()
    def _step(self) -> None:
        if self._has_agent():
            self._player.step()

    @Slot()
    def _start_over(self) -> None:
        self._player.start_over(self.controls.seed)

    def _load_chosen(self, path: Path) -> None:
        self.show_message(NO_TEXT)
        self._load(path, chosen=True)

    def _load(self, path: Path, *, at_episode_end: bool = False, chosen: bool = False) -> None:
        self._player.load(path, at_episode_end=at_episode_end, chosen=chosen)

    def _may_follow(self) -> bool:
        """Whether agents of a run may be shown automatically."""
        return self._sight.seen and not self.comparison.active

    @Slot(Path)
    def choose(self, path: Path) -> None:
        """Show an agent that the user has chosen, and stop following unless it is the newest."""
        self._note_choice(path)
        self._load_chosen(path)

    @Slot(Path)
    def _choose_and_play(self, path: Path) -> None:
        self._note_choice(path)
        self._load_and_play(path)

    def _note_choice(self, path: Path) -> None:
        """Keep the user's choice on screen: the next agent of the run would replace it."""
        self._chosen = True
        if self.checkpoints.current_run is not None and path != self._tracker.newest:
            self.controls.follow_check.setChecked(False)

    def _follow_if_preferred(self) -> None:
        self.controls.follow_check.setChecked(self.options.follow_latest)

    def _load_and_play(self, path: Path) -> None:
        waiting = self._player.state in (PlayerState.LOADING, PlayerState.PAUSED)
        shown = self._tracker.shown
        # The path may hold another agent than the current one.
        if path != self._player.path or not waiting or (shown is not None and shown.gone):
            self._load_chosen(path)
        self._player.play()

    def _has_agent(self) -> bool:
        """Load an agent if none is loaded; return False if none can be loaded."""
        if self._player.state is not PlayerState.EMPTY:
            return True
        path = self.checkpoints.chosen() or self._player.path or self.checkpoints.model.first()
        if path is None:
            self.show_message(Text("There is no saved agent yet. Press Train to make one."))
            return False
        self._load_chosen(path)
        return True

    # Comparing ----------------------------------------------------------------------------------

    @Slot(bool)
    def _show_comparison(self, on_show: bool) -> None:
        """Show several agents in place of one, without the list, or one again."""
        for part in (self.view, self.caption, self.timeline):
            part.setHidden(on_show)
        self.checkpoints.setHidden(on_show or self._large)
        self.comparison.view.setVisible(on_show)
        self.controls.follow_check.setEnabled(not on_show)
        self.setFocusProxy(self.comparison.view if on_show else self.view)
        if on_show:
            self.comparison.view.setFocus()
        else:
            self.view.settle()

    @Slot(Path)
    def _end_comparison(self, first: Path) -> None:
        """Show one agent: the first or, if followed and saved since, the newest."""
        self._load_chosen(first)
        self._tracker.catch_up()

    @Slot(QSize)
    def _fit(self, size: QSize) -> None:
        if not self.comparison.on_show:
            self._player.fit(size)

    # State of the player ------------------------------------------------------------------------

    @Slot(object)
    def _show_frame(self, frame: Frame) -> None:
        if len(frame.images) == 1:
            self.view.show_image(frame.images[0])
        self.caption.show_frame(frame)
        self.controls.show_frame(frame)

    @Slot(object)
    def _show_loaded(self, loaded: Loaded) -> None:
        if loaded.no_picture:
            why = loaded.no_picture
            self.view.show_text(tr("{why} The instruments show its numbers.", why=why))
        self.show_message(NO_TEXT)

    @Slot(object)
    def _show_undrawn(self, why: Text) -> None:
        self.show_message(Text("{why} The last picture stays.", why=why))

    @Slot()
    def _show_agent(self) -> None:
        """Name the current agent and its role in its run; mark it in list and timeline."""
        agent, shown = self._player.agent, self._tracker.shown
        if agent is None or shown is None:
            return
        self.caption.show_agent(agent, shown.role)
        # The user may have chosen another one, which is marked already.
        if self._player.state is not PlayerState.LOADING:
            self.checkpoints.show_agent(shown)
            self.timeline.show_agent(shown)
            self._source.note_shown(shown)

    @Slot()
    def _show_state(self) -> None:
        state = self._player.state
        crashed = state is PlayerState.CRASHED
        self.renderer_button.setVisible(crashed or not self._player.answers)
        if state is PlayerState.EMPTY:
            self.view.show_text(str(_INVITATION))
            self.caption.clear()
            self.controls.scrub_bar.clear()
        elif state is PlayerState.LOADING and self.view.image is None:
            self.view.show_text(tr("Loading…"))
        self.controls.show_playing(state is PlayerState.PLAYING)

    @Slot()
    def _show_code_refused(self) -> None:
        self.view.show_text(tr("Not shown: its environment is code that you have not allowed."))

    @Slot(object)
    def _show_silent(self, sentence: Text) -> None:
        """Offer to restart a silent renderer; an empty sentence means that it answers again."""
        self.show_message(sentence)
        self._show_state()

    @Slot(object)
    def show_message(self, text: Text) -> None:
        """Show a sentence below the controls; an empty one hides it."""
        said = in_labels(text)
        self.message.setText(breakable(said))
        self.message.setToolTip(plain_tip(said))
        self.message.setVisible(bool(text))

    @Slot(object)
    def _on_shown(self, shown: Shown) -> None:
        """Pause the agent while it is not visible, and continue afterwards."""
        self._player.set_shown(shown)
        if shown is Shown.SEEN:
            self._tracker.note_seen()

    # Qt -----------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Play and pause with Space, step with comma and full stop."""
        match event.key():
            case Qt.Key.Key_Space if not event.isAutoRepeat():
                self.toggle_play()
            case Qt.Key.Key_Comma:
                self._player.step_back()
            case Qt.Key.Key_Period:
                self._step()
            case Qt.Key.Key_P if self.comparison.can_push:
                self._player.push()
            case Qt.Key.Key_Escape if self.comparison.on_show:
                self.comparison.close()
            case _:
                super().keyPressEvent(event)
