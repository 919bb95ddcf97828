"""Environments in separate processes: the same run, the same faults, and nothing left over."""

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import psutil
import pytest

from td3core import __version__, checkpoint
from td3core.cli import app
from td3core.config.env_choice import EnvChoice
from td3core.envs import make
from td3core.protocol.events import Ended, Failed, Progress
from td3core.runs.tables import read_table
from tests.support.marks import slow
from tests.support.scripted import Script
from tests.support.waiting import eventually
from tests.td3core.cli.test_commands import small
from tests.td3core.helpers import fail, finish, run, same, tensors

WAIT_S = 30.0

MODULE = """
import itertools, multiprocessing, os, pathlib, sys, time
import gymnasium as gym
import numpy as np

class Slide(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (2,))
    action_space = gym.spaces.Box(np.float32([-3, 0]), np.float32([1, 10]))
    length = 9

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.np_random.uniform(-1, 1, 2).astype("f"), {}

    def step(self, action):
        self.steps += 1
        obs = self.np_random.uniform(-1, 1, 2).astype("f")
        return self.outcome(obs, -abs(float(action[0])), self.steps >= self.length)

    def outcome(self, obs, reward, over):
        return obs, reward, False, over, {}

class Late(Slide):
    # Only the third episode of the run, which has the third slot, is long enough to fail.
    def fault(self):
        return self.steps == 5 and self.np_random_seed == THIRD

class Raises(Late):
    def outcome(self, *parts):
        if self.fault():
            raise ValueError("the joint broke")
        return super().outcome(*parts)

class Leaves(Late):
    def outcome(self, *parts):
        if self.fault():
            sys.exit()
        return super().outcome(*parts)

class SaysNan(Late):
    def outcome(self, obs, *parts):
        return super().outcome(obs * np.nan if self.fault() else obs, *parts)

class PaysNan(Late):
    def outcome(self, obs, reward, over):
        return super().outcome(obs, np.nan if self.fault() else reward, over)

class Grows(Late):
    def outcome(self, obs, *parts):
        return super().outcome(np.zeros(3) if self.fault() else obs, *parts)

class Ends(Late):
    def outcome(self, *parts):
        if self.fault():
            os._exit(7)
        return super().outcome(*parts)

class NoGround(Slide):
    def reset(self, *, seed=None, options=None):
        if seed == THIRD:
            raise RuntimeError("no ground to stand on")
        return super().reset(seed=seed)

class Torchless(Slide):
    def reset(self, **words):
        assert "torch" not in sys.modules
        return super().reset(**words)

made = itertools.count()

class OtherActions(Slide):
    def __init__(self):
        if next(made) == 2:
            self.action_space = gym.spaces.Box(-1, 1, (2,))

class OtherObservations(Slide):
    def __init__(self):
        if next(made) == 2:
            self.observation_space = gym.spaces.Box(-1, 1, (3,))

class Hangs(Slide):
    def step(self, action):
        # Not while it is tried before.
        if multiprocessing.parent_process() is None:
            return super().step(action)
        pathlib.Path(__file__).with_name("stepping").touch()
        time.sleep(600)
"""


@pytest.fixture(autouse=True)
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from td3core.randomness import Purpose, episode_seed

    third = episode_seed(0, Purpose.ENVIRONMENT, 2)
    (tmp_path / "own_fleet.py").write_text(f"THIRD = {third}\n{MODULE}")
    monkeypatch.syspath_prepend(str(tmp_path))
    # As if they had been tried: that takes a process more, which is none of those of this file.
    names = re.findall(r"^class (\w+)", MODULE, re.MULTILINE)
    usable = {EnvChoice(f"own_fleet:{name}") for name in names}
    monkeypatch.setattr(make, "usable_environments", usable)
    yield
    sys.modules.pop("own_fleet", None)


def without_time(outcome: Ended, name: str) -> list[dict[str, str]]:
    rows = read_table(outcome.run / f"{name}.csv")
    return [{k: v for k, v in row.items() if k != "time_s"} for row in rows]


@pytest.mark.parametrize(
    "more",
    slow({}, {"normalize_observations": True, "background_evaluation": True}),
)
def test_a_run_is_the_same_bit_for_bit_wherever_its_environments_are_stepped(
    runs_dir: Path, more: dict[str, Any]
) -> None:
    values = {"steps": 700, "num_envs": 3, "learning_starts": 100, "eval_interval": 200} | more
    here, one, two = (finish(runs_dir, "Pendulum-v1", env_processes=k, **values) for k in (0, 1, 2))
    for other in (one, two):
        assert same(tensors(here.last_checkpoint), tensors(other.last_checkpoint))
        for name in ("episodes", "training", "evaluations"):
            assert without_time(here, name) == without_time(other, name)
    assert len(without_time(here, "episodes")) == 3
    assert len(without_time(here, "evaluations")) == 4


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ("Raises", "raised ValueError at step 12 (step 4 of episode 2): the joint broke"),
        pytest.param(
            "Leaves",
            "raised SystemExit at step 12 (step 4 of episode 2): it called sys.exit()",
            marks=pytest.mark.slow,
        ),
        # Each of the next three is found at the same place.
        pytest.param(
            "PaysNan", "a reward of nan at step 12 (step 4 of episode 2)", marks=pytest.mark.slow
        ),
        pytest.param(
            "SaysNan",
            "an observation that is not finite at step 12 (step 4 of episode 2)",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "Grows", "an observation of size 3 instead of 2 at step 12", marks=pytest.mark.slow
        ),
        ("NoGround", "raised RuntimeError at step 0 (step 0 of episode 2): no ground"),
    ],
)
@pytest.mark.slow
def test_a_fault_in_a_process_ends_the_run_with_the_same_words(
    runs_dir: Path, env: str, says: str
) -> None:
    here, _ = fail(runs_dir, f"own_fleet:{env}", num_envs=3)
    there, told = fail(runs_dir, f"own_fleet:{env}", num_envs=3, env_processes=2)
    assert says in str(here.message)
    assert str(there.message) == str(here.message)
    assert there.env_steps == here.env_steps
    # A traceback leads to what was raised, in the process too.
    raised = "raised" in says
    for failed in (here, there):
        assert ("own_fleet.py" in failed.details) == bool(failed.details) == raised
    assert not there.request
    assert told.events[-1] is there


