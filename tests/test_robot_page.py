"""The page about one's own robot, followed word by word, with a short training."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from td3core.cli import app

SHORT = {"--steps": "1500", "learning_starts": "200", "eval_interval": "500"}


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


@pytest.fixture
def page(root: Path) -> str:
    return (root / "resources" / "manual" / "robot.md").read_text("utf-8")


def shortened(words: list[str]) -> list[str]:
    """Return a command that trains for a short time only."""
    found = list(words)
    for at, word in enumerate(words):
        name, equals, _ = word.partition("=")
        if word in SHORT:
            found[at + 1] = SHORT[word]
        elif equals and name in SHORT:
            found[at] = f"{name}={SHORT[name]}"
    return found


@pytest.mark.release
def test_the_commands_of_the_page_lead_from_a_model_to_actions_in_c(
    page: str,
    root: Path,
    runs_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TD3_STUDIO_RUNS", str(runs_dir))
    lines = [line for block in blocks(page, "bash") for line in block.splitlines()]
    (locate,) = [line for line in lines if line.startswith("python ")]
    code = shlex.split(locate)[2]
    told = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    model = Path(told.stdout.strip())
    assert model.stat().st_size < 4096
    shutil.copy(model, tmp_path / "crawler.xml")
    commands = [line for line in lines if line.startswith("td3-studio ")]
    assert [shlex.split(line)[1] for line in commands] == [
        *("check", "train", "eval", "replay", "export"),
    ]
    monkeypatch.chdir(tmp_path)
    for line in commands:
        words = shlex.split(line.replace("/path/to", str(tmp_path)))[1:]
        run = next(runs_dir.glob("HalfCheetah*"), None)
        words = [str(run) if word == "RUN" else word for word in shortened(words)]
        assert app.main(words) == 0, (line, capsys.readouterr().err)
    assert (tmp_path / "crawler.mp4").stat().st_size > 1000
    header = (tmp_path / "actor.h").read_text()
    assert "#define TD3_OBS_DIM 9" in header
    assert "Weights take 5768 bytes" in header
    assert "#define TD3_CONTROL_RATE_HZ 20.0f" in header
    if shutil.which("cc") is None:
        pytest.skip("no C compiler (cc) is installed")
    (program,) = blocks(page, "c")
    (tmp_path / "main.c").write_text(program)
    compile_it = next(line for line in lines if line.startswith("cc "))
    subprocess.run(shlex.split(compile_it), cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    actions = [float(word) for word in said.stdout.split()]
    assert len(actions) == 2
    assert all(-1 <= action <= 1 for action in actions)
