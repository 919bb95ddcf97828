"""Nothing is imported from the current folder except the module named by the user."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.hostile import HostileFolder
from tests.td3core.envs.test_own_environments import MODULE

SCRIPT = "from studio.__main__ import main; raise SystemExit(main())"
SMALL = ["--steps", "60", "--set", "actor_hidden=8,8", "--set", "critic_hidden=8,8"]
SMALL += ["--set", "learning_starts=20", "--set", "batch_size=8", "--set", "eval_interval=30"]
SMALL += ["--set", "num_envs=2", "--set", "env_processes=2", "--set", "background_evaluation=true"]


CHILD = """
import sys
from td3core.system.child_process import ChildProcess
from tests.support.report_path import CODEC, report_to

if __name__ == "__main__":
    child = ChildProcess("child", CODEC, report_to)
    found = child.pipe.receive()
    assert list(found.path) == sys.path, found
    assert not found.safe
    child.stop()
"""


@pytest.fixture
def hostile(tmp_path: Path) -> HostileFolder:
    return HostileFolder(tmp_path)


def started(root: Path, cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the installed program in a folder."""
    # The script of an installed program: its own folder comes first, the current one nowhere.
    script = cwd.parent / "bin" / "td3-studio"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f"if __name__ == '__main__':\n    {SCRIPT}\n")
    command = [sys.executable, str(script), *words]
    # The program is installed; its tests may not be.
    environment = os.environ | {"PYTHONPATH": str(root)}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        pytest.param(["train", "Pendulum-v1", *SMALL], marks=pytest.mark.slow),
        pytest.param(["check", "HalfCheetah-v5"], marks=pytest.mark.release),
        pytest.param(["doctor"], marks=pytest.mark.release),
    ],
    ids=lambda words: words[0],
)
@pytest.mark.slow
def test_no_file_of_the_current_folder_is_executed(
    root: Path, hostile: HostileFolder, runs_dir: Path, words: list[str]
) -> None:
    runs = ["--runs-dir", str(runs_dir)] if words[0] in ("list", "train") else []
    done = started(root, hostile.path, *words, *runs)
    assert done.returncode == 0, done.stderr
    assert hostile.imported == []


@pytest.mark.slow
def test_a_module_that_the_user_names_is_found_there_by_every_process(
    root: Path, hostile: HostileFolder, runs_dir: Path
) -> None:
    (hostile.path / "own_slide.py").write_text(MODULE)
    words = ["train", "own_slide:Slide", *SMALL, "--runs-dir", str(runs_dir)]
    done = started(root, hostile.path, *words)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    # What libraries look for in vain may be found there, but never in place of what is installed.
    assert set(hostile.imported) <= {"ipywidgets", "mujoco_py", "cupy", "brax"}


@pytest.mark.parametrize("package", ["td3core", "studio"])
def test_started_as_a_module_the_program_comes_first_and_the_current_folder_is_dropped(
    root: Path, hostile: HostileFolder, package: str
) -> None:
    # The name of the program itself, and what Python needs to start it, are looked up by Python.
    for name in ("td3core", "studio", "runpy", "sitecustomize"):
        for path in hostile.path.glob(f"{name}*"):
            path.rename(hostile.path.parent / path.name)
    command = [sys.executable, "-m", package, "list"]
    environment = os.environ | {"PYTHONPATH": str(root)}
    done = subprocess.run(
        command, cwd=hostile.path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert hostile.imported == []


@pytest.mark.slow
def test_a_child_takes_every_module_from_where_its_parent_does(
    root: Path, hostile: HostileFolder
) -> None:
    script = hostile.path.parent / "script.py"
    script.write_text(CHILD)
    environment = os.environ | {"PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=hostile.path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert hostile.imported == []
