"""The reports of a resumed run: its duration, and the steps it repeats."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from td3core import checkpoint
from td3core.cli import app
from td3core.errors import RequestError
from td3core.protocol import wording
from td3core.protocol.events import Ended, Started
from td3core.runs.directory import RunDirectory
from td3core.runs.listing import summarise
from td3core.runs.tables import read_table
from td3core.training import run_clock
from tests.support.scripted import StepsEnv
from tests.td3core.helpers import run
from tests.td3core.training.resuming import branched, go_on, go_on_well, stopped

VALUES: dict[str, Any] = {"steps": 97, "checkpoint_interval": 20}


class Clock:
    """A second for each step of the environment, and a century between two processes."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock, step = Clock(), StepsEnv.step

    def slow(env: StepsEnv, action: Any) -> Any:
        clock.now += 1.0
        return step(env, action)

    monkeypatch.setattr(run_clock, "time", clock)
    monkeypatch.setattr(StepsEnv, "step", slow)
    return clock


def times(run_path: Path) -> list[float]:
    """Return the clock's column of the episodes, as they were recorded."""
    return [float(row["time_s"]) for row in read_table(run_path / "episodes.csv")]


def interrupted(runs_dir: Path, clock: Clock, *, reached: int, saved: int) -> RunDirectory:
    """Return a run that was killed after ``reached`` steps, with a checkpoint of ``saved``."""
    found = RunDirectory.open(stopped(runs_dir, reached, **VALUES).run)
    for path in found.checkpoints.iterdir():
        if path.stem.startswith("step") and path > found.step_checkpoint(saved):
            path.unlink()
    found.last.unlink()
    shutil.copy(found.step_checkpoint(saved), found.last)
    (found.path / "ending.json").unlink()
    clock.now += 1e9
    return found


def test_the_time_of_a_run_goes_on_when_it_does(runs_dir: Path, clock: Clock) -> None:
    outcome = stopped(runs_dir, 50, **VALUES)
    assert outcome.wall_s == 50
    clock.now += 1e9
    ended = go_on_well(outcome.run)
    assert (ended.wall_s, ended.steps_per_s) == (97, pytest.approx(1.0, rel=0.05))
    assert times(ended.run) == [10, 20, 30, 40, 50, 60, 70, 80, 90]
    assert summarise(RunDirectory.open(ended.run)).wall_s == 97


def test_time_after_the_last_checkpoint_is_lost_with_its_steps(
    runs_dir: Path, clock: Clock
) -> None:
    found = interrupted(runs_dir, clock, reached=70, saved=40)
    assert checkpoint.read_header(found.last).wall_s == 40
    assert go_on_well(found.path).wall_s == 97
    assert times(found.path) == [10, 20, 30, 40, 50, 60, 70, 80, 90]


def test_a_checkpoint_from_before_it_held_the_time_goes_on_after_what_the_tables_say(
    runs_dir: Path, clock: Clock
) -> None:
    found = interrupted(runs_dir, clock, reached=70, saved=60)
    saved = checkpoint.load(found.last)
    checkpoint.save(found.last, replace(saved.header, wall_s=0.0), saved.tensors)
    go_on_well(found.path)
    assert times(found.path) == [10, 20, 30, 40, 50, 60, 70, 80, 90]


def test_a_branch_has_a_time_of_its_own(runs_dir: Path, clock: Clock) -> None:
    outcome, _ = run(runs_dir, **VALUES)
    assert isinstance(outcome, Ended)
    clock.now += 1e9
    branch, _ = branched(RunDirectory.open(outcome.run).step_checkpoint(60), runs_dir, steps=90)
    assert isinstance(branch, Ended)
    assert branch.wall_s == 30
    assert times(branch.run) == [10, 20, 30]
    clock.now += 1e9
    assert go_on_well(branch.run, steps=100).wall_s == 40


@pytest.mark.parametrize("wall_s", [-1.0, float("inf"), float("nan"), "noon", None])
def test_a_time_that_is_none_is_refused(runs_dir: Path, clock: Clock, wall_s: Any) -> None:
    found = interrupted(runs_dir, clock, reached=50, saved=40)
    saved = checkpoint.load(found.last)
    checkpoint.save(found.last, replace(saved.header, wall_s=wall_s), saved.tensors)
    with pytest.raises(RequestError, match=r"last\.safetensors has a damaged description"):
        checkpoint.load(found.last)


def test_steps_on_record_after_the_checkpoint_are_said_to_be_taken_again(
    runs_dir: Path, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    found = interrupted(runs_dir, clock, reached=70, saved=40)
    assert app.main(["resume", str(found.path)]) == 0
    said = " ".join(capsys.readouterr().err.split())
    sentence = "Repeating 30 steps recorded after the checkpoint at step 40"
    assert f"resumed at step 40 {sentence}" in said


@pytest.mark.parametrize("reached", [40, 41])
def test_only_steps_that_are_really_taken_again_are_said_so(
    runs_dir: Path, clock: Clock, reached: int
) -> None:
    outcome = stopped(runs_dir, 40, **VALUES)
    # As if its last save had failed.
    RunDirectory.open(outcome.run).write_ending({"stopped": "failed", "env_steps": reached})
    _, told = go_on(outcome.run)
    (started,) = told.all(Started)
    assert started.repeated_steps == reached - 40
    sentence = "Repeating 1 step recorded after the checkpoint at step 40" if reached > 40 else ""
    assert str(wording.repeated_steps(started)) == sentence


def test_a_run_killed_before_its_first_checkpoint_says_that_it_takes_all_steps_again(
    runs_dir: Path, clock: Clock
) -> None:
    found = interrupted(runs_dir, clock, reached=30, saved=20)
    shutil.rmtree(found.checkpoints)
    _, told = go_on(found.path)
    (started,) = told.all(Started)
    assert started.repeated_steps == 30
    assert (
        str(wording.repeated_steps(started))
        == "Repeating all 30 recorded steps: no checkpoint exists"
    )
    _, told = run(runs_dir, **VALUES)
    assert [event.repeated_steps for event in told.all(Started)] == [0]
