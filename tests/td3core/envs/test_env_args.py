"""Arguments an environment is made with: wherever it is made, and only there."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from td3core import checkpoint
from td3core.cli import app
from td3core.config import RunConfig, make_settings
from td3core.config.env_choice import EnvChoice
from td3core.envs.agent_view import ActionRepeat
from td3core.envs.make import check_env, make_env
from td3core.envs.trust import with_user_consent
from td3core.errors import RequestError
from td3core.evaluation.evaluate import evaluate
from td3core.protocol.events import Ended, Started, Warned
from td3core.runs.directory import RunDirectory
from td3core.runs.reader import RunReader
from td3core.runs.status import Status
from td3core.runs.tables import read_table
from tests.td3core.cli.test_commands import last_line, small
from tests.td3core.helpers import finish, make_agent, make_header, refusal, write_checkpoint
from tests.td3core.helpers import run as play

HILLS = """
import gymnasium as gym
import numpy as np

class Hills(gym.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}
    action_space = gym.spaces.Box(-1, 1, (1,))
    def __init__(self, height=1.0, width=3, render_mode=None):
        assert height > 0, f"a hill of height {height} is none"
        self.height, self.render_mode = height, render_mode
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (width,))
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.np_random.uniform(-1, 1, self.observation_space.shape).astype("f"), {}
    def step(self, action):
        self.steps += 1
        obs = np.full(self.observation_space.shape, 0.1, "f")
        return obs, float(self.height), False, self.steps >= 10, {}
    def render(self):
        return np.full((64, 64, 3), 255 * (self.height == 7.0), "u1")

