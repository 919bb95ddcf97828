"""``--json``: one object as the last line of standard output, however the command ends."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from td3core.cli import app
from td3core.cli.terminal import CommandResult, print_json
from tests.support.marks import release, slow
from tests.support.scripted import STEPS, Script
from tests.td3core.cli.test_commands import TRAIN_KEYS, small
from tests.td3core.helpers import finish, write_checkpoint

NOISY = """
import atexit, ctypes, os, sys
import gymnasium as gym
from gymnasium.spaces import Box

libc = ctypes.CDLL(None)


def noise():
    print("printed by Python")
    os.write(1, b"written to the descriptor\\n")
    libc.puts(b"put by C")
    os.system("echo printed by a child")
    sys.__stdout__.write("written to the first stream\\n")


noise()
atexit.register(noise)


class Noisy(gym.Env):
    action_space = Box(-1.0, 1.0, (1,))
    observation_space = Box(-1.0, 1.0, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        noise()
        return self.observation_space.sample(), {}

    def step(self, action):
        noise()
        if os.environ.get("CLOSE"):
            sys.stdout.close()
        self.steps += 1
        return self.observation_space.sample(), 0.0, False, self.steps == 5, {}

    def close(self):
        noise()
"""


@pytest.fixture
def noisy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path) -> Iterator[Path]:
    """Return a folder with an environment that prints in every way there is."""
    (tmp_path / "noisy_env.py").write_text(NOISY)
    monkeypatch.setenv("PYTHONPATH", str(root))
    return tmp_path


def run(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "td3core", *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


def only_object(out: str) -> Any:
    (line,) = out.splitlines()
    return json.loads(line)


@pytest.mark.parametrize("close", [*slow(""), *release("yes")], ids=["printing", "closing"])
def test_what_an_environment_prints_goes_to_standard_error(
    noisy: Path, monkeypatch: pytest.MonkeyPatch, close: str
) -> None:
    monkeypatch.setenv("CLOSE", close)
    more: dict[str, Any] = {"eval_interval": 10}
    # Where it is stepped in another process, it closes what it prints to itself.
    more |= {} if close else {"background_evaluation": "true", "num_envs": 2, "env_processes": 1}
    options = ["--steps", "30", "--threads", "1", "--runs-dir", "runs", "--json", *small(**more)]
    done = run(noisy, "train", "noisy_env:Noisy", *options)
    found = only_object(done.stdout)
    assert (done.returncode, found["stopped"]) == (0, "finished"), done.stderr
    for line in ("printed by Python", "written to the descriptor", "put by C"):
        assert line in done.stderr
    done = run(noisy, "eval", found["run"], "--episodes", "2", "--json")
    assert (done.returncode, only_object(done.stdout)["episodes"]) == (0, 2)
    assert run(noisy, "check", "noisy_env:Noisy", "--json").stdout.count("\n") == 1


REFUSALS = {
    "unknown option": ["train", STEPS, "--json", "--nosuch"],
    "missing argument": ["eval", "--json"],
    "unknown command": ["trian", "--json"],
    "command without --json": ["doctor", "--json"],
    "value of the wrong type": ["eval", "agent", "--episodes", "x", "--json"],
    "no such file": ["eval", "no such agent", "--json"],
    "no such run": ["resume", "no such run", "--json"],
    "no such checkpoint": ["branch", "no such agent", "--json"],
    "nothing to verify": ["verify", "no such run", "--json"],
    "no such environment": ["check", "Pendulm-v1", "--json"],
    "no video": ["replay", "no such agent", "--video", "a.mp4", "--json"],
}


@pytest.mark.parametrize("words", REFUSALS.values(), ids=REFUSALS)
def test_every_refusal_prints_an_object_with_its_sentence(
    words: list[str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert app.main(words) == 2
    captured = capsys.readouterr()
    assert captured.err.endswith(f"{only_object(captured.out)['error']}\n")


def test_json_after_two_dashes_is_an_argument(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.main(["eval", "--", "--json"]) == 2
    assert capsys.readouterr().out == ""


def test_help_is_no_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.main(["train", "--json", "--help"]) == 0
    captured = capsys.readouterr()
    assert only_object(captured.out) == {}
    assert "--steps" in captured.err


def test_a_failed_run_has_all_its_keys_and_the_error(
    capsys: pytest.CaptureFixture[str], runs_dir: Path, scripted: Any
) -> None:
    env = scripted(Script(faults={30: lambda o: (o[0], float("nan"), *o[2:])}))
    options = ["--steps", "60", "--runs-dir", str(runs_dir), "--json", *small()]
    assert app.main(["train", env, *options]) == 1
    found = only_object(capsys.readouterr().out)
    assert set(found) == TRAIN_KEYS | {"message", "error"}
    assert found["error"] == found["message"]


@pytest.mark.parametrize(
    ("problem", "status", "says"),
    [
        (KeyboardInterrupt(), 130, "Interrupted."),
        (SystemExit(0), 1, "sys.exit(0)"),
        (TypeError("odd"), 1, "TypeError: odd"),
        (EOFError(), 1, "EOFError"),
    ],
    ids=["Ctrl-C", "exit", "fault", "input"],
)
def test_every_other_ending_prints_an_object_too(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    problem: BaseException,
    status: int,
    says: str,
) -> None:
    def ended(*_: object, **__: object) -> None:
        raise problem

    path = write_checkpoint(tmp_path / "a.safetensors")
    monkeypatch.setattr("td3core.evaluation.evaluate.evaluate", ended)
    assert app.main(["eval", str(path), "--json"]) == status
    assert says in only_object(capsys.readouterr().out)["error"]


def test_an_evaluation_without_finite_returns_is_valid_json(
    capsys: pytest.CaptureFixture[str], runs_dir: Path, scripted: Any
) -> None:
    rewards = iter([*[0.0] * 60, float("inf"), *[0.0] * 9, float("nan"), *[0.0] * 9])
    env = scripted(Script(reward=lambda step, action: next(rewards)))
    outcome = finish(runs_dir, env)
    assert app.main(["eval", str(outcome.run), "--episodes", "2", "--json"]) == 0
    found = only_object(capsys.readouterr().out)
    assert (found["returns"], found["mean"]) == (["Infinity", "NaN"], "NaN")


def test_numbers_that_json_lacks_are_strings(capsys: pytest.CaptureFixture[str]) -> None:
    values = {"a": float("nan"), "b": (float("inf"), [-float("inf")]), "c": 1.5, "d": Path("x")}
    print_json(CommandResult(result=values))
    expected = {"a": "NaN", "b": ["Infinity", ["-Infinity"]], "c": 1.5, "d": "x"}
    assert only_object(capsys.readouterr().out) == expected
