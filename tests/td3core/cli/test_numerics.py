"""Commands find a process of the class that a run needs, and resume no other run as exact."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from td3core import checkpoint
from td3core.cli import app
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