gym.register("Hills-v0", Hills)
"""

HIGH = '{"height": 7.0, "width": 4}'
THRICE = '{"action_repeat": 3}'


@pytest.fixture
def hills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "hills.py").write_text(HILLS)
    monkeypatch.syspath_prepend(str(tmp_path))
    # For the process that evaluates, too.
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    yield "hills:Hills"
    sys.modules.pop("hills", None)
    gym.registry.pop("Hills-v0", None)


@pytest.mark.parametrize("name", ["hills:Hills", "hills:Hills-v0"])
def test_arguments_reach_a_class_and_a_registered_id(hills: str, name: str) -> None:
    env = make_env(with_user_consent(EnvChoice(name, HIGH)))
    assert (env.unwrapped.height, env.observation_space.shape) == (7.0, (4,))
    info = check_env(with_user_consent(EnvChoice(name, HIGH)))
    assert (info.obs_dim, info.choice) == (4, EnvChoice(name, HIGH))
    assert check_env(with_user_consent(EnvChoice(name))).obs_dim == 3


@pytest.mark.parametrize("beside", [True, False], ids=["beside", "in the run"])
@pytest.mark.slow
def test_a_run_and_its_evaluations_are_made_with_the_arguments(
    hills: str, runs_dir: Path, beside: bool
) -> None:
    ended, told = play(
        runs_dir, hills, env_args=HIGH, eval_interval=30, background_evaluation=beside
    )
    assert isinstance(ended, Ended)
    assert told.all(Warned) == [], "or the process beside could not make it"
    assert ended.last_eval_return == ended.best_eval_return == 70.0
    run = RunDirectory.open(ended.run)
    assert run.config.choice == EnvChoice(hills, HIGH)
    header = checkpoint.read_header(run.best)
    assert (header.env.args, header.env.obs_dim) == (HIGH, 4)


@pytest.mark.slow
def test_a_checkpoint_is_measured_and_filmed_with_its_arguments(
    hills: str, runs_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = str(finish(runs_dir, hills, env_args=HIGH).last_checkpoint)
    assert app.main(["eval", saved, "--trust-env", "--episodes", "2", "--json"]) == 0
    assert last_line(capsys.readouterr().out)["returns"] == [70.0, 70.0]
    film = tmp_path / "film.mp4"
    assert app.main(["replay", saved, "--trust-env", "--video", str(film), "--json"]) == 0
    assert last_line(capsys.readouterr().out)["returns"] == [70.0]
    assert film.stat().st_size > 0


def test_the_command_line_takes_them_as_a_setting(
    hills: str, runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--steps", "30", "--no-eval", "--runs-dir", str(runs_dir), "--json"]
    assert app.main(["train", hills, f"--set=env_args={HIGH}", *options, *small()]) == 0
    run = Path(last_line(capsys.readouterr().out)["run"])
    assert RunDirectory.open(run).config.choice.kwargs == {"height": 7.0, "width": 4}


@pytest.mark.slow
def test_a_mujoco_model_of_ones_own_is_trained_and_measured(
    tmp_path: Path, runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assets = Path(gym.__file__).parent / "envs" / "mujoco" / "assets"
    model = tmp_path / "my_ant.xml"
    model.write_text((assets / "ant.xml").read_text().replace('size="0.25"', 'size="0.3"'))
    args = json.dumps({"xml_file": str(model), "healthy_z_range": [0.1, 1.5]})
    options = ["--steps", "30", "--no-eval", "--runs-dir", str(runs_dir), "--json"]
    command = ["train", "Ant-v5", f"--set=env_args={args}", *options, *small(env_check="on")]
    assert app.main(command) == 0
    saved = last_line(capsys.readouterr().out)["last_checkpoint"]
    env = make_env(checkpoint.read_header(Path(saved)).config.choice)
    assert env.unwrapped._healthy_z_range == [0.1, 1.5]
    assert env.unwrapped.model.geom("torso_geom").size[0] == 0.3
    env.close()
    assert app.main(["eval", saved, "--episodes", "1", "--json"]) == 0
    capsys.readouterr()
    model.unlink()
    assert app.main(["eval", saved]) == 2
    assert str(model) in capsys.readouterr().err


def test_the_time_limit_is_an_argument_too() -> None:
    assert check_env(EnvChoice("Pendulum-v1", '{"max_episode_steps": 50}')).max_episode_steps == 50


@pytest.mark.parametrize(
    ("args", "solved"),
    [
        ("", 90.0),
        (THRICE, 90.0),
        ('{"max_episode_steps": 50}', None),
        ('{"goal_velocity": 1}', None),
    ],
)
def test_an_environment_with_arguments_is_solved_at_no_known_return(
    args: str, solved: float | None
) -> None:
    choice = EnvChoice("MountainCarContinuous-v0", args)
    assert check_env(choice).reward_threshold == solved


def test_a_run_of_before_loses_the_threshold_of_another_environment(runs_dir: Path) -> None:
    ended = finish(
        runs_dir, "MountainCarContinuous-v0", env_args='{"max_episode_steps": 50}', steps=150
    )
    run = RunDirectory.open(ended.run)
    status = Status.read(run.path)
    assert status is not None
    replace(status, reward_threshold=90.0).write(run.path)
    found = checkpoint.load(run.last)
    old = replace(found.header, env=replace(found.header.env, reward_threshold=90.0))
    checkpoint.save(run.last, old, found.tensors)
    assert checkpoint.read_header(run.last).env.reward_threshold is None
    (started,) = (e for e in RunReader(run.path).drain() if isinstance(e, Started))
    assert started.reward_threshold is None


def test_an_action_can_be_repeated_in_any_environment() -> None:
    once, thrice = make_env("Pendulum-v1"), make_env(EnvChoice("Pendulum-v1", THRICE))
    once.reset(seed=5)
    thrice.reset(seed=5)
    for _ in range(66):
        action = thrice.action_space.sample() / 2
        parts = [once.step(action) for _ in range(3)]
        obs, reward, terminated, truncated, _ = thrice.step(action)
        np.testing.assert_array_equal(obs, parts[-1][0])
        assert reward == pytest.approx(sum(part[1] for part in parts))
        assert not terminated
        assert not truncated
    # Two of 200 steps are left.
    *_, truncated, _ = thrice.step(action)
    assert truncated
    assert check_env(EnvChoice("Pendulum-v1", THRICE)).max_episode_steps == 67
    assert thrice.metadata["render_fps"] == once.metadata["render_fps"] / 3
    once.close()
    thrice.close()


def test_a_run_with_repeated_actions_is_evaluated_and_continued_with_them(runs_dir: Path) -> None:
    ended = finish(runs_dir, "Pendulum-v1", env_args=THRICE, steps=150, learning_starts=20)
    run = RunDirectory.open(ended.run)
    assert [int(row["length"]) for row in read_table(run.path / "episodes.csv")] == [67, 67]
    assert checkpoint.read_header(run.last).env.choice.action_repeat == 3


@pytest.mark.parametrize("beside", [True, False], ids=["beside", "in the run"])
def test_repeats_follow_a_schedule_from_episode_to_episode_and_agents_keep_theirs(
    runs_dir: Path, beside: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = finish(
        runs_dir,
        "Pendulum-v1",
        env_args='{"action_repeat": "4, 2@90"}',
        steps=300,
        learning_starts=20,
        eval_interval=60,
        checkpoint_interval=60,
        keep_every=1,
        background_evaluation=beside,
    )
    run = RunDirectory.open(ended.run)
    # An episode keeps its own to its end.
    lengths = [int(row["length"]) for row in read_table(run.path / "episodes.csv")]
    assert lengths == [50, 50, 100, 100]
    evaluated = {
        row["env_steps"]: row["lengths"] for row in read_table(run.path / "evaluations.csv")
    }
    assert set(evaluated["60"].split()) == {"50"}
    assert set(evaluated["120"].split()) == {"100"}
    for step, repeat, length in ((60, 4, 50), (120, 2, 100)):
        saved = run.step_checkpoint(step)
        header = checkpoint.read_header(saved)
        assert (header.choice.action_repeat, header.env.max_episode_steps) == (repeat, 100)
        assert app.main(["eval", str(saved), "--episodes", "1", "--json"]) == 0
        assert last_line(capsys.readouterr().out)["lengths"] == [length]


class Counting(gym.Wrapper[Any, Any, Any, Any]):
    frames = 0

    def step(self, action: Any) -> Any:
        self.frames += 1
        return self.env.step(action)


def test_an_action_is_repeated_in_full_after_a_time_limit_too() -> None:
    counted = Counting(gym.make("Pendulum-v1", max_episode_steps=4))
    env = ActionRepeat(counted, 3)
    for episode in (1, 2):
        env.reset(seed=0)
        cut = [env.step(np.zeros(1, np.float32))[3] for _ in range(4)]
        assert cut == [False, True, True, True]
        # Three, one up to the limit, and three each beyond it.
        assert counted.frames == episode * 10
    env.close()


class InPlace(gym.ActionWrapper[Any, Any, Any]):
    def action(self, action: Any) -> Any:
        action *= 0.5
        return action


def test_an_environment_that_writes_to_its_action_gets_the_same_one_each_time() -> None:
    repeated = ActionRepeat(InPlace(gym.make("Pendulum-v1")), 3)
    single = InPlace(gym.make("Pendulum-v1"))
    repeated.reset(seed=0)
    single.reset(seed=0)
    action = np.full(1, 1.5, np.float32)
    expected = [single.step(action.copy())[0] for _ in range(3)]
    np.testing.assert_array_equal(repeated.step(action)[0], expected[-1])
    assert action == 1.5
    repeated.close()
    single.close()


REFUSED = {
    "no repeats": (
        '{"action_repeat": 0}',
        "action_repeat is neither a whole number from 1 to 100 nor",
    ),
    "half a repeat": ('{"action_repeat": 1.5}', "action_repeat is neither"),
    "a true repeat": ('{"action_repeat": true}', "action_repeat is neither"),
    "a percentage": ('{"action_repeat": "2, 1@50%"}', "action_repeat is neither"),
    "a schedule of too many": ('{"action_repeat": "2, 101@50"}', "action_repeat is neither"),
    "a repeat as text": ('{"action_repeat": "2"}', "action_repeat is neither"),
    "torn": ('{"height": ', "at character"),
    "a list": ("[1, 2]", "it is a list"),
    "a number": ("5", "it is a number"),
    "null": ("null", "it is null"),
    "not a number": ('{"height": NaN}', "NaN is not a JSON number"),
    "too large": ('{"height": 1e999}', "a number is too large"),
    "render mode": ('{"render_mode": "human"}', "render_mode is set by the studio"),
    "deep": ("[" * 10_000, "nested too deeply"),
    "python": ("__import__('os')", "at character 1"),
}


@pytest.mark.parametrize(("text", "says"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_a_json_object_is_refused_with_field_value_and_reason(
    text: str, says: str
) -> None:
    for refuse in (
        lambda: EnvChoice("Pendulum-v1", text),
        lambda: make_settings({"env": "Pendulum-v1", "env_args": text}),
    ):
        with pytest.raises(RequestError) as caught:
            refuse()
        said = str(caught.value)
        assert said.startswith("env_args cannot be ")
        assert text[:20] in said
        assert says in said
        assert len(said) < 600


MISTAKES = {
    "unknown": (
        '{"hieght": 2}',
        "env_args cannot contain hieght = 2: hills:Hills has no such argument",
    ),
    "refused": ('{"height": -1}', 'env_args {"height": -1}: a hill of height -1 is none'),
}


@pytest.mark.parametrize(("args", "says"), MISTAKES.values(), ids=MISTAKES)
def test_an_argument_the_environment_refuses_is_named_and_nothing_is_started(
    hills: str, runs_dir: Path, args: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", hills, f"--set=env_args={args}", "--runs-dir", str(runs_dir)]
    assert app.main(command) == 2
    assert says in capsys.readouterr().err
    assert not runs_dir.exists()


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({"xml_file": "/no/such/ant.xml"}, "/no/such/ant.xml does not exist"),
        ({"xml_fiel": "/ant.xml"}, "env_args cannot contain xml_fiel = '/ant.xml': Ant-v5 has no"),
    ],
)
def test_a_mujoco_file_that_is_not_there_is_named(args: Any, says: str) -> None:
    with pytest.raises(RequestError) as caught:
        make_env(EnvChoice("Ant-v5", json.dumps(args)))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_arguments_are_kept_in_one_spelling() -> None:
    config = RunConfig(env="Pendulum-v1", env_args=' {"g" :9.0 } ')
    assert config.env_args == '{"g": 9.0}'
    assert RunConfig(env="Pendulum-v1", env_args=" {} ").env_args == ""
    assert config == RunConfig(env="Pendulum-v1", env_args='{"g":9.0}')
    scheduled = EnvChoice("Pendulum-v1", '{"action_repeat": "2,1@1e6"}')
    assert scheduled.args == '{"action_repeat": "2@0, 1@1000000"}'
    assert scheduled == EnvChoice("Pendulum-v1", '{"action_repeat": "2, 1@1000000"}')


def test_reading_a_checkpoint_makes_no_environment_whatever_its_arguments(
    hills: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.safetensors"
    header = make_header(path, env="hills:Hills", env_args='{"height": -1}')
    header = replace(header, env=replace(header.env, args='{"height": -1}'))
    checkpoint.save(path, header, make_agent().state())
    assert checkpoint.load(path).header.env.choice.kwargs == {"height": -1}
    assert "hills" not in sys.modules


def test_a_checkpoint_with_arguments_that_are_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    header = make_header(path)
    info = replace(header.env)
    object.__setattr__(info, "args", "[]")
    checkpoint.save(path, replace(header, env=info), make_agent().state())
    assert "env_args" in refusal(path)


def test_a_checkpoint_from_before_there_were_arguments_opens(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "a.safetensors")
    with safe_open(path, framework="numpy") as file:
        meaning = json.loads(file.metadata()["td3_studio"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    known = checkpoint.read_header(path).env.choice
    del meaning["env"]["args"], meaning["config"]["env_args"], meaning["config"]["env_check"]
    save_file(tensors, path, metadata={"td3_studio": checkpoint.with_digest(meaning, tensors)})
    assert checkpoint.load(path).header.env.choice == EnvChoice(known.env_id)


def test_the_same_agent_does_otherwise_in_an_environment_made_otherwise() -> None:
    still = make_policy()
    usual = evaluate(still, "Pendulum-v1", episodes=1, seed=0)
    heavy = evaluate(still, EnvChoice("Pendulum-v1", '{"g": 20.0}'), episodes=1, seed=0)
    assert usual != heavy


def make_policy() -> Any:
    import numpy as np

    from td3core.inference.policy import Policy

    return Policy([(np.zeros((1, 3), np.float32), np.zeros(1, np.float32))], "relu")
