"""Wrong requests: status 2, one plain sentence on standard error, and nothing done."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from td3core.cli import app
from tests.support.scripted import DICT_OBS, DISCRETE, STEPS, UNBOUNDED, Script
from tests.td3core.helpers import finish, write_checkpoint


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command that has to be refused; return the one line it says."""
    assert app.main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    lines = captured.err.splitlines()
    assert len(lines) == 1, captured.err
    if "--json" in arguments:
        assert json.loads(captured.out) == {"error": lines[0].removeprefix("td3-studio: ")}
    else:
        assert captured.out == ""
    return lines[0]


TRAININGS: dict[str, tuple[list[str], list[str]]] = {
    "unknown environment": (["Pendulm-v1"], ["Pendulm-v1", "Pendulum-v1"]),
    "discrete actions": (["CartPole-v1"], ["CartPole-v1", "discrete", "continuous"]),
    "scripted discrete": ([DISCRETE], ["discrete"]),
    "unbounded actions": ([UNBOUNDED], ["unbounded actions"]),
    "odd observations": ([DICT_OBS], ["Dict observations"]),
    "malformed environment": (["no such thing!"], ["no such thing!"]),
    "environment of a missing module": (["nosuchmodule:Thing-v0"], ["nosuchmodule"]),
    "older version": (["Pendulum-v0"], ["Pendulum-v0", "Pendulum-v1"]),
    "out of range": ([STEPS, "--set", "tau=7"], ["tau", "7", "0 to 1"]),
    "unknown setting": ([STEPS, "--set", "nosuch=1"], ["nosuch", "setting"]),
    "slip of a setting": ([STEPS, "--set", "gama=0.9"], ["gama", "gamma"]),
    "wrong type": ([STEPS, "--set", "policy_delay=often"], ["policy_delay", "often", "1 to 100"]),
    "no value": ([STEPS, "--set", "tau"], ["FIELD=VALUE", "tau"]),
    "steps below one": ([STEPS, "--steps", "0"], ["steps", "0", "1 to"]),
    "negative seed": ([STEPS, "--seed", "-1"], ["seed", "-1", "0 to"]),
    "batch beyond memory": ([STEPS, "--set", "buffer_size=9"], ["batch_size", "buffer_size 9"]),
    "unknown preset": ([STEPS, "--preset", "Pendulum"], ["'Pendulum'", "Pendulum-v1"]),
    "steps in words": ([STEPS, "--steps", "many"], ["steps cannot be 'many'"]),
    "unknown option": ([STEPS, "--nosuch"], ["--nosuch"]),
    "no environment": ([], ["ENV"]),
}


@pytest.mark.parametrize(("arguments", "says"), TRAININGS.values(), ids=TRAININGS)
def test_a_training_that_cannot_be_is_refused_with_a_sentence_and_writes_nothing(
    capsys: pytest.CaptureFixture[str], runs_dir: Path, arguments: list[str], says: list[str]
) -> None:
    said = refused(capsys, "train", *arguments, "--runs-dir", str(runs_dir), "--json")
    assert all(part in said for part in says), said
    assert not runs_dir.exists()


def test_an_environment_that_cannot_be_built_is_a_wrong_request(
    capsys: pytest.CaptureFixture[str], runs_dir: Path, scripted: Any
) -> None:
    def broken() -> None:
        raise ValueError("no licence found")

    env = scripted(Script(on_make=broken))
    assert "no licence found" in refused(capsys, "train", env, "--runs-dir", str(runs_dir))
    assert not runs_dir.exists()


