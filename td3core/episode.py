"""One training episode on an environment of its own, watched for what environments do wrong."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

import numpy as np

from td3core.envs import AgentView, EnvInfo, Floats, make_env
from td3core.errors import RunError
from td3core.randomness import Purpose, episode_seed


class Outcome(NamedTuple):
    """What one step brought."""

    next_obs: Floats
    reward: float
    terminated: bool
    truncated: bool


class Episode:
    """The ``index``-th episode of a run.

    Each episode has a fresh environment: reused physics worlds remember the episode before, and one
    that depends on nothing but its seed can be had again. ``env_steps`` is the step it begins at.

    Raises:
        RunError: here and in :meth:`step`, when the environment raises, or returns something that
            is not a finite number or not of the announced size.
    """

    def __init__(self, info: EnvInfo, run_seed: int, index: int, env_steps: int) -> None:
        self._info, self._index, self._began_at = info, index, env_steps
        self.length, self.total = 0, 0.0
        self._env: AgentView | None = None
        with self._blaming_environment():
            self._env = make_env(info.choice)
            seed = episode_seed(run_seed, Purpose.ENVIRONMENT, index)
            self.obs, _ = self._env.reset(seed=seed)
        self._check(self.obs)

    def step(self, action: Floats) -> Outcome:
        """Take one action in [-1, 1]."""
        assert self._env is not None
        with self._blaming_environment():
            next_obs, reward, terminated, truncated, _ = self._env.step(action)
        self._check(next_obs)
        if not np.isfinite(reward):
            raise RunError(f"The environment returned a reward of {reward} at {self._where}.")
        self.obs = next_obs
        self.length += 1
        self.total += reward
        return Outcome(next_obs, reward, terminated, truncated)

    def close(self) -> None:
        """Let go of the environment."""
        if self._env is not None:
            # It may be what has just failed.
            with suppress(Exception):
                self._env.close()
            self._env = None

    @property
    def _where(self) -> str:
        step = self._began_at + self.length
        return f"step {step} (episode {self._index}, its step {self.length})"

    @contextmanager
    def _blaming_environment(self) -> Iterator[None]:
        try:
            yield
        except Exception as problem:
            self.close()
            raise RunError(
                f"The environment {self._info.env_id} raised {type(problem).__name__} at"
                f" {self._where}: {problem}"
            ) from problem

    def _check(self, obs: Floats) -> None:
        fault = ""
        if obs.shape != (self._info.obs_dim,):
            fault = f"of {obs.size} numbers, where it announced {self._info.obs_dim},"
        elif not np.isfinite(obs).all():
            fault = "that is not finite"
        if fault:
            self.close()
            raise RunError(f"The environment returned an observation {fault} at {self._where}.")
