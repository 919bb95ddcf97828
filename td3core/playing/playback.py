"""One episode played by an agent, step by step."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from td3core.arrays import Floats
from td3core.config.env_choice import EnvChoice
from td3core.envs.info_means import rate_of
from td3core.envs.make import make_env
from td3core.envs.rendering import DEFAULT_FPS
from td3core.errors import RunError
from td3core.playing.disturbance import Disturbed, Pushes, Variant
from td3core.playing.numbers import EpisodeLog
from td3core.playing.step import BEGINNING, RolloutStep
from td3core.randomness import Purpose, episode_seed

Act = Callable[[Floats], Floats]
"""Returns the action (act_dim,) in [-1, 1] for an observation (obs_dim,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An environment, the policy that plays in it, and its disturbance."""

    choice: EnvChoice
    policy: Act
    variant: Variant = Variant.PLAIN
    noise: float = 0.0
    """Exploration noise σ of the variant with noise, in units of half the action range."""
    noise_correlation: float = 0.0
    """ρ of that noise from one step to the next."""


class Playback:
    """One episode of an agent in a fresh environment, each step taken on request.

    It depends on agent, seed and number only: reused physics engines would keep state from the
    previous episode.

    Raises:
        RequestError: the environment cannot be made.
    """

    def __init__(
        self,
        agent: Agent,
        seed: int,
        index: int,
        *,
        render: bool = False,
        pushes: Callable[[float], Pushes] = Pushes,
        log: EpisodeLog | None = None,
    ) -> None:
        """Make the environment and reset it.

        Args:
            agent: The agent that plays.
            seed: The seed of all episodes.
            index: Number of the episode, from 0.
            render: Whether it will be drawn.
            pushes: Takes the steps per second; returns when the agent is pushed, if at all.
            log: Keeps the numbers of the steps.
        """
        reset_seed = episode_seed(seed, Purpose.EVALUATION, index)
        self.index, self._usual_fps = index, DEFAULT_FPS / agent.choice.action_repeat
        self.step = BEGINNING
        """The step taken last."""
        self.env = make_env(agent.choice, render=render)
        try:
            # Only once: some physics engines remember the first reset.
            self.first_obs, _ = self.env.reset(seed=reset_seed)
            """Before the first step, (obs_dim,)."""
            self.obs = self.first_obs
            """After the last step taken, (obs_dim,)."""
            act = self._disturbed(agent, reset_seed, pushes)
            self._steps = self._rollout(act, log)
        except BaseException:
            self.close()
            raise

    @property
    def fps(self) -> float:
        """Steps per second at the environment's own speed."""
        return rate_of(self.env.metadata.get("render_fps")) or self._usual_fps

    def advance(self) -> RolloutStep:
        """Take the next step.

        Raises:
            RunError: the environment returned an observation of another size than its space.
        """
        self.step = step = next(self._steps)
        return step

    def __iter__(self) -> Iterator[RolloutStep]:
        """Take the remaining steps."""
        for step in self._steps:
            self.step = step
            yield step

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def _disturbed(self, agent: Agent, seed: int, pushes: Callable[[float], Pushes]) -> Act:
        match agent.variant:
            case Variant.NOISE:
                rho = agent.noise_correlation
                return Disturbed(agent.policy, seed, agent.noise, noise_correlation=rho)
            case Variant.PUSH:
                return Disturbed(agent.policy, seed, pushes=pushes(self.fps), fps=self.fps)
        return agent.policy

    def _rollout(self, act: Act, log: EpisodeLog | None) -> Iterator[RolloutStep]:
        """Yield the steps of the episode."""
        expected = math.prod(self.env.observation_space.shape or ())
        number, total, over = 0, 0.0, False
        while not over:
            seen = self.obs
            if seen.size != expected:
                raise RunError(
                    "The environment returned an observation of size {size} instead of {expected}"
                    " after step {step}.",
                    size=seen.size,
                    expected=expected,
                    step=number,
                )
            action = act(seen)
            self.obs, reward, terminated, truncated, _ = self.env.step(action)
            number, total, over = number + 1, total + reward, terminated or truncated
            step = RolloutStep(number, reward, total, terminated, truncated)
            if log is not None:
                log.add(step, seen, action)
            yield step
