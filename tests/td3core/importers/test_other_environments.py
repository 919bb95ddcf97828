"""Agents of environments whose episodes end early, are long or chaotic: they return the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import scipy  # its statistics are loaded with their first use

from td3core import checkpoint
from td3core.config import EnvChoice
from td3core.envs.make import check_env
from td3core.evaluation.evaluate import evaluate
from td3core.importers import importing
from td3core.randomness import Purpose, episode_seed

EPISODES, SEED = 20, 3
VECNORMALIZE = "vecnormalize.pkl"


class SeededEpisodes(gym.Wrapper[Any, Any, Any, Any]):
    """Begins each episode as an evaluation of the studio does."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self._begun = 0

    def reset(self, **kwargs: Any) -> Any:
        seed = episode_seed(SEED, Purpose.EVALUATION, self._begun)
        self._begun += 1
        return self.env.reset(**(kwargs | {"seed": seed}))


def vectorised(make: Callable[[], gym.Env[Any, Any]]) -> Any:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv

    return DummyVecEnv([lambda: Monitor(make())])


def save_peer(folder: Path, kind: str, env_id: str, steps: int, *, normalise: bool) -> Path:
    """Train an agent of stable-baselines3, and save it as its users do."""
    import stable_baselines3
    from stable_baselines3.common.vec_env import VecNormalize

    vec = vectorised(lambda: gym.make(env_id))
    vec = VecNormalize(vec) if normalise else vec
    model = getattr(stable_baselines3, kind)(
        "MlpPolicy",
        vec,
        policy_kwargs={"net_arch": [64, 64]},
        buffer_size=10_000,
        learning_starts=500,
        batch_size=64,
        seed=1,
        device="cpu",
    )
    model.learn(steps)
    model.save(folder / "agent.zip")
    if normalise:
        vec.save(str(folder / VECNORMALIZE))
    vec.close()
    return folder / "agent.zip"


def returns_of_peer(path: Path, kind: str, env_id: str) -> list[float]:
    """Return what ``evaluate_policy`` of stable-baselines3 measures."""
    import stable_baselines3
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.vec_env import VecNormalize

    vec, statistics = vectorised(lambda: SeededEpisodes(gym.make(env_id))), path.parent
    if (statistics / VECNORMALIZE).exists():
        vec = VecNormalize.load(str(statistics / VECNORMALIZE), vec)
        vec.training = vec.norm_reward = False
    model = getattr(stable_baselines3, kind).load(path, device="cpu")
    returns, _ = evaluate_policy(
        model, vec, n_eval_episodes=EPISODES, deterministic=True, return_episode_rewards=True
    )
    vec.close()
    return [float(each) for each in returns]


def interval(returns: Any) -> tuple[float, float]:
    """Return Student's 95 % interval of a mean."""
    wide = float(scipy.stats.t.ppf(0.975, len(returns) - 1) * scipy.stats.sem(returns))
    return float(np.mean(returns)) - wide, float(np.mean(returns)) + wide


@pytest.mark.release
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("kind", "env_id", "steps", "normalise"),
    [
        ("TD3", "LunarLanderContinuous-v3", 4000, False),
        ("TD3", "Hopper-v5", 4000, True),
    ],
)
def test_twenty_episodes_return_what_the_peer_measures(
    tmp_path: Path, kind: str, env_id: str, steps: int, normalise: bool
) -> None:
    pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
    path = save_peer(tmp_path, kind, env_id, steps, normalise=normalise)
    found = importing.examine(path, tmp_path / VECNORMALIZE if normalise else None)
    target = tmp_path / "agent.safetensors"
    importing.import_to_file(found, EnvChoice(env_id), check_env, target)
    policy = checkpoint.load(target).policy()
    ours = evaluate(policy, EnvChoice(env_id), episodes=EPISODES, seed=SEED)
    assert ours is not None
    theirs = returns_of_peer(path, kind, env_id)
    assert len(ours.returns) == len(theirs) == EPISODES
    # Episodes that all return the same would be within any interval.
    assert np.ptp(theirs) > 1.0
    print(f"{env_id}: {np.mean(ours.returns):.3f}, peer {np.mean(theirs):.3f}", interval(theirs))
    for one, other in ((ours.returns, theirs), (theirs, ours.returns)):
        low, high = interval(other)
        assert low <= np.mean(one) <= high
