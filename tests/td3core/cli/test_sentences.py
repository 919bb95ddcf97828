"""Failures of an environment, a path or a terminal are one sentence, never a traceback."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box

from td3core.cli import app
from td3core.config.network_size import network_bytes
from td3core.config.networks import Sizes
from td3core.envs.check import rehearsal
from td3core.envs.make import make_env
from tests.support.scripted import STEPS, Script
from tests.td3core.cli.test_commands import small
from tests.td3core.helpers import finish, tiny

LONG = "y" * 5000


def sentence(capsys: pytest.CaptureFixture[str], status: int, *words: str) -> str:
    """Run a command that has to fail with this status; return the one line it reports."""
    assert app.main(list(words)) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    return line


def fail() -> None:
    raise ValueError("out of order")


@pytest.mark.parametrize("place", ["on_reset", "on_step"])
def test_an_environment_that_raises_in_an_evaluation_is_named(
    capsys: pytest.CaptureFixture[str], runs_dir: Path, scripted: Any, place: str
) -> None:
    script = Script()
    env = scripted(script)
    run = str(finish(runs_dir, env).run)
    setattr(script, place, lambda _: fail())
    said = sentence(capsys, 1, "eval", run)
    assert said == f"td3-studio: The environment {env} raised ValueError: out of order."


def test_an_observation_of_another_size_is_reported_with_its_step(
    capsys: pytest.CaptureFixture[str], runs_dir: Path, scripted: Any
) -> None:
    script = Script()
    run = str(finish(runs_dir, scripted(script)).run)
    script.faults = {script.steps + 3: lambda outcome: (np.zeros(7), *outcome[1:])}
    said = sentence(capsys, 1, "eval", run)
    assert "an observation of size 7 instead of 2 after step 3" in said


class Spaces(gym.Env[Any, Any]):
    """Has the spaces it is given, and no dynamics."""

    def __init__(self, spaces: dict[str, Box]) -> None:
        self.action_space, self.observation_space = spaces["action"], spaces["observation"]

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(self.observation_space.shape or (), np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        obs, info = self.reset()
        return obs, 0.0, False, True, info


@pytest.fixture
def spaces() -> Any:
    """Yield the spaces of an environment called Spaces-v0, to be changed."""
    boxes = {"action": Box(-1.0, 1.0, (1,)), "observation": Box(-1.0, 1.0, (2,))}
    # The registry copies its arguments; a function does not change by that.
    gym.register("Spaces-v0", lambda: Spaces(boxes))
    yield boxes
    gym.registry.pop("Spaces-v0")


@pytest.mark.parametrize(
    ("which", "space", "name"),
    [
        ("observation", Box(-1.0, 1.0, (5,)), "obs_dim"),
        ("action", Box(-1.0, 1.0, (3,)), "act_dim"),
        ("action", Box(-2.0, 1.0, (1,)), "action_low"),
    ],
    ids=["observations", "actions", "bounds"],
)
def test_an_environment_that_changed_since_the_agent_was_saved_is_refused(
    capsys: pytest.CaptureFixture[str],
    runs_dir: Path,
    tmp_path: Path,
    spaces: dict[str, Box],
    which: str,
    space: Box,
    name: str,
) -> None:
    run = str(finish(runs_dir, "Spaces-v0").run)
    spaces[which] = space
    assert f"its {name} was" in sentence(capsys, 2, "eval", run)
    assert f"its {name} was" in sentence(capsys, 2, "replay", run, "--video", f"{tmp_path}/a.mp4")


@pytest.mark.parametrize("which", ["observation", "action"])
def test_a_space_without_numbers_is_refused(
    capsys: pytest.CaptureFixture[str], runs_dir: Path, spaces: dict[str, Box], which: str
) -> None:
    spaces[which] = Box(-1.0, 1.0, (0,))
    said = sentence(capsys, 2, "train", "Spaces-v0", "--runs-dir", str(runs_dir), *small())
    assert f"{which}s of shape (0,), which are empty" in said
    assert not runs_dir.exists()


def test_an_environment_that_cannot_be_closed_is_used_all_the_same(
    runs_dir: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    env = scripted(Script())
    monkeypatch.setattr("tests.support.scripted.ScriptedEnv.close", lambda self: fail())
    run = str(finish(runs_dir, env, eval_interval=30).run)
    assert app.main(["eval", run]) == 0
    caplog.clear()
    make_env(env).close()
    assert "close() raised ValueError: out of order" in caplog.text


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ("a:b:c", "more than one colon"),
        ("../a:B", "names no module"),
        (".a:B", "names no module"),
        ("a..b:B", "names no module"),
        (":B", "names no module"),
        ("/tmp/a.py:B", "names no module"),
    ],
)
def test_a_malformed_module_is_refused_at_once_with_how_to_write_it(
    capsys: pytest.CaptureFixture[str],
    runs_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    env: str,
    says: str,
) -> None:
    # No process could make anything of it.
    monkeypatch.setattr(rehearsal, "MessageProcess", lambda *_: pytest.fail("it was tried"))
    said = sentence(capsys, 2, "train", env, "--runs-dir", str(runs_dir))
    assert says in said
    assert "write package.module:Class" in said


PATHS = {
    "eval": ["eval", LONG],
    "resume": ["resume", LONG],
    "branch": ["branch", LONG],
    "verify": ["verify", LONG],
    "list": ["list", "--runs-dir", LONG],
    "export": ["export", "agent", "--to", f"{LONG}.safetensors"],
    "replay": ["replay", "agent", "--video", f"{LONG}.mp4"],
    "journal": ["train", STEPS, "--journal", LONG],
    "runs folder": ["train", STEPS, "--runs-dir", LONG],
}


@pytest.mark.parametrize("words", PATHS.values(), ids=PATHS)
def test_a_path_that_is_too_long_is_refused(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "File name too long" in sentence(capsys, 2, *words)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_may_not_be_read_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.is_file

    def is_file(path: Path) -> bool:
        if path.name == "locked":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    # The superuser may read everything.
    monkeypatch.setattr(Path, "is_file", is_file)
    assert sentence(capsys, 2, "eval", str(tmp_path / "locked")).endswith(
        "locked cannot be used: Permission denied."
    )


@pytest.mark.parametrize("hidden", ["actor_hidden", "critic_hidden"])
def test_networks_beyond_memory_are_refused_before_anything_is_made(
    capsys: pytest.CaptureFixture[str],
    runs_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    hidden: str,
) -> None:
    monkeypatch.setattr("td3core.algorithm.device.usable_memory", lambda: 2**20)
    words = ["train", STEPS, "--runs-dir", str(runs_dir), *small(**{hidden: "2000,2000"})]
    said = sentence(capsys, 2, *words)
    assert "GiB; this machine has 0.0 GiB" in said
    assert not runs_dir.exists()


def test_the_memory_of_networks_counts_every_parameter_five_times() -> None:
    config, tunables = tiny(actor_hidden=(10,), critic_hidden=(20,), batch_size=7)
    actor = (3 * 10 + 10) + (10 * 2 + 2)
    critic = (5 * 20 + 20) + (20 * 1 + 1)
    units = (10 + 2) + 2 * (20 + 1)
    expected = 4 * (5 * (actor + 2 * critic) + 2 * 7 * units)
    assert network_bytes(config, tunables, Sizes(3, 2)) == expected


CLOSING = """
import sys
import gymnasium as gym
from gymnasium.spaces import Box


class Closing(gym.Env):
    action_space = observation_space = Box(-1.0, 1.0, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        sys.stdout.close()
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 0.0, False, True, {}
"""


@pytest.mark.release
def test_results_reach_an_ascii_terminal_whose_environment_closes_it(
    tmp_path: Path, root: Path
) -> None:
    (tmp_path / "closing_env.py").write_text(CLOSING)
    variables = {"PYTHONPATH": str(root), "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "td3core", *words],
            cwd=tmp_path,
            env=os.environ | variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
        return done.stdout

    few = ["--steps", "30", "--threads", "1", "--runs-dir", "runs", *small(eval_interval=10)]
    run("train", "closing_env:Closing", *few)
    (path,) = (tmp_path / "runs").iterdir()
    assert run("eval", str(path), "--episodes", "2").startswith("return 0.0 ")
    assert path.name[:8] in run("list", "--runs-dir", "runs")
