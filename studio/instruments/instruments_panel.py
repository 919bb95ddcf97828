"""The panel of the instruments: switching them on, and updating them."""

from functools import partial

from PySide6.QtCore import QSettings, Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QCheckBox, QStackedWidget, QVBoxLayout, QWidget

from studio.instruments.action_bars import ActionInstrument
from studio.instruments.episode_curves import RewardInstrument, ValueInstrument
from studio.instruments.instrument import Instrument
from studio.instruments.observation_chart import ObservationInstrument
from studio.instruments.sweep import SweepInstrument
from studio.plots.run.empty_hint import EmptyHint
from studio.replay.player import Player, PlayerState
from studio.replay.renderer.protocol import Frame, Loaded
from studio.theme.theme import Theme
from studio.widgets.controls import describe, make_row
from studio.widgets.labels import ElidedLabel, plain_tip
from studio.widgets.sight import Sight
from td3core.playing.numbers import AgentSpec, EpisodeNumbers, Steps
from td3core.text import Text

_WAITING = Text("The numbers of an agent appear here when it plays.")
_UNKNOWN = Text("Step not measured")
"""Short: it stands beside the switches."""
_EXAMPLE = (0.05, 0.2, 0.33, 0.5, 0.6, 0.78, 0.95)


class InstrumentPanel(QWidget):
    """Shows the numbers of the pictured step.

    While it is closed, or all instruments are switched off, nothing is computed or sent.
    """

    def __init__(self, settings: QSettings, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("instruments_panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._settings = settings
        self._player: Player | None = None
        self._spec: AgentSpec | None = None
        self._numbers: EpisodeNumbers | None = None
        self._place: Frame | None = None
        self._measuring = False
        self._sight = Sight(self)
        self._sight.changed.connect(self._measure_if_seen)
        self.sweep = SweepInstrument()
        self.instruments: tuple[Instrument, ...] = (
            RewardInstrument(),
            ValueInstrument(),
            ActionInstrument(),
            ObservationInstrument(),
            self.sweep,
        )
        self.switches = {each.name: self._make_switch(each) for each in self.instruments}
        self.message = ElidedLabel()
        self.message.setObjectName("instruments_message")
        self.message.setProperty("role", "muted")
        self._cards = QWidget()
        self.hint = EmptyHint(_EXAMPLE, theme, self)
        self.hint.setObjectName("instruments_hint")
        self.hint.say(str(_WAITING))
        self._lay_out()
        self.set_theme(theme)

    def _make_switch(self, instrument: Instrument) -> QCheckBox:
        title, tip = str(instrument.title), plain_tip(str(instrument.help))
        switch = QCheckBox(title)
        describe(switch, f"instrument_switch_{instrument.name}", title, tip)
        on = self._settings.value(f"instruments/{instrument.name}", instrument.first_on, bool)
        switch.setChecked(bool(on))
        # Narrow, so that all switches fit into a window of 1024 pixels.
        switch.setStyleSheet("QCheckBox { spacing: 2px; }")
        if not switch.isChecked():
            # Showing one without a parent would make it a window that takes the focus.
            instrument.hide()
        switch.toggled.connect(partial(self._on_switched, instrument))
        return switch

    def _lay_out(self) -> None:
        switches = make_row(*self.switches.values(), self.message)
        # Narrow enough for a window of 1024 pixels.
        switches.setSpacing(0)
        switches.setStretch(len(self.switches), 1)
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self._cards)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(6)
        for instrument in self.instruments:
            self._row.addWidget(instrument, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 4, 6, 6)
        layout.setSpacing(4)
        layout.addLayout(switches)
        self._pages = QStackedWidget()
        self._pages.addWidget(self.hint)
        self._pages.addWidget(self._cards)
        layout.addWidget(self._pages, 1)

    def use_player(self, player: Player) -> None:
        """Show the numbers of this player's pictures."""
        self._player = player
        player.loaded.connect(self._on_loaded)
        player.frame_ready.connect(self._on_frame)
        player.steps_measured.connect(self._on_steps)
        player.swept.connect(self.sweep.show_swept)
        player.state_changed.connect(self._on_state)
        self.sweep.wanted.connect(player.sweep)
        # The panel may be opened while an agent plays.
        if player.agent is not None:
            self._on_loaded(player.agent)
        if player.frame is not None:
            self._on_frame(player.frame)
        self._measure_if_seen()

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self.hint.set_theme(theme)
        for instrument in self.instruments:
            instrument.set_theme(theme)

    @property
    def numbers(self) -> EpisodeNumbers | None:
        """The numbers of the current episode."""
        return self._numbers

    # The player ---------------------------------------------------------------------------------

    @Slot(object)
    def _on_loaded(self, loaded: Loaded) -> None:
        self._spec, self._numbers, self._place = loaded.spec, None, None
        for instrument in self.instruments:
            instrument.clear()
            instrument.show_agent(loaded.spec)

    @Slot(object)
    def _on_frame(self, frame: Frame) -> None:
        self._place = frame
        if not self._measuring:
            return
        numbers = self._numbers_of(frame.playback_id)
        if frame.data is not None and numbers is not None:
            numbers.add_step(frame.data)
        self._show()

    @Slot(object)
    def _on_steps(self, steps: Steps) -> None:
        numbers = self._numbers_of(steps.playback_id)
        if numbers is not None:
            numbers.add(steps)
            # Otherwise the picture of the step is still to come.
            if self._place is not None and numbers.has(self._place.step.number):
                self._show()

    def _numbers_of(self, playback_id: int) -> EpisodeNumbers | None:
        """Return the numbers of an episode, new ones if it has just begun; None if unknown."""
        if self._spec is None:
            return None
        if self._numbers is None or self._numbers.playback_id < playback_id:
            self._numbers = EpisodeNumbers(self._spec, playback_id)
        return self._numbers if self._numbers.playback_id == playback_id else None

    @Slot()
    def _on_state(self) -> None:
        assert self._player is not None
        if self._player.state in (PlayerState.EMPTY, PlayerState.CRASHED):
            self._spec, self._numbers, self._place = None, None, None
            for instrument in self.instruments:
                instrument.clear()
            self.message.clear()
            self._pages.setCurrentWidget(self.hint)

    # Showing ------------------------------------------------------------------------------------

    def _show(self) -> None:
        numbers, place = self._numbers, self._place
        if numbers is None or place is None or place.playback_id != numbers.playback_id:
            return
        step = place.step.number
        if place.complete:
            numbers.end(place.latest)
        known = numbers.has(step)
        self.message.setText("" if known or not step else str(_UNKNOWN))
        if known:
            self._pages.setCurrentWidget(self._cards)
        for instrument in self.instruments:
            if instrument.isVisible() and known:
                instrument.show_step(numbers, step)

    def _on_switched(self, instrument: Instrument, on: bool) -> None:
        self._settings.setValue(f"instruments/{instrument.name}", on)
        instrument.setVisible(on)
        self._measure_if_seen()
        self._show()

    @Slot()
    def _measure_if_seen(self) -> None:
        wanted = self._sight.seen and any(switch.isChecked() for switch in self.switches.values())
        if self._player is not None and wanted is not self._measuring:
            self._measuring = wanted
            self._player.measure(wanted)

    # Qt -----------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Put the instruments one below the other in a column, or side by side in a row."""
        super().resizeEvent(event)
        column = self.height() > self.width()
        directions = QBoxLayout.Direction
        self._row.setDirection(directions.TopToBottom if column else directions.LeftToRight)
