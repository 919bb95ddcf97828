"""Environments that a user brings along, by module and name."""

import json
import sys
from pathlib import Path

import gymnasium as gym
import pytest

from td3core.cli import app
from td3core.config.env_choice import EnvChoice
from td3core.envs.make import check_env, registered_elsewhere
from td3core.envs.trust import with_user_consent
from td3core.errors import RequestError
from tests.td3core.cli.test_commands import small

MODULE = """
import gymnasium as gym
import numpy as np

class Slide(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (2,))
    action_space = gym.spaces.Box(np.float32([-3, 0]), np.float32([1, 10]))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.np_random.uniform(-1, 1, 2).astype("f"), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.steps += 1
        obs = self.np_random.uniform(-1, 1, 2).astype("f")
        return obs, -abs(float(action[0])), False, self.steps >= 20, {}

number = 5
gym.register("OwnSlide-v0", Slide, max_episode_steps=10)
gym.register("Unversioned", "own_envs:Slide", max_episode_steps=10)
gym.register(
    "OwnSwing-v0",
    "gymnasium.envs.classic_control:PendulumEnv",
    max_episode_steps=10,
    kwargs={"g": 5},
)
"""


@pytest.fixture(autouse=True)
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "own_envs.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("own_envs", None)
    gym.registry.pop("OwnSlide-v0", None)
    gym.registry.pop("Unversioned", None)
    gym.registry.pop("OwnSwing-v0", None)


def test_a_class_nobody_registered_is_named_by_its_module() -> None:
    info = check_env(with_user_consent(EnvChoice("own_envs:Slide")))
    assert (info.env_id, info.obs_dim, info.act_dim) == ("own_envs:Slide", 2, 2)
    assert (info.action_low, info.action_high) == ((-3.0, 0.0), (1.0, 10.0))
    assert info.max_episode_steps is None


@pytest.mark.parametrize(
    "name",
    [
        "OwnSlide-v0",
        "OwnSlide",
        "Unversioned",
        # Its class is Gymnasium's.
        "OwnSwing-v0",
        "OwnSwing",
    ],
)
def test_an_id_is_known_once_its_module_is_imported(name: str) -> None:
    info = check_env(with_user_consent(EnvChoice(f"own_envs:{name}")))
    assert (info.env_id, info.max_episode_steps) == (f"own_envs:{name}", 10)


def test_an_own_id_of_a_class_of_gymnasium_is_offered_once_its_module_is_imported() -> None:
    check_env(with_user_consent(EnvChoice("own_envs:OwnSwing-v0")))
    assert {"OwnSlide-v0", "OwnSwing-v0"} <= set(registered_elsewhere())


@pytest.mark.parametrize(
    ("env_id", "says"),
    [
        ("own_envs:Nothing", "no environment class called Nothing"),
        ("own_envs:number", "no environment class called number"),
        ("no_such_module:Slide", "no_such_module"),
        ("own_envs:Nothing-v0", "own_envs has no environment class called Nothing-v0"),
        # Not the Pendulum-v1 of Gymnasium.
        ("own_envs:Pendulum", "own_envs has no environment class called Pendulum"),
        ("own_envs:OwnSled", "Did you mean own_envs:OwnSlide-v0?"),
        ("own_envs:OwnSlide-v7", "Did you mean own_envs:OwnSlide-v0?"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused(env_id: str, says: str) -> None:
    with pytest.raises(RequestError, match=says):
        check_env(with_user_consent(EnvChoice(env_id)))


@pytest.mark.parametrize(
    "words", [["own_envs:Slide"], ["OwnSlide-v0", "--env-module", "own_envs"]], ids=" ".join
)
def test_an_own_environment_is_trained_and_measured_like_any_other(
    words: list[str], runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--steps", "60", "--runs-dir", str(runs_dir), "--json"]
    assert app.main(["train", *words, *options, *small()]) == 0
    ended = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert app.main(["eval", ended["last_checkpoint"], "--episodes", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["episodes"] == 2


def test_a_name_without_its_version_gets_the_preset_of_the_newest(
    runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--steps", "60", "--no-eval", "--runs-dir", str(runs_dir), "--json"]
    assert app.main(["train", "Pendulum", *options]) == 0
    run = Path(json.loads(capsys.readouterr().out.splitlines()[-1])["run"])
    assert 'preset = "Pendulum-v1"' in (run / "run.toml").read_text()
