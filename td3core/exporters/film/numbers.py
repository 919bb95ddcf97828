"""The numbers of an episode, known before it is filmed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Floats
from td3core.checkpoint import Checkpoint
from td3core.config.env_choice import EnvChoice
from td3core.envs.make import make_env
from td3core.evaluation.rollout import rollout
from td3core.inference.policy import Policy

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeNumbers:
    """All steps of an episode; row 0 is step 1."""

    total: Doubles
    """Return so far, (n,)."""
    reward: Doubles
    """The environment's own rewards, (n,)."""
    min_q: Doubles | None
    """min(Q₁, Q₂)(s, a), (n,); None if the file has no critic."""
    obtained: Doubles
    """G_t = Σ γ^(k-t) r_k over k = t … T, with the rewards that the agent learns from, (n,)."""
    action: Floats
    """Actions (n, act_dim) in [-1, 1]."""
    obs: Floats
    """The observations that the actions answer, (n, obs_dim)."""


def play(source: Checkpoint, choice: EnvChoice, seed: int) -> EpisodeNumbers:
    """Play the noise-free episode of a reset seed without drawing it.

    Raises:
        RequestError: the environment cannot be made.
    """
    env, decisions = make_env(choice), _Decisions(source.policy())
    try:
        steps = list(rollout(env, decisions, seed))
    finally:
        env.close()
    obs, action = np.stack(decisions.obs), np.stack(decisions.action)
    reward = np.array([step.reward for step in steps])
    critic = source.critic()
    return EpisodeNumbers(
        total=np.array([step.total for step in steps]),
        reward=reward,
        min_q=None if critic is None else critic.minimum(obs, action).astype(np.float64),
        obtained=_discounted(source, reward),
        action=action,
        obs=obs,
    )


class _Decisions:
    """A policy that remembers what it was asked and what it answered."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.obs: list[Floats] = []
        self.action: list[Floats] = []

    def __call__(self, obs: Floats) -> Floats:
        action = self._policy(obs)
        self.obs.append(obs)
        self.action.append(action)
        return action


def _discounted(source: Checkpoint, reward: Doubles) -> Doubles:
    config, gamma = source.header.config, source.header.tunables.gamma
    shaped = np.maximum(config.reward_scale * reward, config.reward_floor)
    found, total = np.empty(len(reward)), 0.0
    for row in range(len(reward) - 1, -1, -1):
        found[row] = total = float(shaped[row]) + gamma * total
    return found
