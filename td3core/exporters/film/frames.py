"""The frames of one noise-free episode, rendered one at a time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Floats
from td3core.config.env_choice import EnvChoice
from td3core.envs.agent_view import AgentView
from td3core.envs.make import make_env
from td3core.envs.rendering import DEFAULT_FPS, draw, rgb_frame
from td3core.errors import RunError, reason_of
from td3core.evaluation.rollout import RolloutStep, rollout

Act = Callable[[Floats], Floats]


class Shot(NamedTuple):
    """One step with its picture."""

    step: RolloutStep
    picture: NDArray[np.uint8]
    """Shape (height, width, 3)."""


class EpisodeFrames:
    """An episode that renders each step when it is asked for."""

    def __init__(self, env: AgentView, choice: EnvChoice, policy: Act, seed: int) -> None:
        self._env, self._choice, self._seed = env, choice, seed
        self.policy = policy
        """Maps observations (obs_dim,) to actions (act_dim,); asked for before the first step."""

    @property
    def fps(self) -> float:
        """Steps per second at the environment's own speed."""
        rate = self._env.metadata.get("render_fps")
        return float(int(rate)) if isinstance(rate, int | float) and rate >= 1 else DEFAULT_FPS

    def __iter__(self) -> Iterator[Shot]:
        """Yield every step of the episode, with the picture after it."""
        steps = rollout(self._env, self.policy, self._seed)
        while True:
            with blaming(self._choice):
                step = next(steps, None)
                if step is None:
                    return
                picture = rgb_frame(draw(self._env), self._choice.env_id)
            yield Shot(step, picture)


@contextmanager
def episode_frames(choice: EnvChoice, policy: Act, seed: int) -> Iterator[EpisodeFrames]:
    """Make a fresh environment, and close it at the end.

    Args:
        choice: The environment.
        policy: Maps observations (obs_dim,) to actions (act_dim,).
        seed: Seed of the reset.

    Raises:
        RequestError: the environment cannot be made, or renders no images.
        RunError: it raised an ``OSError``, which is none of the film's file.
    """
    with blaming(choice):
        env = make_env(choice, render=True)
    try:
        yield EpisodeFrames(env, choice, policy, seed)
    finally:
        env.close()


@contextmanager
def blaming(choice: EnvChoice) -> Iterator[None]:
    """Name the environment in what it raises."""
    try:
        yield
    except OSError as problem:
        raise RunError(
            "The environment {env_id} raised {error}: {reason}.",
            env_id=choice.env_id,
            error=type(problem).__name__,
            reason=reason_of(problem).rstrip("."),
        ) from problem
