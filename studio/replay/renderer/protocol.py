"""The messages between window and renderer, sent through a pipe as lines of JSON.

Messages are named tuples, which are sent without field names: two go with every picture.
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
    """The code that the window's process may import by now; permanently allowed code is added."""
    compared: tuple[ComparedAgent, ...] = ()
    """The compared agents, ``path`` first; empty for a single agent."""


class Play(NamedTuple):
    """Play in real time, episode after episode."""


class Pause(NamedTuple):
    """Pause after the current step."""


class Step(NamedTuple):
    """Pause, then show the next step, or the previous one that was drawn."""

    back: bool = False


class Seek(NamedTuple):
    """Show a step of the current episode: the last drawn one up to ``step``."""

    step: int


class Loop(NamedTuple):
    """Repeat the same episode at its end, or play the next one."""

    on: bool


class Restart(NamedTuple):
    """Restart with the first episode of a seed."""

    seed: int


class Speed(NamedTuple):
    """Play this many times as fast as the environment's own speed; infinity: without waiting."""

    factor: float


class Rate(NamedTuple):
    """Limit the pictures per second; the speed of the steps does not change."""

    most: float


class Fit(NamedTuple):
    """Draw pictures as large as fits into this size, keeping their aspect ratio."""

    width: int
    height: int


TRACKING, FREE = "Tracking", "Free"
"""Cameras that every MuJoCo environment has, besides those of its model."""


class Look(NamedTuple):
    """Draw with another camera, or reset the one in use."""

    camera: str | None = None


class MoveCamera(NamedTuple):
    """Move the camera; ``x`` and ``y`` are fractions of the picture's height.

    For ``zoom``, ``y`` is a fraction of the distance to the target.
    """

    action: str
    """``turn``, ``shift`` or ``zoom``."""
    x: float
    y: float


class Push(NamedTuple):
    """Push those agents of a comparison that can be pushed, from the next step on."""


class ReleaseSlot(NamedTuple):
    """The picture in this slot has been shown; the slot can be reused."""

    slot: int


class Measure(NamedTuple):
    """Send the numbers of every step from now on, starting with the current episode's; or stop."""

    on: bool


class Sweep(NamedTuple):
    """Compute the critics' values over a sweep of one dimension of an action."""

    ticket: int
    """Increases with every sweep; the answer repeats it."""
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
    """The critics' values at each of them, (critics, n)."""


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
    """Mean return of the evaluation in the checkpoint, if any."""
    spec: AgentSpec
    run: str = ""
    """Name of its run within its environment; empty if it belongs to none."""
    changed_ns: int = 0
    """Modification time of the file: another agent may have taken its path since."""
    no_picture: str = ""
    """Why there are only numbers and no pictures."""
    agents: tuple[AgentFacts, ...] = ()
    """The compared agents; the fields above are those of the first."""
    cameras: tuple[str, ...] = ()
    """Available cameras; empty for a simulator with its own view."""
    camera: str = ""
    """The camera in use."""


class Frame(NamedTuple):
    """A step of the current episode: its numbers, and in the window its pictures."""

    episode: int
    """Counted from 0, as in an evaluation with the same seed."""
    step: RolloutStep
    """The agent's step, or the common step of compared agents."""
    playback_id: int = 0
    """Increases with every episode that begins, including repetitions."""
    latest: int = 0
    """The latest step of the episode; this frame may be earlier."""
    complete: bool = False
    """True if the episode is over at ``latest``."""
    data: StepData | None = None
    """Only while steps are measured. None before the first step."""
    steps: tuple[RolloutStep, ...] = ()
    """The step of each compared agent."""
    images: tuple[Any, ...] = ()
    """The picture of each agent, a ``QImage`` that owns its pixels; empty if the environment cannot
    render, and on the way to the window, when they are in a slot."""


class Drawn(NamedTuple):
    """The pictures of a frame are in a slot, side by side."""

    slot: int
    width: int
    """Total width."""
    height: int
    frame: Frame


class Undrawn(NamedTuple):
    """A step could not be drawn, the first of the loaded agent: its last picture stays."""

    message: str


class Pushed(NamedTuple):
    """The steps, counted from 1, at which agents are pushed, if they can be."""

    steps: tuple[int, ...]


class Captured(NamedTuple):
    """The requested picture."""

    pixels: NDArray[np.uint8]
    """Shape (height, width, 3)."""
    frame: Frame
    """Its numbers."""


class Refused(NamedTuple):
    """The agent cannot be shown; no agent is loaded now. ``message`` is the reason."""

    ticket: int
    message: str
    needs: LocatedModule | None = None
    """The code that needs the user's consent."""


class Crashed(NamedTuple):
    """An unexpected error occurred, and the renderer ends."""

    message: str
    details: str


Reply = (
    Block | Loaded | Frame | Drawn | Undrawn | Captured | Pushed | Steps | Swept | Refused | Crashed
)

CODEC = Codec(*get_args(Command), *get_args(Reply))
