"""What the window and the renderer say to each other, as values that travel through a pipe."""

from dataclasses import dataclass
from pathlib import Path

from td3core.policy import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Show another agent, from its first episode on."""

    ticket: int
    """Grows with every load; a newer load replaces one that has not begun."""
    path: Path
    seed: int
    playing: bool
    """Whether to play on by the clock. Without meaning if ``at_episode_end``."""
    at_episode_end: bool = False
    """Let the episode under way be finished first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """Go on by the clock, episode after episode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Stop after the step under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Stop, then take exactly one step and show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """Begin again with the first episode of a seed."""

    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Play this many times as fast as the environment's own pace."""

    factor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSlot:
    """The picture in this slot has been shown; the slot may be written again."""

    slot: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quit:
    """End the process."""


Command = Load | Play | Pause | Step | Restart | Speed | ReleaseSlot | Quit


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Pictures from now on lie in the shared memory of this name."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """An agent is on stage; its first picture follows."""

    ticket: int
    path: Path
    env_id: str
    env_steps: int
    mean_return: float | None
    """Of the evaluation kept in the checkpoint, if it holds one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A picture lies in a slot, and these are its numbers."""

    slot: int
    width: int
    height: int
    episode: int
    """Counted from 0, as in an evaluation with the same seed."""
    moment: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The agent cannot be shown, for the reason given in one sentence; the stage is empty."""

    ticket: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Crashed:
    """Something unforeseen went wrong, and the renderer ends."""

    message: str
    details: str


Reply = Block | Loaded | Frame | Refused | Crashed
