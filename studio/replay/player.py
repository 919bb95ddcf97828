"""The state of the replay, and the one way to change it."""

import logging
from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QObject, QSize, Signal, Slot

from studio.replay.renderer import protocol
from studio.replay.renderer_client import ReceivedFrame, RendererClient

log = logging.getLogger(__name__)

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_FLUENT, _SPARING = 60.0, 30.0
"""Pictures a second at most: as a rule, and while a run is training."""
_UNHARMED = "Training is not affected."


class PlayerState(StrEnum):
    """What the replay is doing."""

    EMPTY = "empty"
    LOADING = "loading"
    PAUSED = "paused"
    PLAYING = "playing"
    CRASHED = "crashed"


class Player(QObject):
    """Plays saved agents in a process of its own, started when it is first needed.

    All calls return at once; what comes of them is told by signals.
    """

    frame_ready = Signal(object)
    """A :class:`~studio.replay.renderer_client.Picture`."""
    loaded = Signal(object)
    """A :class:`~studio.replay.renderer.protocol.Loaded`; its first picture follows."""
    refused = Signal(str)
    crashed = Signal(str)
    state_changed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state = PlayerState.EMPTY
        self._path: Path | None = None
        self._seed = 0
        self._speed = 1.0
        self._rate = protocol.Rate(most=_FLUENT)
        self._box: protocol.Fit | None = None
        self._playing = False
        self._ticket = 0
        self._load_ticket = 0
        self._link: RendererClient | None = None
        self._cause = ""

    @property
    def state(self) -> PlayerState:
        """What the replay is doing."""
        return self._state

    @property
    def path(self) -> Path | None:
        """The checkpoint on stage, or the one being loaded."""
        return self._path

    @property
    def seed(self) -> int:
        """The seed of the episodes."""
        return self._seed

    @property
    def speed(self) -> float:
        """Times the environment's own pace."""
        return self._speed

    @property
    def playing(self) -> bool:
        """True if it plays, or will as soon as the agent is loaded."""
        return self._playing

    @property
    def pid(self) -> int | None:
        """Process number of the renderer, if there is one."""
        return self._link.process.pid if self._link else None

    def load(self, path: Path, *, at_episode_end: bool = False) -> None:
        """Show another agent, now or when the episode under way is over; playing goes on."""
        path = path.absolute()
        deferred = at_episode_end and self._state in (PlayerState.PAUSED, PlayerState.PLAYING)
        self._ticket += 1
        if not deferred:
            self._path, self._load_ticket = path, self._ticket
        if not self._connected():
            return
        if not deferred:
            self._enter(PlayerState.LOADING)
        self._send(
            protocol.Load(
                ticket=self._ticket,
                path=path,
                seed=self._seed,
                playing=self._playing,
                at_episode_end=deferred,
            )
        )

    def play(self) -> None:
        """Go on by the clock."""
        if self._state is PlayerState.CRASHED:
            self.restart()
        if self._state in (PlayerState.EMPTY, PlayerState.CRASHED):
            return
        self._set_playing(True)
        self._send(protocol.Play())

    def pause(self) -> None:
        """Stand still."""
        self._set_playing(False)
        self._send(protocol.Pause())

    def step(self) -> None:
        """Stand still, but for one step with one picture."""
        self._set_playing(False)
        self._send(protocol.Step())

    def start_over(self, seed: int) -> None:
        """Begin again with the first episode of ``seed``; later loads use this seed too."""
        self._seed = seed
        self._send(protocol.Restart(seed=seed))

    def set_speed(self, factor: float) -> None:
        """Play ``factor`` times as fast as the environment's own pace."""
        if not SPEEDS[0] <= factor <= SPEEDS[-1]:
            raise ValueError(f"speed {factor} is outside {SPEEDS[0]} to {SPEEDS[-1]}")
        self._speed = factor
        self._send(protocol.Speed(factor=factor))

    @Slot(QSize)
    def fit(self, size: QSize) -> None:
        """Have pictures drawn as large as they fit into so many pixels, in their own shape."""
        self._box = protocol.Fit(width=size.width(), height=size.height())
        self._send(self._box)

    def spare(self, sparing: bool) -> None:
        """Draw fewer pictures a second, for the sake of what else the machine has to do."""
        self._rate = protocol.Rate(most=_SPARING if sparing else _FLUENT)
        self._send(self._rate)

    def restart(self) -> None:
        """After a crash, bring the renderer back with the agent it showed."""
        if self._state is PlayerState.CRASHED and self._path is not None:
            self.load(self._path)

    @Slot()
    def close(self) -> None:
        """End process and thread and free the shared memory; a later load starts them anew."""
        if self._link is not None:
            link, self._link = self._link, None
            link.close()
        self._playing = False
        self._enter(PlayerState.EMPTY)

    def _connected(self) -> bool:
        """Start the renderer if there is none; False if that fails."""
        if self._link is not None:
            return True
        try:
            link = RendererClient()
        except OSError as problem:
            self._fail(f"The renderer could not be started ({problem.strerror}).")
            return False
        link.reader.replied.connect(self._on_reply)
        link.reader.lost.connect(self._on_lost)
        link.reader.start()
        self._link = link
        self._send(protocol.Speed(factor=self._speed))
        self._send(self._rate)
        if self._box is not None:
            self._send(self._box)
        return True

    def _send(self, command: protocol.Command) -> None:
        if self._link is not None:
            self._link.send(command)

    @Slot(object, object)
    def _on_reply(self, reader: object, reply: object) -> None:
        if self._link is None or reader is not self._link.reader:
            return  # Still queued from a renderer that was closed.
        match reply:
            case ReceivedFrame(picture=picture, slot=slot):
                # Only now: at most a ring full of pictures can wait for a busy window.
                self._send(protocol.ReleaseSlot(slot=slot))
                self.frame_ready.emit(picture)
            case protocol.Loaded() if reply.ticket >= self._load_ticket:
                self._path = reply.path
                self._enter(PlayerState.PLAYING if self._playing else PlayerState.PAUSED)
                self.loaded.emit(reply)
            case protocol.Refused() if reply.ticket >= self._load_ticket:
                self._playing = False
                self._enter(PlayerState.EMPTY)
                self.refused.emit(reply.message)
            case protocol.Crashed():
                log.error("the renderer failed\n%s", reply.details)
                self._cause = f"The renderer stopped: {reply.message.rstrip('.')}."

    @Slot(object)
    def _on_lost(self, reader: object) -> None:
        if self._link is None or reader is not self._link.reader:
            return
        link, self._link = self._link, None
        link.close()
        cause, self._cause = self._cause, ""
        self._fail(cause or f"The renderer stopped ({_manner(link.exit_code)}).")

    def _fail(self, message: str) -> None:
        self._playing = False
        self._enter(PlayerState.CRASHED)
        self.crashed.emit(f"{message} {_UNHARMED}")

    def _set_playing(self, playing: bool) -> None:
        self._playing = playing
        if self._state in (PlayerState.PAUSED, PlayerState.PLAYING):
            self._enter(PlayerState.PLAYING if playing else PlayerState.PAUSED)

    def _enter(self, state: PlayerState) -> None:
        if state is not self._state:
            self._state = state
            self.state_changed.emit(state.value)


def _manner(exit_code: int | None) -> str:
    """Say how a process ended."""
    if exit_code is not None and exit_code < 0:
        return f"signal {-exit_code}"
    return f"exit status {exit_code}"
