"""A resumed run equals the run that was never interrupted."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from td3core import checkpoint
from td3core.analysis.inspection import inspect
from td3core.buffer.rows import RowLayout
from td3core.cli import app
from td3core.config import to_dict
from td3core.experiments.jobs import ResumedRun, perform
from td3core.experiments.sweeps.executor import outcome_of
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Evaluated, Failed, Tuned, Warned
from td3core.protocol.run_status import RunStatus
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import Change
from td3core.runs.listing import summarise
from td3core.runs.lock import RunLock, left_behind
from td3core.runs.resumption import pending_changes, resume_point
from td3core.training.launch import train
from tests.support.lives import differences
from tests.support.marks import release, slow
from tests.support.scripted import Script
from tests.td3core.helpers import Told, finish, run, same, tensors, tiny
from tests.td3core.training.resuming import (
    VALUES,
    branched,
    contents,
    crashing,
    go_on,
    go_on_well,
    refused,
    stop_at,
    stopped,
)

# The same run ------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [20, 73, *slow(5, 21, 50, 60, 96)])
def test_a_run_stopped_and_resumed_equals_one_that_was_not(runs_dir: Path, step: int) -> None:
    straight = finish(runs_dir / "straight", **VALUES)
    broken = stopped(runs_dir, step, **VALUES)
    assert go_on_well(broken.run).stopped == "finished"
    assert differences(straight.run, broken.run) == []


@pytest.mark.parametrize(
    ("step", "now"),
    [(60, 5), (70, 5), (90, 5), (70, 38), (90, 38)],
)
def test_a_buffer_file_with_more_slack_than_a_new_one_is_resumed_branched_and_inspected(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, step: int, now: int
) -> None:
    monkeypatch.setattr("td3core.buffer.buffer_file.BLOCK", 16)
    monkeypatch.setattr("td3core.buffer.replay_buffer.SLACK", 40)
    values = VALUES | {"buffer_size": 30}
    straight = finish(runs_dir / "straight", **values)
    broken = stopped(runs_dir, step, **values)
    saved = RunDirectory.open(broken.run).last
    row = RowLayout.of(*checkpoint.read_header(saved).env.sizes).bytes
    monkeypatch.setattr("td3core.buffer.replay_buffer.SLACK_BYTES", now * row)
    assert (inspect(saved).numbers >= step - 30).all()
    branch, told = branched(saved, runs_dir)
    assert isinstance(branch, Ended)
    assert not told.all(Warned)
    go_on_well(broken.run)
    assert differences(straight.run, broken.run) == []
    assert same(tensors(branch.last_checkpoint), tensors(straight.last_checkpoint))


@pytest.mark.parametrize(
    "values",
    [
        {"normalize_observations": True, "lr_final": 0.1, "bias_interval": 1},
        {"num_envs": 3, "steps": 98},
        {"algorithm": "tqc", "quantiles": 5, "bias_interval": 1},
        *slow(
            {"critic_layer_norm": True, "critic_activation": "tanh", "bias_interval": 1},
            {"env_args": '{"action_repeat": "3, 1@31, 2@60"}', "bias_interval": 1},
            {"twin_critics": False, "policy_delay": 3, "updates_per_step": 2},
            {"buffer_size": 30, "batch_size": 5},
            {"exploration_noise_decay": 0.95, "exploration_noise_min": 0.02},
        ),
        {"noise_correlation": 0.9, "exploration_noise": 0.5, "num_envs": 2, "learning_starts": 6},
    ],
    ids=lambda values: next(iter(values)),
)
def test_so_it_is_with_other_settings(runs_dir: Path, values: dict[str, Any]) -> None:
    straight = finish(runs_dir / "straight", **VALUES | values)
    outcome, _ = run(runs_dir, control=stop_at(9), **VALUES | values)
    assert isinstance(outcome, Ended)
    for _ in range(3):
        go_on(outcome.run, control=stop_at(4))
    go_on_well(outcome.run)
    assert differences(straight.run, outcome.run) == []


@pytest.mark.parametrize("every", [*slow(11), *release(1)], ids=["some", "all"])
@pytest.mark.parametrize(
    "kept", [{}, {"keep_every": 2}, {"keep_every": 0, "keep_best": 1}], ids=str
)
def test_whatever_stands_on_disk_when_it_is_killed_the_run_goes_on_the_same(
    runs_dir: Path, tmp_path: Path, kept: dict[str, Any], every: int
) -> None:
    values = {"steps": 65, "eval_interval": 30, "checkpoint_interval": 20, **kept}
    with crashing(runs_dir, tmp_path / "crashes") as crashes:
        straight = finish(runs_dir, **values)
    assert len(crashes.found) > 20
    for copy in crashes.found[::every]:
        outcome, told = go_on(copy)
        if isinstance(outcome, Failed):
            # Nothing was missing but the record that it had ended.
            assert "is at step 65" in str(outcome.message), outcome
        assert not told.all(Warned), copy
        assert differences(straight.run, copy) == [], copy


@pytest.mark.parametrize("every", [*slow(3), *release(1)], ids=["some", "all"])
def test_live_changes_are_made_again_wherever_the_run_is_killed(
    runs_dir: Path, tmp_path: Path, every: int
) -> None:
    config, tunables = tiny(**VALUES | {"exploration_noise_decay": 0.99})
    changes = [
        Change(33, "exploration_noise", 0.5),
        Change(36, "noise_correlation", 0.9),
        Change(40, "tau", 0.1),
        Change(47, "batch_size", 5),
        Change(63, "noise_correlation", 0.0),
        # There and back at once: the decay restarts nevertheless.
        Change(70, "exploration_noise", 0.4),
        Change(70, "exploration_noise", 0.5),
    ]
    with crashing(runs_dir, tmp_path / "crashes") as crashes:
        straight = train(config, tunables, Control(), Told(), runs_dir, changes)
    assert isinstance(straight, Ended)
    tried = 0
    for copy in crashes.found[::every]:
        opened = RunDirectory.open(copy)
        fields = [entry for entry in opened.journal() if "field" in entry]
        if len(fields) == len(changes) and opened.ending() is None:
            go_on_well(copy)
            assert differences(straight.run, copy) == [], copy
            tried += 1
    assert tried > 5 / every
    told = Told()
    journal = RunDirectory.open(straight.run).journal()
    again = [Change(e["step"], e["field"], e["new"]) for e in journal if "field" in e]
    followed = train(config, tunables, Control(), told, runs_dir / "again", again)
    assert isinstance(followed, Ended)
    assert differences(straight.run, followed.run) == []


def test_changes_at_the_very_step_of_a_checkpoint_are_made_once(runs_dir: Path) -> None:
    config, tunables = tiny(**VALUES)
    outcome = train(config, tunables, stop_at(40), Told(), runs_dir, [Change(40, "tau", 0.5)])
    assert isinstance(outcome, Ended)
    opened = RunDirectory.open(outcome.run)
    point = resume_point(opened)
    assert point is not None
    saved = point.saved
    # The one saved when the run was stopped knows of the change; that of the same step does not.
    assert (saved.header.counters.changes, pending_changes(opened.journal(), saved)) == (1, [])
    before = checkpoint.load(opened.step_checkpoint(40))
    assert before.header.counters.changes == 0
    assert pending_changes(opened.journal(), before) == [Change(40, "tau", 0.5)]
    assert pending_changes(opened.journal(), None) == [Change(40, "tau", 0.5)]


def test_what_a_person_does_now_strikes_out_what_was_still_to_be_done_again(
    runs_dir: Path,
) -> None:
    config, tunables = tiny(**VALUES)
    later = [Change(45, "tau", 0.5), Change(50, "gamma", 0.5)]
    outcome = train(config, tunables, Control(), Told(), runs_dir, later)
    assert isinstance(outcome, Ended)
    for path in (outcome.run / "checkpoints").glob("*"):
        if path.stem not in ("step_000000040", "step_000000020"):
            path.unlink()
    control = Control()
    control.tune(replace(tunables, tau=0.25))
    found, told = go_on(outcome.run, control=control)
    assert isinstance(found, Ended)
    made = [(e.env_steps, name, new) for e in told.all(Tuned) for name, _, new in e.changes]
    assert made == [(40, "tau", 0.25), (50, "gamma", 0.5)]
    kept = [(e["step"], e["field"]) for e in RunDirectory.open(found.run).journal() if "field" in e]
    assert kept == [(50, "gamma"), (40, "tau")]


def test_a_finished_run_is_refused_and_goes_on_with_more_steps(runs_dir: Path) -> None:
    straight = finish(runs_dir / "long", **VALUES | {"eval_interval": 0})
    short = finish(runs_dir, **VALUES | {"steps": 55, "eval_interval": 0})
    before = contents(short.run)
    assert "is at step 55 of 55" in refused(short.run)
    assert "steps cannot be 54" in refused(short.run, steps=54)
    assert contents(short.run) == before
    assert go_on_well(short.run, steps=97).env_steps == 97
    (short.run / "checkpoints" / "step_000000055.safetensors").unlink(missing_ok=True)
    assert differences(straight.run, short.run) == []
    assert RunDirectory.open(short.run).config.steps == 97


def test_a_run_of_several_environments_killed_in_its_last_evaluation_finishes(
    runs_dir: Path,
) -> None:
    # Its last step lies beyond the one it was to end at.
    ended = finish(runs_dir, **VALUES | {"num_envs": 3, "steps": 97})
    assert ended.env_steps == 99
    for steps in (None, 97):
        (ended.run / "ending.json").unlink()
        assert go_on_well(ended.run, steps=steps).stopped == "finished"


@pytest.mark.parametrize(("at", "reached"), [(40, 60), (80, 80)])
def test_a_run_that_was_given_more_steps_ends_where_another_needs_it(
    runs_dir: Path, at: int, reached: int
) -> None:
    longer = stopped(runs_dir, at, **VALUES)
    job = ResumedRun(run=longer.run, steps=60, patience_s=1.0)
    found = perform(job, Control(), Told())
    assert isinstance(found, Ended)
    assert (found.stopped, found.env_steps) == ("finished", reached)


# One at a time -----------------------------------------------------------------------------------


def test_a_living_run_is_not_touched_by_another_who_would_go_on_with_it(
    runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = stopped(runs_dir, 50, **VALUES)
    with (ended.run / "episodes.csv").open("a") as file:
        file.write("5,60,1.0,1.0,10,0,0.1\n")
    with RunLock(ended.run):
        before = contents(ended.run)
        refusal, _ = go_on(ended.run)
        assert outcome_of(refusal).stopped == "locked"
        assert "locked by a living process" in refused(ended.run)
        assert app.main(["resume", str(ended.run)]) == 2
        assert contents(ended.run) == before
    assert "is locked by a living process" in capsys.readouterr().err


# The command line --------------------------------------------------------------------------------


def test_resume_on_the_command_line_goes_on_and_prints_how_it_ended(
    runs_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = stopped(runs_dir, 50, **VALUES)
    monkeypatch.setenv("TD3_STUDIO_RUNS", str(runs_dir))
    assert app.main(["resume", ended.run.name, "--steps", "1e2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["env_steps"], found["stopped"]) == (100, "finished")
    assert to_dict(RunDirectory.open(ended.run).config)["steps"] == 100
    assert app.main(["resume", "nothing-here"]) == 2


@pytest.mark.parametrize(
    ("num_envs", "asked"), [(1, []), (1, ["--steps", "97"]), (3, []), (3, ["--steps", "97"])]
)
def test_a_script_that_resumes_until_the_run_is_over_is_told_that_it_is(
    runs_dir: Path, capsys: pytest.CaptureFixture[str], num_envs: int, asked: list[str]
) -> None:
    ended = finish(runs_dir, **VALUES | {"num_envs": num_envs})
    before = contents(ended.run)
    assert app.main(["resume", str(ended.run), *asked, "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out.splitlines()[-1])
    assert found == json.loads(json.dumps(asdict(ended), default=str)) | {
        "wall_s": found["wall_s"],
        "steps_per_s": found["steps_per_s"],
        "advice": [],
    }
    assert f"is finished: step {ended.env_steps} of 97" in err
    assert contents(ended.run) == before
    # It has gone further than this.
    assert app.main(["resume", str(ended.run), "--steps", "55"]) == 2


def test_a_run_stopped_in_its_last_evaluation_is_resumed_for_it(
    runs_dir: Path, scripted: Any
) -> None:
    control, values = Control(), {"steps": 60, "eval_interval": 60}

    def stop_in_evaluation(step: int) -> None:
        if step == 65:
            control.stop()

    script = Script(on_step=stop_in_evaluation)
    outcome, told = run(runs_dir, scripted(script), control=control, **values)
    assert isinstance(outcome, Ended)
    assert (outcome.stopped, outcome.env_steps) == ("user", 60)
    assert not told.all(Evaluated)
    ended, told = go_on(outcome.run)
    assert isinstance(ended, Ended)
    assert (ended.stopped, ended.env_steps) == ("finished", 60)
    assert [event.env_steps for event in told.all(Evaluated)] == [60]
    assert refused(outcome.run)


def test_a_run_killed_right_after_it_had_finished_is_finished(
    runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = finish(runs_dir, **VALUES | {"num_envs": 3})
    before = contents(ended.run)
    with RunLock(ended.run):
        left = {name: (ended.run / name).read_text() for name in ("lock", "lock.json")}
    for name, text in left.items():
        (ended.run / name).write_text(text)
    assert left_behind(ended.run)
    assert summarise(RunDirectory.open(ended.run)).state is RunStatus.FINISHED
    assert app.main(["resume", str(ended.run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["stopped"] == "finished"
    assert contents(ended.run) == before


def test_a_change_from_another_journal_that_makes_no_sense_here_is_left_out(runs_dir: Path) -> None:
    config, tunables = tiny(**VALUES | {"buffer_size": 50})
    told = Told()
    changes = [Change(30, "batch_size", 60), Change(40, "tau", 0.5)]
    outcome = train(config, tunables, Control(), told, runs_dir, changes)
    assert isinstance(outcome, Ended)
    assert [(w.env_steps, "batch_size 60" in str(w.message)) for w in told.all(Warned)] == [
        (30, True)
    ]
    found = checkpoint.read_header(RunDirectory.open(outcome.run).last).tunables
    assert (found.batch_size, found.tau) == (tunables.batch_size, 0.5)
