"""Several agents in the same episode, in lockstep."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from td3core.playing.disturbance import Pushes
from td3core.playing.numbers import EpisodeLog
from td3core.playing.playback import Agent, Playback
from td3core.playing.step import RolloutStep


class SideBySide:
    """Episodes from the same first state, of one agent or of several.

    Ended episodes wait for the others.

    Raises:
        RequestError: an environment cannot be made.
    """

    def __init__(
        self,
        agents: Sequence[Agent],
        seed: int,
        index: int,
        *,
        render: bool = False,
        pushes: Callable[[float], Pushes] = Pushes,
        log: EpisodeLog | None = None,
    ) -> None:
        """Begin the episodes; see :class:`Playback`. ``log`` is for the first agent's."""
        self.playbacks: list[Playback] = []
        """The episode of each agent."""
        with ExitStack() as made:
            for agent in agents:
                playback = Playback(agent, seed, index, render=render, pushes=pushes, log=log)
                made.callback(playback.close)
                self.playbacks.append(playback)
                log = None
            made.pop_all()
        self.step = _together(self.steps)
        """The latest step, over once all episodes are; reward and return are the first agent's."""

    @property
    def fps(self) -> float:
        """Steps per second at the environment's own speed."""
        return self.playbacks[0].fps

    @property
    def steps(self) -> tuple[RolloutStep, ...]:
        """The current step of each."""
        return tuple(playback.step for playback in self.playbacks)

    def advance(self) -> list[int]:
        """Take one step in each episode that is not over; return the indices of these."""
        if len(self.playbacks) == 1:
            self.step = self.playbacks[0].advance()
            return [0]
        moving = [at for at, playback in enumerate(self.playbacks) if not playback.step.over]
        for at in moving:
            self.playbacks[at].advance()
        self.step = _together(self.steps)
        return moving

    def close(self) -> None:
        """Close the environments."""
        for playback in self.playbacks:
            playback.close()


def _together(steps: tuple[RolloutStep, ...]) -> RolloutStep:
    first, *others = steps
    if not others:
        return first
    over = all(step.over for step in steps)
    ended = over and all(step.terminated for step in steps)
    number = max(step.number for step in steps)
    return RolloutStep(number, first.reward, first.total, ended, over and not ended)
