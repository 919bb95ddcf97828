"""One training episode in a fresh environment, with all returned values checked."""

import contextlib
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from gymnasium.spaces import Box

from td3core.arrays import Floats, all_finite
from td3core.config.tunables import NO_FLOOR
from td3core.envs.agent_view import AgentView
from td3core.envs.info import EnvInfo
from td3core.envs.info_means import InfoMeans
from td3core.envs.make import make_env
from td3core.errors import RunError, reason_of, require_no_interrupt
from td3core.randomness import Purpose, episode_seed
from td3core.text import Text


class RecordedSteps(NamedTuple):
    """Steps already taken in an episode, to be repeated; ``n`` of them."""

    actions: Floats  # (n, act_dim)
    next_obs: Floats  # (n, obs_dim)
    scaled_rewards: Floats
    """As in the replay buffer, (n,)."""
    total: float
    """Sum of the environment's rewards."""
    shaped_total: float
    reward_scale: float
    reward_floor: float


class EpisodeStart(NamedTuple):
    """The number of an episode, and where in the run it begins."""

    slot: int
    episode: int
    """Number of the episode in the run, from 0."""
    env_steps: int
    """Step of the run after which it begins."""
    recorded: RecordedSteps | None = None
    """Steps already taken in it, to be repeated."""


class StepResult(NamedTuple):
    """The result of one step."""

    next_obs: Floats
    """Observation (obs_dim,)."""
    reward: float
    terminated: bool
    truncated: bool


class Episode:
    """One episode of a run that steps ``num_envs`` environments together.

    Each episode has a fresh environment: reused physics engines keep state from the previous
    episode, whereas an episode that depends only on its seed can be repeated.

    ``info_names``: the numbers of the environment's ``info`` that are averaged.

    Raises:
        RunError: here and in :meth:`step`, if the environment raises an exception, its spaces
            differ from those in ``info``, or it returns values that are not finite or of the wrong
            size.
    """

    def __init__(
        self,
        info: EnvInfo,
        run_seed: int,
        start: EpisodeStart,
        num_envs: int = 1,
        info_names: Sequence[str] = (),
    ) -> None:
        self._info, self._start, self._num_envs = info, start, num_envs
        self.info_means = InfoMeans(info_names)
        """Means over the steps so far, including repeated ones."""
        self._length = 0
        self._env: AgentView | None = None
        try:
            self._env = make_env(info.choice.at(start.env_steps + 1))
            self._check_spaces(self._env)
            seed = episode_seed(run_seed, Purpose.ENVIRONMENT, start.episode)
            self.obs, _ = self._env.reset(seed=seed)
        except RunError:
            self.close()
            raise
        except BaseException as problem:
            require_no_interrupt(problem)
            raise self._failure(problem) from problem
        self._check(self.obs)

    def step(self, action: Floats) -> StepResult:
        """Take one action (act_dim,) in [-1, 1]."""
        assert self._env is not None
        try:
            next_obs, reward, terminated, truncated, told = self._env.step(action)
            if self.info_means:
                self.info_means.add(told)
        except BaseException as problem:
            require_no_interrupt(problem)
            raise self._failure(problem) from problem
        self._check(next_obs)
        if not math.isfinite(reward):
            raise RunError(
                "The environment returned a reward of {reward} at {place}.",
                reward=float(reward),
                place=self._place,
            )
        self._length += 1
        return StepResult(next_obs, reward, terminated, truncated)

    def repeat(self, recorded: RecordedSteps) -> Floats:
        """Take recorded steps again; return the observation (obs_dim,) they lead to.

        Raises:
            RunError: an observation, a reward or an end differs from the record.
        """
        obs, rewards, place = self.obs, list[float](), self._place
        for action, expected in zip(recorded.actions, recorded.next_obs, strict=True):
            place = self._place
            obs, reward, terminated, truncated = self.step(action)
            rewards.append(reward)
            # The episode is not over yet.
            if terminated or truncated or not np.array_equal(obs, expected):
                raise RunError("The environment did not repeat {place}.", place=place)
        if not _same_rewards(rewards, recorded):
            raise RunError("The environment did not repeat its rewards until {place}.", place=place)
        return obs

    def close(self) -> None:
        """Close the environment."""
        if self._env is not None:
            env, self._env = self._env, None
            # The environment may just have failed.
            with contextlib.suppress(Exception, SystemExit):
                env.close()

    @property
    def _place(self) -> Text:
        return Text(
            "step {step} (step {episode_step} of episode {episode})",
            step=self._start.env_steps + self._num_envs * self._length,
            episode_step=self._length,
            episode=self._start.episode,
        )

    def _failure(self, problem: BaseException) -> RunError:
        self.close()
        return RunError(
            "The environment {env_id} raised {error} at {place}: {reason}",
            env_id=self._info.env_id,
            error=type(problem).__name__,
            place=self._place,
            reason=reason_of(problem),
        )

    def _check_spaces(self, env: AgentView) -> None:
        """Check that the spaces equal the first environment's: all feed the same networks."""
        info, obs, action = self._info, env.env.observation_space, env.env.action_space
        assert isinstance(obs, Box)
        assert isinstance(action, Box)
        expected = _spaces(info.obs_dim, info.action_low, info.action_high)
        found = _spaces(int(np.prod(obs.shape)), action.low.ravel(), action.high.ravel())
        if found != expected:
            raise RunError(
                "The spaces of {env_id} changed at {place}: {found} instead of {expected}.",
                env_id=info.env_id,
                place=self._place,
                found=found,
                expected=expected,
            )

    def _check(self, obs: Floats) -> None:
        if obs.shape != (self._info.obs_dim,):
            self.close()
            raise RunError(
                "The environment returned an observation of size {size} instead of {expected} at"
                " {place}.",
                size=obs.size,
                expected=self._info.obs_dim,
                place=self._place,
            )
        if not all_finite(obs):
            self.close()
            raise RunError(
                "The environment returned an observation that is not finite at {place}.",
                place=self._place,
            )


def _same_rewards(rewards: list[float], recorded: RecordedSteps) -> bool:
    floor = recorded.reward_floor
    scaled = [max(recorded.reward_scale * reward, NO_FLOOR) for reward in rewards]
    if _total(rewards) != recorded.total:
        return False
    if _total([max(reward, floor) for reward in scaled]) != recorded.shaped_total:
        # Part of the episode may have had another floor or, before a branch, another scale.
        return True
    with np.errstate(over="ignore"):
        expected, stored = np.array(scaled, np.float32), recorded.scaled_rewards
    # Earlier versions stored rewards already bounded by the floor.
    bounded = np.maximum(expected, np.float32(floor))
    return bool(((stored == expected) | (stored == bounded)).all())


def _total(values: list[float]) -> float:
    """Return the sum, added as during an episode; newer versions of ``sum`` round differently."""
    total = 0.0
    for value in values:
        total += value
    return total


def _spaces(obs_dim: int, low: Iterable[float], high: Iterable[float]) -> Text:
    bounds = ", ".join(f"[{a:g}, {b:g}]" for a, b in zip(low, high, strict=True))
    return Text(
        "observations of size {obs_dim} and actions in {bounds}", obs_dim=obs_dim, bounds=bounds
    )
