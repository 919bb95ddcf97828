"""A run that cannot be exactly the same says so; and other unfinished work."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core import checkpoint
from td3core.algorithm import fingerprint
from td3core.config import RunConfig
from td3core.errors import RequestError
from td3core.protocol.events import Ended, Failed, JournalEvent, Noted, Warned
from td3core.runs.directory import RunDirectory
from td3core.runs.reader import RunReader
from td3core.runs.resumption import load_complete
from td3core.runs.tables import read_table
from td3core.system import files, numerics
from tests.support.lives import differences
from tests.support.scripted import Script, StepsEnv
from tests.td3core.helpers import fail, finish, run, same, tensors
from tests.td3core.training.resuming import (
    VALUES,
    branched,
    contents,
    go_on,
    go_on_well,
    stop_at,
    stopped,
)

# Where it cannot be the same ---------------------------------------------------------------------


def test_without_its_memory_a_run_fills_it_again_and_says_so(runs_dir: Path) -> None:
    ended = stopped(runs_dir, 50, **VALUES | {"keep_replay": False})
    assert not (ended.run / "replay.f32").exists()
    refused, _ = go_on(ended.run, exact=True)
    assert "Its replay buffer was not kept" in str(refused.message)
    outcome, told = go_on(ended.run)
    assert isinstance(outcome, Ended)
    said = str(told.all(Warned)[0].message)
    assert "keep_replay is off" in said
    assert "It is filled again until step 70" in said
    updates = checkpoint.read_header(outcome.last_checkpoint).counters.updates
    assert updates == ended.updates + 97 - 70


def test_a_branch_says_that_the_run_it_comes_from_kept_no_replay_buffer(runs_dir: Path) -> None:
    ended = stopped(runs_dir, 50, **VALUES | {"keep_replay": False})
    assert ended.last_checkpoint is not None
    _, told = branched(ended.last_checkpoint, runs_dir, keep_replay=True, steps=60)
    said = " ".join(str(warned.message) for warned in told.all(Warned))
    assert "its run kept none on disk (keep_replay was off)" in said


@pytest.mark.parametrize("damaged", ["missing", "short", "changed"])
def test_a_memory_that_is_not_what_it_was_is_filled_again(runs_dir: Path, damaged: str) -> None:
    ended = stopped(runs_dir, 50, **VALUES)
    path = ended.run / "replay.f32"
    data = bytearray(path.read_bytes())
    if damaged == "missing":
        path.unlink()
    elif damaged == "short":
        path.write_bytes(data[:-4])
    else:
        data[100:104] = np.float32([np.nan]).tobytes()
        path.write_bytes(data)
    outcome, told = go_on(ended.run)
    assert isinstance(outcome, Ended)
    assert "replay buffer could not be restored: replay.f32" in str(told.all(Warned)[0].message)
    # Killed while it fills, it goes on filling, without another word.
    assert go_on_well(outcome.run, steps=120).env_steps == 120


def test_an_exact_resume_that_is_refused_late_leaves_the_run_as_it_was(runs_dir: Path) -> None:
    ended = stopped(runs_dir, 50, **VALUES)
    (ended.run / "replay.f32").unlink()
    before = contents(ended.run)
    refused, _ = go_on(ended.run, exact=True, steps=120)
    assert isinstance(refused, Failed)
    assert refused.request
    assert "replay buffer could not be restored" in str(refused.message)
    assert contents(ended.run) == before


def test_other_circumstances_are_said(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = stopped(runs_dir, 50, **VALUES)
    original = fingerprint.versions_of
    monkeypatch.setattr(fingerprint, "versions_of", lambda n: original(n) | {"numpy": "99.0"})
    refused, _ = go_on(ended.run, exact=True)
    assert isinstance(refused, Failed)
    assert refused.request
    assert "cannot be resumed exactly" in str(refused.message)
    outcome, told = go_on(ended.run)
    assert isinstance(outcome, Ended)
    said = str(told.all(Warned)[0].message)
    assert "last digits will differ" in said
    assert "is 99.0" in said
    (entry,) = (e for e in RunDirectory.open(ended.run).journal() if e.get("event") == "inexact")
    assert entry["message"] == said
    # Whoever heard it and whoever reads the run later are told the same.
    for events in (told.events, RunReader(ended.run).drain()):
        (noted,) = (e for e in events if isinstance(e, Noted) and e.event == JournalEvent.INEXACT)
        assert noted.message == told.all(Warned)[0].message


def test_a_run_of_the_torch_engine_before_autograd_goes_on_and_says_that_digits_change(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = fingerprint.record

    def earlier(*arguments: Any) -> dict[str, str]:
        found = made(*arguments) | {"probe": "other bits"}
        del found["gradients"]
        return found

    with monkeypatch.context() as patch:
        patch.setattr(fingerprint, "record", earlier)
        ended = stopped(runs_dir, 50, **VALUES, engine="torch")
    refused, _ = go_on(ended.run, exact=True)
    assert isinstance(refused, Failed)
    assert "cannot be resumed exactly" in str(refused.message)
    outcome, told = go_on(ended.run)
    assert isinstance(outcome, Ended)
    said = str(told.all(Warned)[0].message)
    assert "digits will differ: the way torch finds gradients was written out" in said
    (entry,) = (e for e in RunDirectory.open(ended.run).journal() if e.get("event") == "inexact")
    assert entry["message"] == said


def test_a_run_of_another_class_says_so_and_goes_on_in_that_of_this_process(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, other = numerics.current(), "neon" if numerics.current() != "neon" else "avx2"
    with monkeypatch.context() as patch:
        patch.setattr(numerics, "current", lambda: other)
        ended = stopped(runs_dir, 50, **VALUES)
    assert RunDirectory.open(ended.run).config.numerics == other
    refused, _ = go_on(ended.run, exact=True)
    assert isinstance(refused, Failed)
    assert f"the numerics class was {other} and is {here}" in str(refused.message)
    assert RunDirectory.open(ended.run).config.numerics == other
    outcome, told = go_on(ended.run)
    assert isinstance(outcome, Ended)
    assert f"the numerics class was {other} and is {here}" in str(told.all(Warned)[0].message)
    assert RunDirectory.open(ended.run).config.numerics == here
    assert outcome.last_checkpoint is not None
    assert checkpoint.read_header(outcome.last_checkpoint).numerics["class"] == here


def test_an_environment_that_does_not_come_back_begins_a_new_episode(
    runs_dir: Path, scripted: Any
) -> None:
    # Its observations count the episodes of the process, and so never come again.
    script = Script([(40, "truncated")])
    ended = stopped(runs_dir, 50, scripted(script), **VALUES | {"eval_interval": 0})
    outcome, told = go_on(ended.run)
    assert isinstance(outcome, Ended)
    assert ["did not return" in str(w.message) for w in told.all(Warned)] == [True]
    rows = read_table(outcome.run / "episodes.csv")
    assert [(int(r["episode"]), int(r["env_steps"])) for r in rows] == [(0, 40), (2, 90)]


def test_an_environment_that_fails_on_its_way_back_begins_a_new_episode(
    runs_dir: Path, scripted: Any
) -> None:
    failures: list[int] = []

    def fail(step: int) -> None:
        if step == 51 and not failures:
            failures.append(step)
            raise OSError("the cable came loose")

    script = Script([(40, "truncated")], on_step=fail)
    ended = stopped(runs_dir, 50, scripted(script), **VALUES | {"eval_interval": 0})
    go_on_well(ended.run, warnings=1)


def test_an_episode_longer_than_the_memory_cannot_come_back(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("td3core.buffer.replay_buffer.SLACK", 5)
    values = VALUES | {"env": "Pendulum-v1", "buffer_size": 30, "eval_interval": 0}
    ended = stopped(runs_dir, 50, **values)
    outcome, told = go_on(ended.run)
    assert isinstance(outcome, Ended)
    assert ["did not return" in str(w.message) for w in told.all(Warned)] == [True]


# An environment that failed ----------------------------------------------------------------------


def fail_once(patch: pytest.MonkeyPatch, at: int, method: str = "step") -> None:
    """Let the environment raise at its ``at``-th call, and never again."""
    calls, original = itertools.count(1), getattr(StepsEnv, method)

    def failing(env: StepsEnv, *given: Any, **more: Any) -> Any:
        if next(calls) == at:
            raise OSError("the cable came loose")
        return original(env, *given, **more)

    patch.setattr(StepsEnv, method, failing)


@pytest.mark.parametrize("num_envs", [1, 3])
@pytest.mark.parametrize("at", [5, 41, 77])
@pytest.mark.parametrize("overlapped", [False, True])
def test_a_run_whose_environment_failed_in_a_step_goes_on_the_same(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, num_envs: int, at: int, overlapped: bool
) -> None:
    # The environment fails in this process only.
    monkeypatch.setattr(RunConfig, "stepping_processes", 0)
    values = VALUES | {"num_envs": num_envs, "exploration_noise_decay": 0.99, "eval_interval": 0}
    values |= {"update_while_stepping": overlapped}
    straight = finish(runs_dir / "straight", **values)
    fail_once(monkeypatch, at)
    failed, _ = fail(runs_dir, **values)
    assert failed.env_steps == (at - 1) // num_envs * num_envs
    assert failed.run is not None
    go_on_well(failed.run)
    assert differences(straight.run, failed.run) == []


@pytest.mark.parametrize(("num_envs", "at"), [(1, 51), (3, 52), (1, 62)])
@pytest.mark.parametrize("stopped", [False, True])
def test_so_does_one_that_failed_after_the_updates_of_the_step_and_its_row_stays(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, num_envs: int, at: int, stopped: bool
) -> None:
    monkeypatch.setattr(RunConfig, "stepping_processes", 0)
    values = VALUES | {"num_envs": num_envs, "update_while_stepping": True, "eval_interval": 0}
    straight = finish(runs_dir / "straight", **values)
    fail_once(monkeypatch, at)
    failed, _ = fail(runs_dir, **values)
    assert failed.run is not None
    rows = read_table(failed.run / "training.csv")
    # The step before it has a row already, but at 61.
    assert (int(rows[-1]["env_steps"]) == failed.env_steps) == (at < 60)
    if stopped:
        go_on(failed.run, control=stop_at(failed.env_steps))
        assert read_table(failed.run / "training.csv") == rows
    go_on_well(failed.run)
    assert differences(straight.run, failed.run) == []


def test_so_does_one_whose_evaluation_failed(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight = finish(runs_dir / "straight", **VALUES)
    # Four by the training until step 30, then the first of the evaluation there.
    fail_once(monkeypatch, 5, "reset")
    failed, _ = fail(runs_dir, **VALUES)
    assert "The evaluation at step 30 failed" in str(failed.message)
    assert failed.run is not None
    go_on_well(failed.run)
    assert differences(straight.run, failed.run) == []


def test_after_a_failed_reset_a_run_says_that_it_differs(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_once(monkeypatch, 3, "reset")
    failed, _ = fail(runs_dir, **VALUES)
    assert failed.env_steps == 20
    assert failed.run is not None
    outcome, told = go_on(failed.run)
    assert isinstance(outcome, Ended)
    assert ["did not return" in str(w.message) for w in told.all(Warned)] == [True]


def test_an_action_out_of_bounds_is_refused(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_once(monkeypatch, 41)
    failed, _ = fail(runs_dir, **VALUES | {"eval_interval": 0})
    assert failed.run is not None
    last = RunDirectory.open(failed.run).last
    saved = checkpoint.load(last)
    for actions, says in (
        (np.full((1, 2), 1.5, np.float32), "is inconsistent"),
        (np.zeros((2, 2), np.float32), "holds episodes.actions as float32 of shape"),
    ):
        checkpoint.save(last, saved.header, saved.tensors | {"episodes.actions": actions})
        with pytest.raises(RequestError, match=says):
            load_complete(last)


# Evaluations that were out -----------------------------------------------------------------------


def test_an_agent_that_was_being_evaluated_is_evaluated_when_the_run_goes_on(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight = finish(runs_dir / "straight", **VALUES)
    with monkeypatch.context() as patch:
        # A process that is never done before the run is stopped.
        patch.setattr("td3core.training.evaluator.Evaluator.submit", lambda self, agent: None)
        ended = stopped(runs_dir, 73, **VALUES)
    waiting = [path.name for path in RunDirectory.open(ended.run).pending()]
    assert waiting == [f"evaluating_{n:09d}.safetensors" for n in (30, 60)]
    go_on_well(ended.run)
    assert differences(straight.run, ended.run) == []


def test_a_best_agent_is_saved_again_if_only_its_result_was(runs_dir: Path) -> None:
    straight = finish(runs_dir / "straight", **VALUES)
    ended = stopped(runs_dir, 73, **VALUES)
    opened = RunDirectory.open(ended.run)
    best = checkpoint.load(opened.best)
    step = best.header.counters.env_steps
    plain = replace(best.header, evaluation=None)
    checkpoint.save(opened.pending_checkpoint(step), plain, best.tensors)
    opened.best.unlink()
    go_on(ended.run, control=stop_at(1))
    assert checkpoint.read_header(opened.best).evaluation == best.header.evaluation
    go_on_well(ended.run)
    assert differences(straight.run, ended.run) == []


def test_a_damaged_agent_that_waited_is_left_out(runs_dir: Path) -> None:
    ended = stopped(runs_dir, 50, **VALUES)
    opened = RunDirectory.open(ended.run)
    opened.pending_checkpoint(25).write_bytes(b"half")
    go_on_well(ended.run)
    assert [step for step, _ in opened.evaluations()] == [30, 60, 90, 97]


# A full disk -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_disk_full_for_long_never_spoils_the_place_to_go_on_from(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("td3core.buffer.replay_buffer.SLACK", 40)
    monkeypatch.setattr("td3core.training.checkpointer._RETRY_AFTER", 5)
    values: dict[str, Any] = {"buffer_size": 60, "steps": 400, "checkpoint_interval": 50}
    straight = finish(runs_dir / "straight", **values)
    original = files.write_atomically

    def write(path: Path, data: bytes) -> None:
        # Room enough for small files only; the ring of the memory is on disk already.
        if len(data) > 5000 and "run.toml" not in path.name and full:
            raise OSError(28, "No space left on device")
        original(path, data)

    full: list[bool] = []
    for name in ("checkpoint.format", "training.checkpointer"):
        monkeypatch.setattr(f"td3core.{name}.write_atomically", write)
    ended = stopped(runs_dir, 150, **values)
    full.append(True)
    outcome, told = go_on(ended.run)
    assert isinstance(outcome, Failed)
    assert any("No space left" in str(w.message) for w in told.all(Warned))
    assert checkpoint.read_header(ended.last_checkpoint).counters.env_steps == 150
    full.clear()
    (ended.run / "ending.json").unlink()
    go_on_well(ended.run)
    assert differences(straight.run, ended.run) == []


def test_a_save_that_failed_is_tried_again(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("td3core.buffer.replay_buffer.SLACK", 20)
    original, refusals = checkpoint.save, []

    def save(path: Path, *rest: Any) -> None:
        if len(refusals) < 3:
            refusals.append(path.name)
            raise OSError(28, "No space left on device")
        original(path, *rest)

    monkeypatch.setattr(checkpoint, "save", save)
    outcome, told = run(runs_dir, steps=97)
    assert isinstance(outcome, Ended)
    assert refusals == ["last.safetensors"] * 3
    assert len(told.all(Warned)) == 1
    assert same(
        tensors(outcome.last_checkpoint), tensors(finish(runs_dir, steps=97).last_checkpoint)
    )
