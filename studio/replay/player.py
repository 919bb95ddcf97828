"""The state of the replay, and the only way to change it."""

import logging
import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QObject, QSize, Signal, Slot

from studio.replay.renderer import protocol
from studio.replay.renderer_client import RendererClient, image_of
from studio.replay.watchdog import Watchdog
from studio.widgets.sight import Shown
from td3core.errors import file_reason, quoted
from td3core.playing.compared import ComparedAgent
from td3core.playing.numbers import Steps
from td3core.system import allowed_code
from td3core.text import NO_TEXT, Text

log = logging.getLogger(__name__)

UNPACED = math.inf
"""Speed without pacing: the next step is taken as soon as possible."""
SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, UNPACED)
_FULL_RATE, _REDUCED_RATE = 60.0, 30.0
"""Maximum number of pictures per second: normally, and while a run is training."""


class PlayerState(StrEnum):
    """State of the replay."""

    EMPTY = "empty"
    LOADING = "loading"
    PAUSED = "paused"
    PLAYING = "playing"
    CRASHED = "crashed"


class Player(QObject):
    """Plays saved agents in a separate process, which starts on first use.

    All calls return immediately; signals report the results.
    """

    frame_ready = Signal(object)
    """Carries a :class:`~studio.replay.renderer.protocol.Frame`, a new or an earlier one."""
    loaded = Signal(object)
    """Carries a :class:`~studio.replay.renderer.protocol.Loaded`; its first picture follows."""
    undrawn = Signal(object)
    """Why a step of the agent has no picture of its own, a ``Text``; once per agent."""
    refused = Signal(object)
    code_refused = Signal(object)
    """After ``refused``: the code that needs consent
    (:class:`~td3core.system.allowed_code.LocatedModule`)."""
    steps_measured = Signal(object)
    """Carries :class:`~td3core.playing.numbers.Steps` whose pictures were not drawn or were shown
    earlier; the numbers of other steps come with their pictures."""
    swept = Signal(object)
    """Carries :class:`~studio.replay.renderer.protocol.Swept`."""
    crashed = Signal(object)
    silent = Signal(object)
    """The renderer does not answer, perhaps temporarily; carries a sentence, empty once it answers.
    """
    captured = Signal(object, object)
    """Carries the ``QImage`` requested with :meth:`capture`, and its ``Frame``."""
    state_changed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state = PlayerState.EMPTY
        self._path: Path | None = None
        self._compared: tuple[ComparedAgent, ...] = ()
        self.pushes: tuple[int, ...] = ()
        """Steps at which agents of the comparison are pushed, if the user has pushed them."""
        self._agent: protocol.Loaded | None = None
        self.frame: protocol.Frame | None = None
        """The displayed frame, if it belongs to this agent."""
        self._seed, self._speed = 0, 1.0
        self._rate = protocol.Rate(most=_FULL_RATE)
        self._box: protocol.Fit | None = None
        self._measuring, self._camera = False, protocol.Look()
        self._shown, self._held = Shown.SEEN, False
        self._playing = self._loops = self._touched = False
        self._ticket = self._load_ticket = 0
        self._client: RendererClient | None = None
        self._variables: Mapping[str, str] = {}
        self._cause: Text | None = None
        self._watchdog = Watchdog(self)
        self._watchdog.silent.connect(lambda why: self.silent.emit(_while_training(why)))
        self._watchdog.answering.connect(lambda: self.silent.emit(NO_TEXT))

    @property
    def state(self) -> PlayerState:
        """State of the replay."""
        return self._state

    @property
    def path(self) -> Path | None:
        """The checkpoint that is loaded or being loaded."""
        return self._path

    @property
    def agent(self) -> protocol.Loaded | None:
        """The agent whose pictures are shown."""
        return self._agent

    @property
    def compared(self) -> tuple[ComparedAgent, ...]:
        """The compared agents, loaded or being loaded; empty for a single one."""
        return self._compared

    @property
    def seed(self) -> int:
        """The seed of the episodes."""
        return self._seed

    @property
    def speed(self) -> float:
        """Speed relative to the environment's own."""
        return self._speed

    @property
    def playing(self) -> bool:
        """True if an agent plays, or will play once loaded."""
        return self._playing

    @property
    def held(self) -> bool:
        """True while playback waits for the picture to become visible."""
        return self._held

    @property
    def idle(self) -> bool:
        """True without an agent, or with one that the user has not chosen, played or paused."""
        return self._state is PlayerState.EMPTY or not self._touched

    @property
    def pid(self) -> int | None:
        """Process id of the renderer, if it runs."""
        return self._client.pid if self._client else None

    def load(self, path: Path, *, at_episode_end: bool = False, chosen: bool = True) -> None:
        """Load another agent, now or at the end of the current episode; playing continues.

        ``chosen``: the user asked for this agent.
        """
        self._touched = self._touched or chosen
        self._load(path.absolute(), (), at_episode_end=at_episode_end)

    def compare(self, compared: Sequence[ComparedAgent]) -> None:
        """Load several agents of one environment, which play the same episodes in step."""
        chosen = tuple(each._replace(path=each.path.absolute()) for each in compared)
        self._touched = True
        self._load(chosen[0].path, chosen)

    def _load(
        self, path: Path, compared: tuple[ComparedAgent, ...], *, at_episode_end: bool = False
    ) -> None:
        deferred = at_episode_end and self._state in (PlayerState.PAUSED, PlayerState.PLAYING)
        self._ticket += 1
        if not deferred and not self.answers:
            self._drop_renderer()
        if not deferred:
            self._path, self._load_ticket = path, self._ticket
            self._compared = compared
        if not self._ensure_renderer():
            return
        if not deferred:
            self._set_state(PlayerState.LOADING)
        self._send(
            protocol.Load(
                ticket=self._ticket,
                path=path,
                seed=self._seed,
                playing=self._playing and not self._held,
                at_episode_end=deferred,
                allowed=allowed_code.snapshot(),
                compared=compared,
            )
        )

    def play(self) -> None:
        """Play in real time."""
        if self._state is PlayerState.CRASHED:
            self.restart()
        if self._state in (PlayerState.EMPTY, PlayerState.CRASHED):
            return
        self._set_playing(True)
        if not self._held:
            self._send(protocol.Play())

    def pause(self) -> None:
        """Pause."""
        self._set_playing(False)
        self._send(protocol.Pause())

    def step(self) -> None:
        """Pause and take one step."""
        self._set_playing(False)
        self._send(protocol.Step())

    def step_back(self) -> None:
        """Pause and show the previous step that was drawn."""
        self._set_playing(False)
        self._send(protocol.Step(back=True))

    def seek(self, step: int) -> None:
        """Show a step of the current episode; playing continues from there."""
        self._touched = True
        self._send(protocol.Seek(step=step))

    def set_loop(self, on: bool) -> None:
        """Repeat the same episode, or play one after the other."""
        self._loops = on
        self._send(protocol.Loop(on=on))

    def push(self) -> None:
        """Push the agents of a comparison that can be pushed, now and in each repetition."""
        self._send(protocol.Push())

    def start_over(self, seed: int) -> None:
        """Restart with the first episode of ``seed``, which later loads use too."""
        self._seed = seed
        self._send(protocol.Restart(seed=seed))

    def set_speed(self, factor: float) -> None:
        """Set the speed to ``factor`` times the environment's own, or :data:`UNPACED`."""
        if not SPEEDS[0] <= factor <= SPEEDS[-1]:
            raise ValueError(f"speed {factor} is outside {SPEEDS[0]} to {SPEEDS[-1]}")
        self._speed = factor
        self._send(protocol.Speed(factor=factor))

    @Slot(QSize)
    def fit(self, size: QSize) -> None:
        """Draw pictures as large as fits into ``size`` pixels, keeping their aspect ratio."""
        self._box = protocol.Fit(width=size.width(), height=size.height())
        self._send(self._box)

    def look(self, camera: str | None = None) -> None:
        """Draw with another camera; None resets the one in use."""
        self._camera = protocol.Look(self._camera.camera if camera is None else camera)
        self._send(self._camera)

    def move_camera(self, action: str, x: float, y: float) -> None:
        """Move the camera; see :class:`~studio.replay.renderer.protocol.MoveCamera`."""
        self._send(protocol.MoveCamera(action, x, y))

    def capture(self) -> None:
        """Request the displayed picture in the environment's own size."""
        self._send(protocol.Capture())

    def reduce_rate(self, reduced: bool) -> None:
        """Draw fewer pictures per second, to leave CPU time to a training run."""
        self.limit_rate(_REDUCED_RATE if reduced else _FULL_RATE)

    def limit_rate(self, most: float) -> None:
        """Draw at most this many pictures per second."""
        self._rate = protocol.Rate(most=most)
        self._send(self._rate)

    def measure(self, on: bool) -> None:
        """Compute and emit the numbers of every step, or stop doing so."""
        self._measuring = on
        self._send(protocol.Measure(on=on))
        self._hold_or_go_on()

    def set_shown(self, shown: Shown) -> None:
        """Pause playback while the picture is not visible, and resume it afterwards.

        Behind another panel, playback continues if the numbers of its steps are measured.
        """
        self._shown = shown
        self._hold_or_go_on()

    def _hold_or_go_on(self) -> None:
        for_numbers = self._measuring and self._shown is Shown.BEHIND
        held = self._shown is not Shown.SEEN and not for_numbers
        if held is self._held:
            return
        self._held = held
        if self._playing:
            self._send(protocol.Pause() if held else protocol.Play())

    def sweep(self, wanted: protocol.Sweep) -> None:
        """Request the critics' values over a sweep of one dimension of an action."""
        self._send(wanted)

    def restart(self) -> None:
        """Restart the renderer after a crash or while it is silent, with the same agent."""
        over = self._state is PlayerState.CRASHED or not self.answers
        if over and self._path is not None:
            self._load(self._path, self._compared)

    @property
    def variables(self) -> Mapping[str, str]:
        """Additional environment variables for drawing processes."""
        return self._variables

    def set_variables(self, variables: Mapping[str, str]) -> None:
        """Draw with these environment variables from now on, which requires a new renderer."""
        if variables == self._variables:
            return
        self._variables = variables
        playing = self._playing
        if self._client is not None:
            self._drop_renderer()
            if self._path is not None and self._state is not PlayerState.EMPTY:
                self._load(self._path, self._compared)
                if playing:
                    self.play()

    def _drop_renderer(self) -> None:
        """Kill a renderer that must be replaced: a silent one would ignore a request to quit."""
        self._watchdog.watch(None)
        if self._client is not None:
            client, self._client = self._client, None
            client.stop(kill=True)
        # Start paused: the same agent would get stuck at the same step again.
        self._playing = False
        self.silent.emit(NO_TEXT)

    @Slot()
    def close(self) -> None:
        """End process and thread, free the shared memory; a later load starts them again."""
        self._watchdog.watch(None)
        if self._client is not None:
            client, self._client = self._client, None
            client.stop()
        self._playing = False
        self._set_state(PlayerState.EMPTY)

    @property
    def answers(self) -> bool:
        """False while the renderer, or its environment, does not answer."""
        return not self._watchdog.problem

    def _ensure_renderer(self) -> bool:
        """Start the renderer unless it is running; return False if that fails."""
        if self._client is not None:
            return True
        try:
            client = RendererClient(self._variables)
        except OSError as problem:
            reason = file_reason(problem)
            self._fail(Text("The renderer could not be started ({reason}).", reason=reason))
            return False
        client.reader.replied.connect(self._on_reply)
        client.reader.lost.connect(self._on_lost)
        client.reader.start()
        self._watchdog.watch(client.signs)
        self._client = client
        self._send(protocol.Speed(factor=self._speed))
        self._send(protocol.Loop(on=self._loops))
        for command in (self._rate, self._camera):
            self._send(command)
        if self._measuring:
            self._send(protocol.Measure(on=True))
        if self._box is not None:
            self._send(self._box)
        return True

    def _send(self, command: protocol.Command) -> None:
        if self._client is not None:
            self._client.send(command)

    @Slot(object, object)
    def _on_reply(self, reader: object, reply: object) -> None:
        if self._client is None or reader is not self._client.reader:
            return  # From a renderer that has been closed since.
        match reply:
            case protocol.Drawn(slot=slot, frame=frame):
                # Released only here, so that at most one ring of pictures waits for a busy window.
                self._send(protocol.ReleaseSlot(slot=slot))
                self._show(frame)
            case protocol.Frame():
                self._show(reply)
            case protocol.Loaded() if reply.ticket >= self._load_ticket:
                self._path, self._agent, self.frame = reply.path, reply, None
                self._compared, self.pushes = tuple(facts.agent for facts in reply.agents), ()
                self._set_state(PlayerState.PLAYING if self._playing else PlayerState.PAUSED)
                self.loaded.emit(reply)
            case protocol.Refused() if reply.ticket >= self._load_ticket:
                self._playing = False
                self._set_state(PlayerState.EMPTY)
                self.refused.emit(quoted(reply.message))
                if reply.needs is not None:
                    self.code_refused.emit(reply.needs)
            case protocol.Crashed():
                log.error("the renderer failed\n%s", reply.details)
                reason = reply.message.rstrip(".")
                self._cause = Text("The renderer stopped: {reason}.", reason=reason)
            case _:
                self._on_answer(reply)

    def _on_answer(self, reply: object) -> None:
        match reply:
            case Steps():
                self.steps_measured.emit(reply)
            case protocol.Swept():
                self.swept.emit(reply)
            case protocol.Undrawn(message=message):
                self.undrawn.emit(quoted(message))
            case protocol.Pushed(steps=steps):
                self.pushes = steps
            case protocol.Captured():
                self.captured.emit(image_of(reply), reply.frame)

    def _show(self, frame: protocol.Frame) -> None:
        self.frame = frame
        self.frame_ready.emit(frame)

    @Slot(object)
    def _on_lost(self, reader: object) -> None:
        if self._client is None or reader is not self._client.reader:
            return
        self._watchdog.watch(None)
        client, self._client = self._client, None
        client.stop()
        stopped = Text("The renderer stopped ({ending}).", ending=client.ending)
        self._fail(self._cause or stopped)

    def _fail(self, message: Text) -> None:
        self._playing, self._cause = False, None
        self._set_state(PlayerState.CRASHED)
        self.crashed.emit(_while_training(message))

    def _set_playing(self, playing: bool) -> None:
        self._playing, self._touched = playing, True
        if self._state in (PlayerState.PAUSED, PlayerState.PLAYING):
            self._set_state(PlayerState.PLAYING if playing else PlayerState.PAUSED)

    def _set_state(self, state: PlayerState) -> None:
        if state is not self._state:
            self._state = state
            if state is PlayerState.EMPTY:
                self._agent, self.frame, self._compared = None, None, ()
            self.state_changed.emit(state.value)


def _while_training(problem: Text) -> Text:
    return Text("{problem} Training is not affected.", problem=problem)
