"""One training episode on an environment of its own, watched for what environments do wrong."""

import math
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from gymnasium.spaces import Box

from td3core.arrays import Floats
from td3core.envs.agent_view import AgentView
from td3core.envs.info import EnvInfo
from td3core.envs.make import make_env
from td3core.errors import RunError
from td3core.randomness import Purpose, episode_seed

# What array.all() comes to, without the detour: this is asked at every step.
_ALL = np.logical_and.reduce


class EpisodeStart(NamedTuple):
    """Which episode begins where: the ``episode``-th of the run, in environment ``slot``."""

    slot: int
    episode: int
    env_steps: int
    """The run's step it begins after."""
    actions: Floats | None = None
    """Actions (n, act_dim) taken in it before: they bring it back to where it stood."""


class StepResult(NamedTuple):
    """What one step brought."""

    next_obs: Floats
    reward: float
    terminated: bool
    truncated: bool


class Episode:
    """One episode of a run, of ``num_envs`` that are played side by side.

    Each episode has a fresh environment: reused physics worlds remember the episode before, and one
    that depends on nothing but its seed can be had again.

    Raises:
        RunError: here and in :meth:`step`, when the environment raises, has other spaces than the
            ones before it, or returns something that is not a finite number or not of the announced
            size.
    """

    def __init__(
        self, info: EnvInfo, run_seed: int, start: EpisodeStart, num_envs: int = 1
    ) -> None:
        self._info, self._start, self._num_envs = info, start, num_envs
        self._length = 0
        self._env: AgentView | None = None
        try:
            self._env = make_env(info.choice)
            self._check_spaces(self._env)
            seed = episode_seed(run_seed, Purpose.ENVIRONMENT, start.episode)
            self.obs, _ = self._env.reset(seed=seed)
        except RunError:
            self.close()
            raise
        except Exception as problem:
            raise self._blame(problem) from problem
        self._check(self.obs)

    def step(self, action: Floats) -> StepResult:
        """Take one action in [-1, 1]."""
        assert self._env is not None
        try:
            next_obs, reward, terminated, truncated, _ = self._env.step(action)
        except Exception as problem:
            raise self._blame(problem) from problem
        self._check(next_obs)
        if not math.isfinite(reward):
            raise RunError(f"The environment returned a reward of {reward} at {self._where}.")
        self._length += 1
        return StepResult(next_obs, reward, terminated, truncated)

    def close(self) -> None:
        """Let go of the environment."""
        if self._env is not None:
            # It may be what has just failed.
            with suppress(Exception):
                self._env.close()
            self._env = None

    @property
    def _where(self) -> str:
        step = self._start.env_steps + self._num_envs * self._length
        return f"step {step} (episode {self._start.episode}, its step {self._length})"

    def _blame(self, problem: Exception) -> RunError:
        self.close()
        return RunError(
            f"The environment {self._info.env_id} raised {type(problem).__name__} at"
            f" {self._where}: {problem}"
        )

    def _check_spaces(self, env: AgentView) -> None:
        """Refuse an environment that is not like the first one: all feed the same networks."""
        info, obs, action = self._info, env.env.observation_space, env.env.action_space
        assert isinstance(obs, Box)
        assert isinstance(action, Box)
        announced = _words(info.obs_dim, info.action_low, info.action_high)
        found = _words(int(np.prod(obs.shape)), action.low.ravel(), action.high.ravel())
        if found != announced:
            raise RunError(
                f"The environment {info.env_id} has other spaces at {self._where} than before:"
                f" {found}, where it announced {announced}."
            )

    def _check(self, obs: Floats) -> None:
        fault = ""
        if obs.shape != (self._info.obs_dim,):
            fault = f"of {obs.size} numbers, where it announced {self._info.obs_dim},"
        elif not _ALL(np.isfinite(obs)):
            fault = "that is not finite"
        if fault:
            self.close()
            raise RunError(f"The environment returned an observation {fault} at {self._where}.")


def _words(obs_dim: int, low: Iterable[float], high: Iterable[float]) -> str:
    bounds = ", ".join(f"[{a:g}, {b:g}]" for a, b in zip(low, high, strict=True))
    return f"observations of {obs_dim} numbers and actions in {bounds}"
