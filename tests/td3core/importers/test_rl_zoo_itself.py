"""A folder that RL Zoo itself has written is imported with all that lies in it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from td3core import checkpoint
from td3core.checkpoint.agent import spec_of
from td3core.config import EnvChoice
from td3core.envs.make import check_env
from td3core.importers import importing
from td3core.playing.numbers import in_bounds
from td3core.runs.directory import RunDirectory
from tests.td3core.importers import foreign_files as files

# What RL Zoo's own settings for the environment say, in small, and normalised.
SETTINGS = (
    *("normalize:True", "learning_starts:100", "buffer_size:2000", "batch_size:32"),
    "policy_kwargs:dict(net_arch=[32, 32])",
)
EVALUATIONS = ("--eval-freq", "200", "--eval-episodes", "2", "--n-eval-envs", "1")


def train_with_zoo(folder: Path) -> Path:
    """Train as the users of RL Zoo do, and return the folder of the run."""
    words = ["-n", "600", "--seed", "4", "--device", "cpu", "-f", str(folder), "--verbose", "0"]
    words = ["--algo", "td3", "--env", "Pendulum-v1", *words, *EVALUATIONS]
    command = [sys.executable, "-m", "rl_zoo3.train", *words, "--hyperparams", *SETTINGS]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "td3" / "Pendulum-v1_1"


def peer_actions(run: Path, obs: Any) -> Any:
    from stable_baselines3 import TD3
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    vec = DummyVecEnv([lambda: gym.make("Pendulum-v1")])
    normalise = VecNormalize.load(str(run / "Pendulum-v1" / "vecnormalize.pkl"), vec)
    model = TD3.load(run / "Pendulum-v1.zip", device="cpu")
    actions, _ = model.predict(normalise.normalize_obs(obs), deterministic=True)
    vec.close()
    return actions


@pytest.mark.slow
def test_a_folder_of_rl_zoo_is_a_run(tmp_path: Path, runs_dir: Path) -> None:
    pytest.importorskip("rl_zoo3", reason="rl_zoo3 is not installed")
    folder = train_with_zoo(tmp_path)
    found = importing.examine(folder)
    assert found.kind == "stable-baselines3 TD3"
    assert found.env == EnvChoice("Pendulum-v1")
    made = importing.import_to_run(found, EnvChoice("Pendulum-v1"), check_env, runs_dir)
    assert made.run is not None
    run = RunDirectory.open(made.run)
    assert [step for step, _ in run.evaluations()] == [200, 400, 600]
    agent = checkpoint.load(run.last)
    assert agent.header.counters.env_steps == 600
    assert agent.header.config.actor_hidden == (32, 32)
    assert agent.header.config.normalize_observations
    obs = files.observations()
    acted = in_bounds(agent.policy()(obs), spec_of(agent.header, None))
    assert np.abs(acted - peer_actions(folder, obs)).max() <= 1e-6 * files.HIGH
