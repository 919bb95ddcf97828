"""Sweeps that train, from the command line: killed, continued, failing."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from td3core.cli.app import main
from td3core.experiments.sweeps.folder import SweepFolder
from td3core.runs.directory import RunDirectory
from td3core.runs.lock import holder
from tests.support.waiting import eventually

TEXT = """
environment = "Pendulum-v1"
trials = {trials}
steps = {steps}
jobs = {jobs}
[settings]
learning_starts = 200
eval_interval = 400
eval_episodes = 1
checkpoint_interval = 400
batch_size = 32
actor_hidden = [8]
critic_hidden = [8]
[space]
actor_lr = {{ low = 1e-4, high = 1e-2, log = true }}
"""
PATIENCE_S = 120.0


def sweep_file(folder: Path, trials: int = 2, steps: int = 800, jobs: int = 2) -> str:
    path = folder / "small.toml"
    path.write_text(TEXT.format(trials=trials, steps=steps, jobs=jobs))
    return str(path)


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    status = main([*words, "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return status, found


@contextmanager
def sweeping(root: Path, runs_dir: Path, file: str) -> Iterator[psutil.Process]:
    """Start a sweep in a process of its own; at the end nothing of it is left."""
    command = [sys.executable, "-m", "td3core", "sweep", file, "--runs-dir", str(runs_dir)]
    process = subprocess.Popen(command, cwd=root, stderr=subprocess.DEVNULL)
    children: set[psutil.Process] = set()
    try:
        watched = psutil.Process(process.pid)
        yield watched
        if process.poll() is None:
            children = set(watched.children(recursive=True))
    finally:
        process.kill()
        process.wait()
        psutil.wait_procs(children, timeout=PATIENCE_S)


def curve(run: Path) -> list[tuple[int, float]]:
    return RunDirectory.open(run).evaluations()


@pytest.mark.slow
def test_a_sweep_trains_ordinary_runs_and_names_the_best(
    tmp_path: Path, runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = sweep_file(tmp_path, steps=400)
    status, found = answer(capsys, "sweep", file, "--runs-dir", str(runs_dir))
    assert status == 0
    counts = {"running": 0, "stopped": 0, "pruned": 0, "failed": 0}
    assert found["trials"] == {"done": 2, "wanted": 2} | counts
    assert found["stopped"] == "finished"
    values = [curve(runs_dir / f"small_t00{number}_s0")[-1][1] for number in range(2)]
    assert found["best_value"] == max(values)
    best = RunDirectory.open(runs_dir / found["best_runs"][0])
    assert best.first_tunables.actor_lr == found["best_settings"]["actor_lr"]
    assert best.ending().stopped == "finished"


@pytest.mark.slow
def test_a_sweep_that_does_not_exist_is_refused(
    runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, sentence in (
        (["none.toml"], "There is no sweep file none.toml."),
        (["show", "none"], "There is no sweep in"),
        (["resume"], "needs the name of a sweep"),
        (["pendulum", "--ray", "nowhere"], "--ray"),
    ):
        status, found = answer(capsys, "sweep", *words, "--runs-dir", str(runs_dir))
        assert status == 2
        assert sentence in found["error"]
    assert not runs_dir.exists()


def test_a_sweep_file_that_is_no_text_is_refused_with_one_sentence_wherever_it_is(
    tmp_path: Path, runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = tmp_path / "odd.toml"
    own = SweepFolder(runs_dir, "odd").path / "sweep.toml"
    own.parent.mkdir(parents=True)
    for path, words in ((given, [str(given)]), (own, ["show", "odd"]), (own, ["resume", "odd"])):
        path.write_bytes(b"name = '\xff'")
        status, found = answer(capsys, "sweep", *words, "--runs-dir", str(runs_dir))
        assert (status, found) == (
            2,
            {"error": f"{path} cannot be read: it is not UTF-8 text."},
        )


@pytest.mark.parametrize(
    ("text", "reason"),
    [("space", "This is not a sweep file: "), ('environment = "E-v0"', "space is missing; ")],
)
def test_the_refusal_of_a_sweep_file_names_the_file_wherever_it_is(
    tmp_path: Path, runs_dir: Path, capsys: pytest.CaptureFixture[str], text: str, reason: str
) -> None:
    given = tmp_path / "odd.toml"
    own = SweepFolder(runs_dir, "odd").path / "sweep.toml"
    own.parent.mkdir(parents=True)
    for path, words in ((given, [str(given)]), (own, ["show", "odd"]), (own, ["resume", "odd"])):
        path.write_text(text)
        status, found = answer(capsys, "sweep", *words, "--runs-dir", str(runs_dir))
        assert status == 2
        assert found["error"].startswith(f"{path}: {reason}")


@pytest.mark.parametrize("action", ["show", "stop"])
@pytest.mark.parametrize("option", ["--jobs", "--ray", "--tensorboard"])
def test_an_option_of_training_is_refused_where_nothing_is_trained(
    runs_dir: Path, capsys: pytest.CaptureFixture[str], action: str, option: str
) -> None:
    words = ["sweep", action, "any", option, "2", "--runs-dir", str(runs_dir)]
    status, found = answer(capsys, *words)
    assert status == 2
    assert found["error"] == f"sweep {action} takes no {option}: it trains nothing."


def kill(process: psutil.Process) -> None:
    os.kill(process.pid, signal.SIGKILL)


# Half a minute of processor time: it starts torch a dozen times.
@pytest.mark.release
@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_a_killed_sweep_and_a_killed_run_continue_to_equal_results(
    tmp_path: Path, runs_dir: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Long enough that a fast machine is still training when it is killed.
    file = sweep_file(tmp_path, steps=6000, jobs=1)
    whole = tmp_path / "whole"
    status, expected = answer(capsys, "sweep", file, "--runs-dir", str(whole))
    assert status == 0
    first = runs_dir / "small_t000_s0"
    with sweeping(root, runs_dir, file) as process:
        # Its run dies after the first checkpoint, and is resumed by the sweep.
        eventually((first / "checkpoints" / "step_000000400.safetensors").exists, PATIENCE_S)
        training = holder(first)
        assert training is not None
        kill(psutil.Process(training.pid))
        eventually((first / "checkpoints" / "step_000000800.safetensors").exists, PATIENCE_S)
        workers = process.children(recursive=True)
        kill(process)
        psutil.wait_procs(workers, timeout=PATIENCE_S)
    status, found = answer(capsys, "sweep", file, "--runs-dir", str(runs_dir))
    assert status == 0
    assert found["trials"] == expected["trials"]
    assert found["best_value"] == expected["best_value"]
    for number in range(2):
        name = f"small_t00{number}_s0"
        assert curve(runs_dir / name) == curve(whole / name)
    events = [entry["event"] for entry in RunDirectory.open(first).journal() if "event" in entry]
    assert events.count("resume") >= 2
