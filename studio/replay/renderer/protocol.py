"""The messages between window and renderer, sent through a pipe as lines of JSON.

Named tuples: two are sent with every picture, and their lines hold no names.
"""

from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Floats
from td3core.playing.compared import AgentFacts, ComparedAgent
from td3core.playing.numbers import AgentSpec, StepData, Steps
from td3core.playing.step import RolloutStep
from td3core.system.allowed_code import Entry, LocatedModule
from td3core.system.json_lines import Codec


class Load(NamedTuple):
    """Load another agent, or several to compare, and show the first episode."""

    ticket: int
    """Increases with every load; a newer load replaces one that has not started."""
    path: Path
    seed: int
    playing: bool
    """Whether to play at once. Ignored if ``at_episode_end``."""
    at_episode_end: bool = False
    """Finish the current episode first."""
    allowed: frozenset[Entry] = frozenset()
    """The code that the window's process may import by now; more is remembered."""
    compared: tuple[ComparedAgent, ...] = ()
    """Those that are compared, ``path`` first; empty for one agent alone."""


class Play(NamedTuple):
    """Play in real time, episode after episode."""


class Pause(NamedTuple):
    """Pause after the current step."""


class Step(NamedTuple):
    """Pause, then show the next step, or the one before that was drawn."""

    back: bool = False


class Seek(NamedTuple):
    """Show a step of the current episode: the last one up to ``step`` that was drawn."""

    step: int


class Loop(NamedTuple):
    """Play the same episode again at its end, or the next one."""

    on: bool


class Restart(NamedTuple):
    """Restart with the first episode of a seed."""

    seed: int


class Speed(NamedTuple):
    """Play this many times as fast as the environment's own speed; infinity: without waiting."""

    factor: float


class Rate(NamedTuple):
    """Limit the pictures per second; the speed of the steps stays."""

    most: float


class Fit(NamedTuple):
    """Draw pictures as large as fits into this size, in their own aspect ratio."""

    width: int
    height: int


TRACKING, FREE = "Tracking", "Free"
"""Cameras that every MuJoCo environment has, besides those of its model."""


class Look(NamedTuple):
    """Draw with another camera, or undo how the one in use was moved."""

    camera: str | None = None


class MoveCamera(NamedTuple):
    """Move the camera; ``x`` and ``y`` are shares of the height of the picture."""

    action: str
    """``turn``, ``shift`` or ``zoom``."""
    x: float
    y: float


class Push(NamedTuple):
    """Push the agents of a comparison that are pushed at all, from the next step on."""


class ReleaseSlot(NamedTuple):
    """The picture in this slot has been shown; the slot can be reused."""

    slot: int


class Measure(NamedTuple):
    """Send the numbers of every step from now on, first those of the current episode; or stop."""

    on: bool


class Sweep(NamedTuple):
    """Compute the critics' values over a sweep of one dimension of an action."""

    ticket: int
    """Increases with every sweep; the answer carries it."""
    obs: Floats
    """Shape (obs_dim,)."""
    action: Floats
    """Shape (act_dim,), in [-1, 1]."""
    dimension: int


class Capture(NamedTuple):
    """Send the displayed picture in the environment's own size."""


class Quit(NamedTuple):
    """End the process."""


Command = (
    Load
    | Play
    | Pause
    | Step
    | Seek
    | Loop
    | Restart
    | Speed
    | Rate
    | Fit
    | Look
    | MoveCamera
    | Push
    | ReleaseSlot
    | Measure
    | Sweep
    | Capture
    | Quit
)


class Swept(NamedTuple):
    """The answer to :class:`Sweep`."""

    ticket: int
    dimension: int
    action: Floats
    """Values of that dimension, (n,), from -1 to 1."""
    values: Floats
    """The critics' values of each, (critics, n)."""


class Block(NamedTuple):
    """From now on pictures are in the shared memory of this name."""

    name: str


class Loaded(NamedTuple):
    """An agent is loaded; its first picture follows."""

    ticket: int
    path: Path
    env_id: str
    env_steps: int
    mean_return: float | None
    """Of the evaluation stored in the checkpoint, if there is one."""
    spec: AgentSpec
    run: str = ""
    """What its run is called among those of its environment; empty if it belongs to none."""
    changed_ns: int = 0
    """When the file was written: another agent may have taken its path since."""
    no_picture: str = ""
    """Why there are no pictures but numbers only."""
    agents: tuple[AgentFacts, ...] = ()
    """Those that are compared; the fields above are the first one's."""
    cameras: tuple[str, ...] = ()
    """What can be chosen; nothing for a simulator with a view of its own."""
    camera: str = ""
    """The one in use."""


class Frame(NamedTuple):
    """A step of the current episode: its numbers, and in the window its pictures."""

    episode: int
    """Counted from 0, as in an evaluation with the same seed."""
    step: RolloutStep
    """Where the agent is, or where those that are compared are together."""
    playback_id: int = 0
    """Increases with every episode that begins, also if it is the same one again."""
    latest: int = 0
    """The last step that the episode has reached; this one may be before it."""
    complete: bool = False
    """True if the episode is over at ``latest``."""
    data: StepData | None = None
    """Only while the steps are measured. None before the first step."""
    steps: tuple[RolloutStep, ...] = ()
    """Where each of the compared agents is."""
    images: tuple[Any, ...] = ()
    """The picture of each agent, a ``QImage`` that owns its pixels; none where the environment
    cannot render, and none on the way to the window: there they are in a slot."""


class Drawn(NamedTuple):
    """The pictures of a frame are in a slot, next to each other."""

    slot: int
    width: int
    """Of all of them."""
    height: int
    frame: Frame


class Pushed(NamedTuple):
    """The agents that are pushed at all are pushed at these steps, counted from 1."""

    steps: tuple[int, ...]


class Captured(NamedTuple):
    """The picture that was asked for."""

    pixels: NDArray[np.uint8]
    """Shape (height, width, 3)."""
    frame: Frame
    """Its numbers."""


class Refused(NamedTuple):
    """The agent cannot be shown; no agent is loaded now. ``message`` is the reason."""

    ticket: int
    message: str
    needs: LocatedModule | None = None
    """The code that the user would have to allow."""


class Crashed(NamedTuple):
    """An unexpected error occurred, and the renderer ends."""

    message: str
    details: str


Reply = Block | Loaded | Frame | Drawn | Captured | Pushed | Steps | Swept | Refused | Crashed

CODEC = Codec(*get_args(Command), *get_args(Reply))
