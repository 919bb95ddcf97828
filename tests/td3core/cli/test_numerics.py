"""Commands find a process of the class that a run needs, and resume no other run as exact."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from td3core import checkpoint
from td3core.cli import app
from td3core.cli import numerics as commands
from td3core.runs.directory import RunDirectory
from td3core.system import numerics
from tests.support.scripted import STEPS
from tests.td3core.training.resuming import VALUES, stopped

TRAIN = (
    *("train", "Pendulum-v1", "--steps=150", "--no-eval", "--json"),
    *("--set=learning_starts=50", "--set=actor_hidden=8", "--set=critic_hidden=8"),
)
two_classes = pytest.mark.skipif(
    numerics.natural() != "avx512", reason="needs a processor with two portable classes"
)


def td3_studio(root: Path, *words: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "td3core", *words]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
@two_classes
def test_commands_train_resume_and_evaluate_in_the_class_of_the_run(
    root: Path, runs_dir: Path
) -> None:
    where = f"--runs-dir={runs_dir}"
    run = td3_studio(root, *TRAIN, where, "--set=numerics=avx2")["run"]
    again = td3_studio(root, "resume", run, "--steps=200", "--exact", "--json")
    assert again["env_steps"] == 200
    header = checkpoint.read_header(Path(again["last_checkpoint"]))
    assert header.numerics["kernels"] == "Haswell"


def test_a_run_that_would_not_be_exact_is_refused_where_exactness_is_asked_for(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = "neon" if numerics.natural() != "neon" else "avx512"
    with monkeypatch.context() as patch:
        patch.setattr(numerics, "current", lambda: missing)
        run = stopped(runs_dir, 50, STEPS, **VALUES).run
    assert app.main(["resume", str(run), "--exact"]) == 2
    said = capsys.readouterr().err
    assert f"the numerics class was {missing} and is {numerics.current()}" in said
    assert not (run / "lock.json").exists()


def test_a_class_that_this_processor_lacks_is_refused(
    runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = "neon" if numerics.natural() != "neon" else "avx512"
    words = ["train", STEPS, f"--set=numerics={missing}", f"--runs-dir={runs_dir}"]
    assert app.main(words) == 2
    assert "this processor has no" in capsys.readouterr().err
    assert not runs_dir.exists()


@pytest.fixture
def of_another_class(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a run of a class for which a command needs another process."""
    other = "avx2" if numerics.current() != "avx2" else "avx512"
    with monkeypatch.context() as patch:
        patch.setattr(numerics, "current", lambda: other)
        run = stopped(runs_dir, 50, STEPS, **VALUES).run
    monkeypatch.setattr(commands, "needs_other_process", lambda name: name == other)
    return run


@pytest.mark.parametrize(
    "words",
    [
        ["film", "RUN", "--out", "a.mp4"],
        ["film", "AGENT", "AGENT", "--side-by-side", "--out", "a.mp4"],
        ["film", "RUN", "--tensorboard", "logs"],
        ["report", "RUN", "--film", "--out", "a.html"],
        ["export", "AGENT", "--to", "a.mp4"],
        ["eval", "AGENT"],
        ["replay", "AGENT", "--video", "a.mp4"],
    ],
    ids=lambda words: "-".join(word for word in words if word.isalpha() and word.islower()),
)
def test_whatever_plays_an_agent_does_so_in_the_class_of_its_run(
    of_another_class: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    needed = list[str]()
    monkeypatch.setattr(app, "run_again", lambda _, numerics, replace: needed.append(numerics) or 0)
    named = {"RUN": str(of_another_class), "AGENT": str(RunDirectory.open(of_another_class).last)}
    assert app.main([named.get(word, word) for word in words]) == 0
    assert needed == [RunDirectory.open(of_another_class).config.numerics]


def test_agents_of_several_classes_stay_in_one_process_which_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    commands.require_class("avx2", "avx512", "auto")
    said = " ".join(capsys.readouterr().err.split())
    assert f"classes avx2, avx512; here all of them play in {numerics.current()}" in said
