"""The pictures of an episode, rendered one at a time."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from td3core.checkpoint import Checkpoint
from td3core.config.env_choice import EnvChoice
from td3core.envs.make import check_env
from td3core.envs.rendering import draw, prepare_rendering, rgb_frame
from td3core.errors import MessageError, RunError, reason_of, require_no_interrupt
from td3core.playing.disturbance import Pushes
from td3core.playing.numbers import EpisodeLog
from td3core.playing.playback import Agent
from td3core.playing.side_by_side import SideBySide
from td3core.playing.step import RolloutStep
from td3core.runs.resumption import require_same_spaces


class Shot(NamedTuple):
    """One step of an agent with its picture."""

    step: RolloutStep
    picture: NDArray[np.uint8]
    """Shape (height, width, 3)."""


class FilmedEpisode:
    """An episode of one agent, or of several in lockstep, rendered at every step."""

    def __init__(self, playing: SideBySide, choice: EnvChoice) -> None:
        self._playing, self._choice = playing, choice
        self.fps = playing.fps
        """Steps per second at the environment's own speed."""

    def __iter__(self) -> Iterator[list[Shot]]:
        """Yield one shot per agent for every step; agents that are done repeat their last."""
        pictures: dict[int, NDArray[np.uint8]] = {}
        while not self._playing.step.over:
            with naming_environment(self._choice):
                for at in self._playing.advance():
                    playback = self._playing.playbacks[at]
                    pictures[at] = rgb_frame(
                        draw(playback.env), self._choice.env_id, playback.step.number
                    )
            yield [Shot(step, pictures[at]) for at, step in enumerate(self._playing.steps)]


@contextmanager
def filmed_episode(
    agents: Sequence[Agent],
    seed: int,
    index: int,
    pushes: Callable[[float], Pushes] = Pushes,
    log: EpisodeLog | None = None,
) -> Iterator[FilmedEpisode]:
    """Make fresh environments, and close them at the end.

    Args:
        agents: The agents, all in the same environment.
        seed: The seed of all episodes.
        index: Number of the episode, from 0.
        pushes: Takes the steps per second, and returns when agents are pushed.
        log: Keeps the numbers of the first agent's steps.

    Raises:
        RequestError: the environment cannot be made, or renders no images.
        RunError: it raised an exception.
    """
    choice = agents[0].choice
    with naming_environment(choice):
        playing = SideBySide(agents, seed, index, render=True, pushes=pushes, log=log)
    try:
        yield FilmedEpisode(playing, choice)
    finally:
        with naming_environment(choice):
            playing.close()


def environment_of(agent: Checkpoint, path: Path, *, draws: bool = False) -> EnvChoice:
    """Return an agent's environment, after checking that it still suits the agent.

    ``draws``: the environment will be rendered, which must be prepared before it is imported.

    Raises:
        RequestError: its sizes or bounds differ from those the agent was trained with.
        RunError: it raised an exception.
    """
    choice = agent.header.choice
    if draws:
        prepare_rendering(choice.env_id)
    with naming_environment(choice):
        require_same_spaces(agent.header.env, check_env(choice), path)
    return choice


@contextmanager
def naming_environment(choice: EnvChoice) -> Iterator[None]:
    """Turn exceptions of the environment into errors that name it."""
    try:
        yield
    except MessageError:
        raise
    except BaseException as problem:
        # An environment is foreign code and may raise anything, or call sys.exit.
        require_no_interrupt(problem)
        raise RunError(
            "The environment {env_id} raised {error}: {reason}.",
            env_id=choice.env_id,
            error=type(problem).__name__,
            reason=reason_of(problem).rstrip("."),
        ) from problem