@pytest.mark.parametrize(
    ("env", "processes"),
    [
        ("OtherActions", 0),
        pytest.param("OtherObservations", 1, marks=pytest.mark.slow),
        pytest.param("OtherActions", 1, marks=pytest.mark.slow),
        pytest.param("OtherObservations", 0, marks=pytest.mark.slow),
    ],
)
def test_environments_that_differ_in_their_spaces_are_refused(
    runs_dir: Path, env: str, processes: int
) -> None:
    # One is made to look at, here and in the process, and then one for each slot.
    outcome, _ = fail(runs_dir, f"own_fleet:{env}", num_envs=3, env_processes=processes)
    assert "changed at step 0 (step 0 of episode 1)" in str(outcome.message)
    expected = "observations of size 2 and actions in [-3, 1], [0, 10]"
    assert str(outcome.message).endswith(f"instead of {expected}.")
    assert "actions in [-1, 1]" in str(outcome.message) or "of size 3" in str(outcome.message)


@pytest.mark.slow
def test_a_lost_process_ends_the_run_and_keeps_what_was_done(runs_dir: Path) -> None:
    outcome, _ = fail(runs_dir, "own_fleet:Ends", num_envs=3, env_processes=2)
    assert str(outcome.message) == (
        "The process that stepped environments 1 to 2 ended unexpectedly (exit code 7)."
    )
    assert checkpoint.read_header(outcome.last_checkpoint).counters.env_steps == 12


@pytest.mark.slow
def test_a_killed_process_ends_the_run(runs_dir: Path) -> None:
    def react(event: Any) -> None:
        if isinstance(event, Progress):
            for child in multiprocessing.active_children():
                os.kill(child.pid, signal.SIGKILL)

    outcome, _ = run(runs_dir, "Pendulum-v1", react=react, num_envs=2, env_processes=2, steps=10**6)
    assert isinstance(outcome, Failed)
    assert "ended unexpectedly (exit code -9)" in str(outcome.message)


def test_an_environment_only_this_program_knows_is_refused_before_the_start(
    runs_dir: Path, scripted: Any
) -> None:
    outcome, _ = fail(runs_dir, scripted(Script()), num_envs=2, env_processes=1)
    assert outcome.request
    assert "as env_processes asks" in str(outcome.message)
    assert "package.module:Class" in str(outcome.message)
    assert not runs_dir.exists()


@pytest.mark.slow
def test_processes_of_another_version_refuse_the_run_with_a_sentence(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("td3core.system.child_process.__version__", "0.0.9")
    outcome, _ = fail(runs_dir, "own_fleet:Torchless", num_envs=2, env_processes=2)
    assert outcome.request
    assert (
        str(outcome.message) == f"TD3 Studio was updated from 0.0.9 to {__version__}: restart it."
    )
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_an_own_environment_is_trained_from_the_command_line_in_processes_without_torch(
    runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    processes = ["--set", "num_envs=4", "--set", "env_processes=2"]
    options = ["--steps", "60", "--runs-dir", str(runs_dir), "--json", *small(), *processes]
    assert app.main(["train", "own_fleet:Torchless", *options]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["env_steps"] == 60


@pytest.mark.slow
def test_the_processes_die_with_a_training_that_is_killed_even_within_a_step(
    tmp_path: Path, root: Path
) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        from td3core.cli import app
        if __name__ == "__main__":
            app.main(["train", "own_fleet:Hangs", "--runs-dir", {str(tmp_path / "runs")!r},
                      "--no-eval", "--set", "num_envs=2", "--set", "env_processes=2",
                      "--set", "env_check=false"])
        """)
    )
    environment = os.environ | {"PYTHONPATH": str(root)}
    training = subprocess.Popen([sys.executable, str(script)], env=environment, stderr=-3)
    try:
        eventually((tmp_path / "stepping").exists)
        children = psutil.Process(training.pid).children(recursive=True)
    finally:
        training.kill()
        training.wait()
    assert len(children) >= 2
    _, alive = psutil.wait_procs(children, timeout=WAIT_S)
    assert not alive
