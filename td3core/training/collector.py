"""Collects experience: chooses actions, steps the environments, stores transitions."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from td3core.algorithm.agent import Algorithm
from td3core.arrays import Floats
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.buffer.rows import Batch
from td3core.config import RunConfig, Tunables, follows
from td3core.config.tunables import NO_FLOOR
from td3core.envs.episode import RecordedSteps
from td3core.envs.info import EnvInfo
from td3core.envs.slot import EnvSlot
from td3core.envs.stepper import StepArrays
from td3core.envs.vector import VectorEnv
from td3core.errors import RunError
from td3core.inference.normaliser import Normaliser
from td3core.inference.policy import Policy
from td3core.protocol.events import EpisodeEnded
from td3core.randomness import correlated
from td3core.text import SettingName
from td3core.training.divergence import require_finite_actions
from td3core.training.info_record import InfoRecord

_ONE: Floats = np.ones((), np.float32)
_MINUS_ONE: Floats = np.full((), -1.0, np.float32)
"""As arrays: NumPy would convert Python numbers at every call."""

_LARGEST = float(np.finfo(np.float32).max)


class Exploration:
    """Chooses an action for each environment, which has its own random streams.

    ``noise`` is the current, decayed σ. It is shared by all environments: it decays once per
    action, in the order of the slots, so that it depends on the number of steps and not on the
    number of environments.
    """

    def __init__(
        self, slots: Sequence[EnvSlot], policy: Policy, act_dim: int, noise: float
    ) -> None:
        self._slots, self._policy, self._act_dim = slots, policy, act_dim
        self.noise = noise

    def uniform(self) -> Floats:
        """Return warm-up actions (n, act_dim), uniform in [-1, 1]."""
        rows = [slot.warm_up.uniform(-1.0, 1.0, self._act_dim) for slot in self._slots]
        return np.array(rows, np.float32)

    def noisy(self, obs: Floats, tunables: Tunables) -> Floats:
        """Return a = clip(π(s) + n, -1, 1), shape (n, act_dim), for ``obs`` (n, obs_dim).

        The noise n ~ N(0, σ) is independent of the step before unless ``noise_correlation`` is set.
        """
        if len(self._slots) == 1:
            # One observation as a vector: a one-row matrix takes longer.
            actions = (self._policy(obs[0]) + self._noise(self._slots[0], tunables))[None]
        else:
            noise = np.array([self._noise(slot, tunables) for slot in self._slots])
            actions = self._policy(obs) + noise
        # For so few numbers np.clip takes twice as long.
        clipped: Floats = np.minimum(
            np.maximum(actions, _MINUS_ONE, out=actions), _ONE, out=actions
        )
        return clipped

    def _noise(self, slot: EnvSlot, tunables: Tunables) -> Floats:
        drawn = slot.exploration.standard_normal(self._act_dim, np.float32)
        if tunables.noise_correlation > 0.0:
            slot.noise = drawn = correlated(slot.noise, drawn, tunables.noise_correlation)
            drawn = drawn * np.float32(self.noise)
        else:
            slot.noise = None
            drawn *= np.float32(self.noise)
        if tunables.exploration_noise_decay < 1.0 and not follows(tunables, "exploration_noise"):
            floor = min(tunables.exploration_noise_min, self.noise)
            self.noise = max(self.noise * tunables.exploration_noise_decay, floor)
        return drawn


class Collector:
    """Collects transitions of all environments, in slot order."""

    def __init__(
        self,
        config: RunConfig,
        info: EnvInfo,
        envs: VectorEnv,
        buffer: ReplayBuffer,
        agent: Algorithm,
    ) -> None:
        self._config, self._envs, self._buffer, self._agent = config, envs, buffer, agent
        self.normaliser = Normaliser(info.obs_dim) if config.normalize_observations else None
        """Statistics of all observations so far; None unless the run normalises them."""
        self.info = InfoRecord(config.info_columns)
        self._over = list(envs.slots)
        self._drawn: tuple[Floats, Floats] | None = None
        """Observations and their actions, until every environment has taken its action. They are
        kept if one fails: a run that resumes there must not draw again."""
        self.updated = False
        """Whether the updates of the current, unfinished step are done: as with the actions, a run
        that resumes there must not do them again."""
        policy, noise = agent.policy(self.normaliser), agent.tunables.exploration_noise
        self.exploration = Exploration(envs.slots, policy, info.act_dim, noise)

    def begin_episodes(self, env_steps: int) -> None:
        """Begin an episode in every environment whose episode is over."""
        over, self._over = self._over, []
        self._envs.begin(over, env_steps)
        if self.normaliser is not None:
            for slot in over:
                self.normaliser.observe(self._envs.obs[slot.number])

    def start(self, env_steps: int, *, exploring: bool) -> None:
        """Begin a step in every environment.

        Args:
            env_steps: steps taken before.
            exploring: take the actor's actions with noise; False takes uniform ones.
        """
        if self._drawn is None:
            self._drawn = self._draw(env_steps, exploring=exploring)
        self._envs.start(self._drawn[1])

    def finish(self, env_steps: int) -> list[EpisodeEnded]:
        """Store the transitions of the step; return the episodes that end with it.

        ``env_steps``: steps taken before.
        """
        assert self._drawn is not None
        obs, actions = self._drawn
        after = self._envs.finish()
        self._store(obs, actions, after, env_steps)
        self._drawn, self.updated = None, False
        env_steps += len(self._envs.slots)
        if not self._over:
            return []
        means = self.info.means
        return [
            _ended(slot, env_steps, means(after.info_means[slot.number], slot.episode))
            for slot in self._over
        ]

    def _draw(self, env_steps: int, *, exploring: bool) -> tuple[Floats, Floats]:
        """Return the observations (n, obs_dim) and an action (n, act_dim) for each."""
        obs = self._envs.obs.copy()
        if not exploring:
            return obs, self.exploration.uniform()
        actions = self.exploration.noisy(obs, self._agent.tunables)
        require_finite_actions(actions, env_steps)
        return obs, actions

    def state(self) -> dict[str, NDArray[Any]]:
        """Return copies of statistics, generators and the state of all episodes."""
        state = self._envs.state()
        if self._drawn is not None:
            state["episodes.obs"], state["episodes.actions"] = self._drawn
        if self.updated:
            state["episodes.updated"] = np.ones(1, np.uint8)
        return state if self.normaliser is None else state | self.normaliser.state()

    def load_state(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Restore what :meth:`state` returned, except the environments themselves."""
        self._envs.load_state(tensors)
        if self.normaliser is not None:
            self.normaliser.load_state(tensors)
        if "episodes.actions" in tensors:
            self._drawn = tensors["episodes.obs"], tensors["episodes.actions"]
        self.updated = "episodes.updated" in tensors

    def return_to_episodes(self, seen: Floats) -> list[int]:
        """Replay the current episode of every environment; return the episodes that differ.

        Args:
            seen: the current observations (n, obs_dim), expected after the replay.

        The steps so far are in the replay buffer. An episode that cannot be replayed is abandoned
        for a new one.
        """
        slots, lost = self._envs.slots, list[int]()
        self._over = []
        for slot in slots:
            first = self._buffer.stored - len(slots) * slot.length + slot.number
            numbers = first + len(slots) * np.arange(slot.length)
            try:
                stored = self._buffer.transitions(numbers)
                same = self._envs.return_to(slot, self._recorded(slot, stored), seen[slot.number])
            except IndexError:
                same = False
            if not same:
                lost.append(slot.episode)
                self._over.append(slot)
        if lost:
            self._drawn = None
        return lost

    def give_up_episodes(self, env_steps: int) -> None:
        """Abandon all episodes, and begin new ones."""
        self._over, self._drawn = list(self._envs.slots), None
        self.begin_episodes(env_steps)

    def _recorded(self, slot: EnvSlot, stored: Batch[Floats]) -> RecordedSteps:
        """Return the recorded steps of a slot's current episode."""
        return RecordedSteps(
            actions=stored.action,
            next_obs=stored.next_obs,
            scaled_rewards=stored.reward[:, 0],
            total=slot.total,
            shaped_total=slot.shaped_return,
            reward_scale=self._config.reward_scale,
            reward_floor=self._agent.tunables.reward_floor,
        )

    def _store(self, obs: Floats, actions: Floats, after: StepArrays, env_steps: int) -> None:
        rewards, next_obs = after.reward.tolist(), after.obs
        terminated, truncated = after.terminated.tolist(), after.truncated.tolist()
        scaled = [self._scaled(reward, env_steps) for reward in rewards]
        floor = self._agent.tunables.reward_floor
        for i, slot in enumerate(self._envs.slots):
            slot.add(rewards[i], max(scaled[i], floor), terminated=terminated[i])
            if self.normaliser is not None:
                self.normaliser.observe(next_obs[i])
            # A time limit is not a terminal state: targets bootstrap from s'.
            step = (obs[i], actions[i], scaled[i], next_obs[i], terminated[i], truncated[i])
            self._buffer.add(*step)
            if terminated[i] or truncated[i]:
                self._over.append(slot)

    def _scaled(self, reward: float, env_steps: int) -> float:
        """Return the reward to store: scaled, without the floor, which is applied when learning."""
        scale = self._config.reward_scale
        scaled = max(scale * reward, NO_FLOOR)
        if not -_LARGEST <= scaled <= _LARGEST:
            # Stored as infinity, it would look like divergence of the networks.
            raise RunError(
                "The environment returned a reward of {reward} at step {step}; with"
                " {key} {scale:g} that is beyond the range of float32.",
                key=SettingName("reward_scale"),
                reward=reward,
                step=env_steps,
                scale=scale,
            )
        return scaled


def _ended(slot: EnvSlot, env_steps: int, info: Mapping[str, float]) -> EpisodeEnded:
    return EpisodeEnded(
        episode=slot.episode,
        env_steps=env_steps,
        episode_return=slot.total,
        shaped_return=slot.shaped_return,
        length=slot.length,
        terminated=slot.terminated,
        info=info,
    )
