"""An environment that calls sys.exit: every command fails with a sentence."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from td3core.cli import app
from td3core.randomness import Purpose, episode_seed
from tests.td3core.cli.test_commands import last_line, small

MODULE = """
import os, sys
import gymnasium as gym
import numpy as np

class Leaves(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (2,))
    action_space = gym.spaces.Box(-1, 1, (1,))
    where = os.environ.get("LEAVE", "")

    def reset(self, *, seed=None, options=None):
        self.steps, self.seed = 0, seed
        return np.zeros(2, "f"), {}

    def step(self, action):
        self.steps += 1
        if Leaves.where == "step" or (Leaves.where == "evaluation" and self.seed == EVALUATION):
            sys.exit()
        return np.zeros(2, "f"), 0.0, False, self.steps == 10, {}
"""

OPTIONS = ["--steps", "30", "--threads", "1", "--set", "env_check=false"]


@pytest.fixture
def leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the name of an environment that exits where ``LEAVE`` says."""
    seed = episode_seed(0, Purpose.EVALUATION, 0)
    (tmp_path / "own_leaves.py").write_text(f"EVALUATION = {seed}\n{MODULE}")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "own_leaves:Leaves"
    sys.modules.pop("own_leaves", None)


def test_training_and_checking_fail_with_a_sentence(
    leaves: str, runs_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAVE", "step")
    options = [*OPTIONS, *small(), "--runs-dir", str(runs_dir), "--json"]
    assert app.main(["train", leaves, *options]) == 1
    captured = capsys.readouterr()
    assert "raised SystemExit at step 0 (step 0 of episode 0): it called sys.exit()" in captured.err
    assert last_line(captured.out)["stopped"] == "failed"
    assert app.main(["check", leaves]) == 1
    assert "sys.exit()" in capsys.readouterr().out


def test_evaluating_fails_with_a_sentence(
    leaves: str, runs_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = [*OPTIONS, *small(), "--runs-dir", str(runs_dir), "--json"]
    assert app.main(["train", leaves, *options]) == 0
    run = last_line(capsys.readouterr().out)["run"]
    monkeypatch.setattr(sys.modules["own_leaves"].Leaves, "where", "step")
    assert app.main(["eval", run]) == 1
    assert "sys.exit()" in capsys.readouterr().err


@pytest.mark.parametrize("beside", ["true", "false"])
def test_an_exit_in_an_evaluation_fails_the_run_with_its_step(
    leaves: str,
    runs_dir: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    beside: str,
) -> None:
    monkeypatch.setenv("LEAVE", "evaluation")
    values = {"eval_interval": 10, "background_evaluation": beside, "learning_starts": 10**6}
    options = [*OPTIONS, *small(**values), "--runs-dir", str(runs_dir), "--json"]
    status = app.main(["train", leaves, *options])
    captured = capsys.readouterr()
    assert status == 1, captured
    assert "The evaluation at step 30 failed: SystemExit: it called sys.exit()" in captured.err