def test_a_runs_folder_that_cannot_be_written_is_a_wrong_request(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    in_the_way = tmp_path / "runs"
    in_the_way.write_text("mine")
    said = refused(capsys, "train", STEPS, "--runs-dir", str(in_the_way))
    assert str(in_the_way) in said
    assert in_the_way.read_text() == "mine"


def truncated(path: Path) -> None:
    data = write_checkpoint(path).read_bytes()
    path.write_bytes(data[: len(data) // 2])


FILES: dict[str, Callable[[Path], Any]] = {
    "missing": lambda path: None,
    "empty": lambda path: path.write_bytes(b""),
    "truncated": truncated,
    "pickle": lambda path: path.write_bytes(pickle.dumps({"actor": [1, 2]})),
    "folder": lambda path: path.mkdir(),
    "text": lambda path: path.write_text("hello\nworld\n"),
}


@pytest.mark.parametrize("make", FILES.values(), ids=FILES)
@pytest.mark.parametrize("command", ["eval", "replay", "export"])
def test_a_file_that_is_no_checkpoint_is_refused_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, make: Callable[[Path], Any], command: str
) -> None:
    path = tmp_path / "agent.safetensors"
    make(path)
    before = sorted(tmp_path.iterdir())
    more = {"eval": [], "replay": ["--video", "out.mp4"], "export": ["--to", "out.safetensors"]}
    options = [part.replace("out.", f"{tmp_path}/out.") for part in more[command]]
    assert "agent.safetensors" in refused(capsys, command, str(path), *options)
    assert sorted(tmp_path.iterdir()) == before


def test_a_run_without_a_checkpoint_is_refused(
    capsys: pytest.CaptureFixture[str], runs_dir: Path
) -> None:
    outcome = finish(runs_dir)
    Path(str(outcome.last_checkpoint)).unlink()
    assert "no checkpoint yet" in refused(capsys, "eval", str(outcome.run))


def test_a_checkpoint_of_an_environment_that_is_not_here_is_refused(
    capsys: pytest.CaptureFixture[str], runs_dir: Path, scripted: Any
) -> None:
    import gymnasium as gym

    env = scripted(Script())
    outcome = finish(runs_dir, env)
    known = gym.registry.pop(env)
    said = refused(capsys, "eval", str(outcome.last_checkpoint))
    gym.registry[env] = known
    assert env in said


@pytest.mark.parametrize("option", [["--episodes", "0"], ["--seed", "-1"], ["--episodes", "x"]])
def test_an_evaluation_of_no_episodes_or_no_seed_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, option: list[str]
) -> None:
    path = write_checkpoint(tmp_path / "a.safetensors")
    assert option[0] in refused(capsys, "eval", str(path), *option)


NUMBERS: dict[str, tuple[list[str], str]] = {
    "no number": (
        ["train", STEPS, "--seed", "x"],
        "--seed cannot be 'x'; it must be a whole number from 0 to 2,147,483,647.",
    ),
    "too small": (
        ["eval", "agent", "--episodes", "0"],
        "--episodes cannot be 0; it must be a whole number of at least 1.",
    ),
    "too large": (
        ["train", STEPS, "--jobs", "5000"],
        "--jobs cannot be 5000; it must be a whole number from 1 to 1,024.",
    ),
    "a part of a step": (
        ["verify", "run", "--steps", "1.5"],
        "--steps cannot be '1.5'; it must be a whole number of at least 2.",
    ),
    "not finite": (
        ["pause", "run", "--timeout", "nan"],
        "--timeout cannot be nan; it must be a number from 0.1 to 3,600.",
    ),
    "one of several": (
        ["film", "run", "--push-at", "5", "--push-at", "soon"],
        "--push-at cannot be 'soon'; it must be a whole number of at least 1.",
    ),
    "no choice": (
        ["compare", "run", "--x", "days"],
        "--x cannot be 'days'; it must be one of steps, episodes, time.",
    ),
}


@pytest.mark.parametrize(("arguments", "sentence"), NUMBERS.values(), ids=NUMBERS)
def test_a_value_that_an_option_cannot_take_is_refused_with_what_it_can(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert refused(capsys, *arguments, "--json") == f"td3-studio: {sentence}"


def test_every_numeric_option_says_what_it_can_take(capsys: pytest.CaptureFixture[str]) -> None:
    program: Any = typer.main.get_command(app.app)
    for name, command in program.commands.items():
        for option in command.params:
            if option.metavar in NUMERIC:
                said = refused(capsys, name, option.opts[0], "x")
                assert f"{option.opts[0]} cannot be 'x'; it must be a" in said


NUMERIC = ("N", "SEED", "STEP", "SECONDS", "FACTOR")
"""What the help calls numbers."""


def test_a_film_of_an_environment_that_cannot_draw_is_refused_and_leaves_no_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = write_checkpoint(tmp_path / "a.safetensors")
    said = refused(capsys, "replay", str(path), "--video", str(tmp_path / "film.mp4"))
    assert STEPS in said
    assert "cannot render" in said
    assert [p.name for p in tmp_path.iterdir()] == ["a.safetensors"]


def test_a_film_or_an_export_into_a_folder_that_is_not_there_is_refused(
    capsys: pytest.CaptureFixture[str], runs_dir: Path, tmp_path: Path
) -> None:
    saved = str(finish(runs_dir, "Pendulum-v1").last_checkpoint)
    nowhere = str(tmp_path / "no" / "such" / "folder" / "file.mp4")
    assert "cannot be written" in refused(capsys, "replay", saved, "--video", nowhere)
    assert "cannot be written" in refused(capsys, "export", saved, "--to", nowhere)


def test_an_unknown_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "trian" in refused(capsys, "trian", STEPS)


def test_an_interrupt_outside_a_training_ends_without_a_traceback(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    path = write_checkpoint(tmp_path / "a.safetensors")
    monkeypatch.setattr("td3core.evaluation.evaluate.evaluate", interrupted)
    assert app.main(["eval", str(path)]) == 130
    assert "Traceback" not in capsys.readouterr().err
