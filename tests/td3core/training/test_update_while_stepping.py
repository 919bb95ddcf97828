"""Updates that are done while a process of its own takes the step."""

from pathlib import Path
from typing import Any

import pytest

from td3core.buffer.sampler import Sampler
from td3core.config import RunConfig
from td3core.protocol.events import Ended, Traced
from td3core.runs.layout import REPLAY
from td3core.runs.tables import read_table
from tests.support.lives import differences
from tests.support.marks import slow
from tests.td3core.helpers import fail, finish, run, same, tensors
from tests.td3core.training.resuming import (
    VALUES,
    branched,
    go_on,
    go_on_well,
    stop_at,
)
from tests.td3core.training.test_inexact_resume import fail_once
from tests.td3core.training.test_tracing import stepped

PENDULUM: dict[str, Any] = VALUES | {"env": "Pendulum-v1", "update_while_stepping": True}


@pytest.fixture
def in_this_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Step in the training thread, where the environments of tests are known."""
    monkeypatch.setattr(RunConfig, "stepping_processes", 0)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Transitions stored when updates are drawn, and how many updates those are.

    The first are those of the fingerprint.
    """
    found: list[tuple[int, int]] = []
    original = Sampler.draw

    def draw(sampler: Sampler, updates: int, *more: Any) -> Any:
        found.append((sampler.buffer.stored, updates))
        return original(sampler, updates, *more)

    monkeypatch.setattr(Sampler, "draw", draw)
    return found


@pytest.mark.usefixtures("in_this_thread")
@pytest.mark.parametrize(("asked", "newest"), [(False, 1), (True, 0)])
def test_the_updates_of_a_step_draw_from_the_transitions_before_it(
    runs_dir: Path, drawn: list[tuple[int, int]], asked: bool, newest: int
) -> None:
    values = {"steps": 60, "learning_starts": 20, "updates_per_step": 2}
    outcome = finish(runs_dir, update_while_stepping=asked, **values)
    assert drawn[1:] == [(step + newest, 2) for step in range(20, 60)]
    assert outcome.updates == 80


@pytest.mark.usefixtures("in_this_thread")
def test_without_a_warm_up_the_first_step_comes_before_its_updates(
    runs_dir: Path, drawn: list[tuple[int, int]]
) -> None:
    outcome = finish(runs_dir, steps=5, learning_starts=0, update_while_stepping=True)
    assert drawn[1:] == [(1, 1), (1, 1), (2, 1), (3, 1), (4, 1)]
    assert outcome.updates == 5


@pytest.mark.parametrize(
    "more",
    [
        {"num_envs": 3, "steps": 98, "env_processes": 2, "normalize_observations": True},
        *slow({"n_step": 3, "noise_correlation": 0.9}),
    ],
    ids=lambda values: next(iter(values)),
)
@pytest.mark.slow
def test_the_run_is_the_same_in_processes_and_in_the_training_thread(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    there = finish(runs_dir / "there", **PENDULUM | more)
    before = finish(runs_dir / "before", **PENDULUM | more | {"update_while_stepping": False})
    monkeypatch.setattr(RunConfig, "stepping_processes", 0)
    here = finish(runs_dir / "here", **PENDULUM | more)
    assert differences(here.run, there.run) == []
    assert not same(tensors(here.last_checkpoint), tensors(before.last_checkpoint))


@pytest.mark.parametrize("step", [50, *slow(20, 21)])
def test_a_run_stopped_and_resumed_equals_one_that_was_not(runs_dir: Path, step: int) -> None:
    straight = finish(runs_dir / "straight", **PENDULUM)
    outcome, _ = run(runs_dir, control=stop_at(step), **PENDULUM)
    assert isinstance(outcome, Ended)
    go_on(outcome.run, control=stop_at(7))
    go_on_well(outcome.run)
    assert differences(straight.run, outcome.run) == []
    assert len(read_table(straight.run / "evaluations.csv")) == 4


@pytest.mark.usefixtures("in_this_thread")
@pytest.mark.parametrize("kept", [True, False])
def test_a_branch_of_a_run_whose_environment_failed_does_that_steps_updates_once(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    fail_once(monkeypatch, 41)
    failed, _ = fail(runs_dir, steps=60, update_while_stepping=True)
    assert failed.last_checkpoint is not None
    values = {"update_while_stepping": kept}
    outcome, _ = branched(failed.last_checkpoint, runs_dir / "branches", **values)
    assert isinstance(outcome, Ended)
    assert outcome.updates == 60 - 20


@pytest.mark.usefixtures("in_this_thread")
def test_so_does_one_that_lost_its_replay_buffer_and_needs_no_warm_up(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_once(monkeypatch, 41)
    failed, _ = fail(runs_dir, steps=60, learning_starts=0, update_while_stepping=True)
    assert failed.run is not None
    (failed.run / REPLAY).unlink()
    assert go_on_well(failed.run, warnings=1).updates == 60


@pytest.mark.usefixtures("in_this_thread")
def test_single_updates_that_are_watched_leave_the_same_run(runs_dir: Path, tmp_path: Path) -> None:
    watched, told = stepped(runs_dir, update_while_stepping=True)
    other, _ = run(tmp_path / "other", update_while_stepping=True)
    assert isinstance(other, Ended)
    assert [each.env_steps for each in told.all(Traced)] == list(range(31, 38))
    assert same(tensors(watched.last_checkpoint), tensors(other.last_checkpoint))


def test_an_environment_that_no_other_process_can_make_is_refused_by_the_name_of_the_setting(
    runs_dir: Path,
) -> None:
    outcome, _ = fail(runs_dir, update_while_stepping=True)
    assert outcome.request
    assert "as update_while_stepping asks" in str(outcome.message)
    assert "package.module:Class" in str(outcome.message)
    assert not runs_dir.exists()
