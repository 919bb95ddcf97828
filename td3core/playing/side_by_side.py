"""Several agents in the same episode, in lockstep."""

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from td3core.playing.disturbance import Pushes
from td3core.playing.numbers import EpisodeLog
from td3core.playing.playback import Agent, Playback
from td3core.playing.step import RolloutStep


class SideBySide:
    """Episodes from the same first state, of one agent or of several.

    A common step is one of the first agent. An agent that decides more or less often takes as many
    in the same simulated time. Ended episodes wait for the others.

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
        self._pace = [playback.fps / self.fps for playback in self.playbacks]
        self.step = self._together(0)
        """The common step, over once all episodes are; reward and return are the first agent's."""

    @property
    def fps(self) -> float:
        """Common steps per second at the environment's own speed."""
        return self.playbacks[0].fps

    @property
    def steps(self) -> tuple[RolloutStep, ...]:
        """The current step of each."""
        return tuple(playback.step for playback in self.playbacks)

    def advance(self) -> list[int]:
        """Take the common step in each episode that is not over; return the indices of these."""
        if len(self.playbacks) == 1:
            self.step = self.playbacks[0].advance()
            return [0]
        number = self.step.number + 1
        moved = [at for at in range(len(self.playbacks)) if self._catch_up(at, number)]
        self.step = self._together(number)
        return moved

    def _catch_up(self, at: int, number: int) -> bool:
        """Step an agent up to the simulated time of a common step; return whether it moved."""
        playback, before = self.playbacks[at], self.playbacks[at].step
        # Thirds are rounded.
        own = math.ceil(number * self._pace[at] - 1e-9)
        while playback.step.number < own and not playback.step.over:
            playback.advance()
        return playback.step is not before

    def close(self) -> None:
        """Close the environments."""
        for playback in self.playbacks:
            playback.close()

    def _together(self, number: int) -> RolloutStep:
        first, *others = self.steps
        if not others:
            return first
        over = all(step.over for step in self.steps)
        ended = over and all(step.terminated for step in self.steps)
        return RolloutStep(number, first.reward, first.total, ended, over and not ended)
