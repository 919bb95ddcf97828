"""What the window and the renderer say to each other, as values that travel through a pipe.

Named tuples: two travel with every picture, and a dataclass takes Python ten times as long to pack
and unpack, while the training waits for the interpreter.
"""

from pathlib import Path
from typing import NamedTuple

from td3core.evaluation.rollout import RolloutStep


class Load(NamedTuple):
    """Show another agent, from its first episode on."""

    ticket: int
    """Grows with every load; a newer load replaces one that has not begun."""
    path: Path
    seed: int
    playing: bool
    """Whether to play on by the clock. Without meaning if ``at_episode_end``."""
    at_episode_end: bool = False
    """Let the episode under way be finished first."""


class Play(NamedTuple):
    """Go on by the clock, episode after episode."""


class Pause(NamedTuple):
    """Stop after the step under way."""


class Step(NamedTuple):
    """Stop, then take exactly one step and show it."""


class Restart(NamedTuple):
    """Begin again with the first episode of a seed."""

    seed: int


class Speed(NamedTuple):
    """Play this many times as fast as the environment's own pace."""

    factor: float


class Rate(NamedTuple):
    """Draw at most so many pictures a second; steps keep their pace."""

    most: float


class Fit(NamedTuple):
    """Draw pictures as large as they fit into so many pixels, in their own shape."""

    width: int
    height: int


class ReleaseSlot(NamedTuple):
    """The picture in this slot has been shown; the slot may be written again."""

    slot: int


class Quit(NamedTuple):
    """End the process."""


Command = Load | Play | Pause | Step | Restart | Speed | Rate | Fit | ReleaseSlot | Quit


class Block(NamedTuple):
    """Pictures from now on lie in the shared memory of this name."""

    name: str


class Loaded(NamedTuple):
    """An agent is on stage; its first picture follows."""

    ticket: int
    path: Path
    env_id: str
    env_steps: int
    mean_return: float | None
    """Of the evaluation kept in the checkpoint, if it holds one."""


class Frame(NamedTuple):
    """A picture lies in a slot, and these are its numbers."""

    slot: int
    width: int
    height: int
    episode: int
    """Counted from 0, as in an evaluation with the same seed."""
    moment: RolloutStep


class Refused(NamedTuple):
    """The agent cannot be shown, for the reason given in one sentence; the stage is empty."""

    ticket: int
    message: str


class Crashed(NamedTuple):
    """Something unforeseen went wrong, and the renderer ends."""

    message: str
    details: str


Reply = Block | Loaded | Frame | Refused | Crashed
