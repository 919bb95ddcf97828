"""The messages between window and renderer, sent through a pipe.

Named tuples, because two are sent with every picture and pickling a dataclass takes ten times as
long, during which the training waits for the interpreter.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Floats
from td3core.config.consent import NO_CONSENT, Consent, LocatedModule
from td3core.evaluation.entrants import Entrant, Lane
from td3core.evaluation.rollout import RolloutStep


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
    consent: Consent = NO_CONSENT
    """The code that the user has allowed in this window, besides what is remembered."""
    entrants: tuple[Entrant, ...] = ()
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
    """Send the picture on show in the environment's own size."""


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


class AgentFacts(NamedTuple):
    """What is needed to read the numbers of an agent's steps."""

    obs_dim: int
    action_low: tuple[float, ...]
    """The environment's bounds, (act_dim,) like ``action_high``."""
    action_high: tuple[float, ...]
    gamma: float
    """The discount of the checkpoint."""
    reward_scale: float
    reward_floor: float
    """The agent learns from max(reward_scale × reward, reward_floor)."""
    critics: int
    """Number of critics in the file: 0, 1 or 2."""


class StepData(NamedTuple):
    """The numbers of one step: what was seen, what was done about it, and what that earned.

    A picture of the same step shows the state that the action led to.
    """

    step: int
    """Number of the step, from 1."""
    reward: float
    """The environment's own reward."""
    total: float
    """Return of the episode so far, this reward included."""
    min_q: float
    """min(Q₁, Q₂)(obs, action); NaN if the agent has no critic."""
    action: Floats
    """Shape (act_dim,), in [-1, 1]."""
    obs: Floats
    """The observation that the action answers, (obs_dim,), as the environment returned it."""


class Steps(NamedTuple):
    """The numbers of several consecutive steps, as in :class:`StepData`; one row for each."""

    take: int
    """The episode's, see :class:`Frame`."""
    first: int
    """Number of the first step."""
    reward: NDArray[np.float64]
    total: NDArray[np.float64]
    min_q: Floats
    action: Floats
    """Shape (n, act_dim)."""
    obs: Floats
    """Shape (n, obs_dim)."""


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
    facts: AgentFacts
    run: str = ""
    """What its run is called among those of its environment; empty if it belongs to none."""
    changed_ns: int = 0
    """When the file was written: another agent may have taken its path since."""
    no_picture: str = ""
    """Why there are no pictures but numbers only."""
    lanes: tuple[Lane, ...] = ()
    """Those that are compared; the fields above are the first one's."""
    cameras: tuple[str, ...] = ()
    """What can be chosen; nothing for a simulator with a view of its own."""
    camera: str = ""
    """The one in use."""


class Frame(NamedTuple):
    """A picture is in a slot, with these numbers."""

    slot: int
    """-1 if the environment cannot render; then there are numbers only."""
    width: int
    height: int
    episode: int
    """Counted from 0, as in an evaluation with the same seed."""
    moment: RolloutStep
    take: int = 0
    """Increases with every episode that begins, also if it is the same one again."""
    latest: int = 0
    """The last step that the episode has reached; this one may be before it."""
    complete: bool = False
    """True if the episode is over at ``latest``."""
    data: StepData | None = None
    """Only while the steps are measured. None before the first step."""
    lanes: tuple[RolloutStep, ...] = ()
    """Where each of the compared agents is; their pictures stand next to each other."""


class Pushed(NamedTuple):
    """The agents that are pushed at all are pushed at these steps, counted from 1."""

    steps: tuple[int, ...]


class Captured(NamedTuple):
    """The picture that was asked for: ``height`` rows of ``width`` RGB pixels."""

    width: int
    height: int
    pixels: bytes
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


Reply = Block | Loaded | Frame | Captured | Pushed | Steps | Swept | Refused | Crashed
