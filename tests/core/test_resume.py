"""A run that goes on is the run that was never interrupted; where it cannot be, it says so."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core import checkpoint, cli, files, products
from td3core.config import to_dict
from td3core.control import Control
from td3core.events import Ended, Failed, Tuned, Warned
from td3core.journal import Change
from td3core.lock import RunLock
from td3core.loop import train
from td3core.resumption import choose_checkpoint, pending_changes
from td3core.runs import RunDirectory, read_table
from tests.core.helpers import Told, finish, run, same, tensors, tiny
from tests.core.resuming import contents, crashing, go_on, go_on_well, refused, stop_at
from tests.lives import differences
from tests.scripted import STEPS, Script

VALUES: dict[str, Any] = {"steps": 97, "eval_interval": 30, "checkpoint_interval": 20}


def stopped(runs_dir: Path, step: int, env: str = STEPS, **values: Any) -> Ended:
    """Return a run that was stopped after a step."""
    outcome, _ = run(runs_dir, env, control=stop_at(step), **values)
    assert isinstance(outcome, Ended)
    assert (outcome.stopped, outcome.env_steps) == ("user", step)
    return outcome


# The same run -----------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [5, 20, 21, 50, 60, 73, 96])
def test_a_run_stopped_and_resumed_equals_one_that_was_not(runs_dir: Path, step: int) -> None:
    straight = finish(runs_dir / "straight", **VALUES)
    broken = stopped(runs_dir, step, **VALUES)
    assert go_on_well(broken.run).stopped == "finished"
    assert differences(straight.run, broken.run) == []


@pytest.mark.parametrize(
    "values",
    [
        {"normalize_observations": True, "lr_final": 0.1},
        {"twin_critics": False, "policy_delay": 3, "updates_per_step": 2},
        {"buffer_size": 30, "batch_size": 5},
        {"num_envs": 3, "steps": 98},
        {"exploration_noise_decay": 0.95, "exploration_noise_min": 0.02},
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


@pytest.mark.parametrize(
    "kept", [{}, {"keep_every": 2}, {"keep_every": 0, "keep_best": 1}], ids=str
)
def test_whatever_stands_on_disk_when_it_is_killed_the_run_goes_on_the_same(
    runs_dir: Path, tmp_path: Path, kept: dict[str, Any]
) -> None:
    values = {"steps": 65, "eval_interval": 30, "checkpoint_interval": 20, **kept}
    with crashing(runs_dir, tmp_path / "crashes") as crashes:
        straight = finish(runs_dir, **values)
    assert len(crashes.found) > 40
    seen = set()
    for copy in crashes.found:
        state = json.dumps(sorted((n, hash(d)) for n, d in contents(copy).items()))
        if state in seen:
            continue
        seen.add(state)
        outcome, told = go_on(copy)
        if isinstance(outcome, Failed):
            # Nothing was missing but the record that it had ended.
            assert "has come to step 65" in outcome.message, outcome
        assert not told.all(Warned), copy
        assert differences(straight.run, copy) == [], copy
    assert len(seen) > 20


def test_live_changes_are_made_again_wherever_the_run_is_killed(
    runs_dir: Path, tmp_path: Path
) -> None:
    config, tunables = tiny(**VALUES | {"exploration_noise_decay": 0.99})
    changes = [
        Change(33, "exploration_noise", 0.5),
        Change(40, "tau", 0.1),
        Change(47, "batch_size", 5),
        # There and back at once: the decay begins anew all the same.
        Change(70, "exploration_noise", 0.4),
        Change(70, "exploration_noise", 0.5),
    ]
    with crashing(runs_dir, tmp_path / "crashes") as crashes:
        straight = train(config, tunables, Control(), Told(), runs_dir, changes)
    assert isinstance(straight, Ended)
    tried = 0
    for copy in crashes.found:
        opened = RunDirectory.open(copy)
        fields = [entry for entry in opened.journal() if "field" in entry]
        if len(fields) == len(changes) and opened.ending() is None:
            go_on_well(copy)
            assert differences(straight.run, copy) == [], copy
            tried += 1
    assert tried > 5
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
    saved, _ = choose_checkpoint(opened)
    assert saved is not None
    # The one saved when the run was stopped knows of the change; that of the same step does not.
    assert (saved.header.counters.changes, pending_changes(opened, saved)) == (1, [])
    before = checkpoint.load(opened.step_checkpoint(40))
    assert before.header.counters.changes == 0
    assert pending_changes(opened, before) == [Change(40, "tau", 0.5)]
    assert pending_changes(opened, None) == [Change(40, "tau", 0.5)]


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
    assert "has come to step 55 of 55" in refused(short.run)
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
    (ended.run / "ending.json").unlink()
    assert go_on_well(ended.run).stopped == "finished"


# What it goes on from ---------------------------------------------------------------------------


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def test_the_newest_checkpoint_that_is_sound_is_gone_on_from(runs_dir: Path) -> None:
    straight = finish(runs_dir / "straight", **VALUES)
    ended = finish(runs_dir, **VALUES)
    opened = RunDirectory.open(ended.run)
    (ended.run / "ending.json").unlink()
    order = [opened.last, *(opened.step_checkpoint(n) for n in (80, 60, 40, 20)), opened.best]
    for number, path in enumerate(order):
        saved, refusals = choose_checkpoint(opened)
        assert saved is not None
        assert saved.header.path == path
        assert [text.split(" ")[0] for text in refusals] == [p.name for p in order[:number]]
        # Names of one file, where the system has links: each gets one of its own.
        path.write_bytes(path.read_bytes())
        damage(path)
    said = refused(ended.run)
    assert all(path.name in said for path in order)
    shutil.rmtree(ended.run)
    ended = finish(runs_dir, **VALUES)
    (ended.run / "checkpoints/last.safetensors").write_bytes(b"")
    (ended.run / "ending.json").unlink()
    go_on_well(ended.run, warnings=1)
    assert differences(straight.run, ended.run) == []


def test_a_run_killed_before_its_first_checkpoint_begins_anew_and_is_the_same(
    runs_dir: Path,
) -> None:
    straight = finish(runs_dir / "straight", **VALUES)
    ended = finish(runs_dir, **VALUES)
    (ended.run / "ending.json").unlink()
    shutil.rmtree(ended.run / "checkpoints")
    go_on_well(ended.run)
    assert differences(straight.run, ended.run) == []


def test_settings_that_do_not_fit_the_checkpoint_are_refused(runs_dir: Path) -> None:
    ended = stopped(runs_dir, 50, **VALUES)
    path = ended.run / "run.toml"
    text = path.read_text()
    for old, new in (("[\n    8,", "[\n    9,"), ("buffer_size = 1000", "buffer_size = 900")):
        assert old in text
        path.write_text(text.replace(old, new, 1))
        before = contents(ended.run)
        assert "run.toml" in refused(ended.run)
        assert contents(ended.run) == before


def test_an_environment_of_another_size_is_refused(runs_dir: Path) -> None:
    ended = stopped(runs_dir, 50, **VALUES)
    opened = RunDirectory.open(ended.run)
    saved = checkpoint.load(opened.last)
    env = replace(saved.header.env, action_high=(1.0, 11.0))
    checkpoint.save(opened.last, replace(saved.header, env=env), saved.tensors)
    assert "its action_high was (1.0, 11.0) and is (1.0, 10.0)" in refused(ended.run)


def test_a_table_is_rewound_to_the_step_of_the_checkpoint(runs_dir: Path) -> None:
    ended = finish(runs_dir, **VALUES | {"steps": 100})
    opened = RunDirectory.open(ended.run)
    with (ended.run / "episodes.csv").open("a") as file:
        file.write("12,90")
    opened.rewind(60)
    steps = [int(row["env_steps"]) for row in read_table(ended.run / "episodes.csv")]
    assert steps == [10, 20, 30, 40, 50, 60]
    assert (ended.run / "episodes.csv").read_text().endswith("\n")
    assert [step for step, _ in opened.evaluations()] == [30, 60]
    opened.rewind(50, unlogged=True)
    assert read_table(ended.run / "training.csv") == []
    assert (ended.run / "training.csv").read_text().startswith("env_steps,")


def test_a_table_whose_first_line_was_torn_is_begun_anew(runs_dir: Path) -> None:
    straight = finish(runs_dir / "straight", **VALUES)
    ended = stopped(runs_dir, 9, **VALUES)
    for name in ("episodes", "training", "evaluations"):
        (ended.run / f"{name}.csv").write_text("episode,env_st" if name == "episodes" else "")
    go_on_well(ended.run)
    assert differences(straight.run, ended.run) == []


def test_a_table_that_is_none_is_a_wrong_request_and_stays_as_it_is(runs_dir: Path) -> None:
    ended = stopped(runs_dir, 50, **VALUES)
    (ended.run / "episodes.csv").write_text("nonsense\n1,2,3\n")
    assert "episodes.csv is damaged" in refused(ended.run)
    assert (ended.run / "episodes.csv").read_text() == "nonsense\n1,2,3\n"


def test_what_a_killed_process_was_writing_is_swept_away(runs_dir: Path) -> None:
    ended = stopped(runs_dir, 50, **VALUES)
    for name in (".run.toml.1.2.part", "checkpoints/.last.safetensors.1.2.part"):
        (ended.run / name).write_bytes(b"half")
    (ended.run / ".notes.json.1.2.part").write_bytes(b"a window is writing it")
    shutil.copy(ended.last_checkpoint, ended.run / "checkpoints/evaluating_000000090.safetensors")
    go_on_well(ended.run)
    names = {path.name for path in (ended.run / "checkpoints").iterdir()}
    steps = {f"step_{n:09d}.safetensors" for n in (20, 40, 60, 80)}
    assert names == {"best.safetensors", "last.safetensors"} | steps
    assert [path.name for path in ended.run.glob(".*")] == [".notes.json.1.2.part"]


# One at a time ----------------------------------------------------------------------------------


def test_a_living_run_is_not_touched_by_another_who_would_go_on_with_it(
    runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = stopped(runs_dir, 50, **VALUES)
    with (ended.run / "episodes.csv").open("a") as file:
        file.write("5,60,1.0,1.0,10,0,0.1\n")
    with RunLock(ended.run):
        before = contents(ended.run)
        assert "locked by a living process" in refused(ended.run)
        assert cli.main(["resume", str(ended.run)]) == 2
        assert contents(ended.run) == before
    assert "is locked by a living process" in capsys.readouterr().err


# Where it cannot be the same --------------------------------------------------------------------


def test_without_its_memory_a_run_fills_it_again_and_says_so(runs_dir: Path) -> None:
    ended = stopped(runs_dir, 50, **VALUES | {"keep_replay": False})
    assert not (ended.run / "replay.f32").exists()
    outcome, told = go_on(ended.run)
    assert isinstance(outcome, Ended)
    said = told.all(Warned)[0].message
    assert "keep_replay is off" in said
    assert "Until step 70 it is filled anew" in said
    updates = checkpoint.read_header(outcome.last_checkpoint).counters.updates
    assert updates == ended.updates + 97 - 70


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
    assert "replay memory could not be had again: replay.f32" in told.all(Warned)[0].message
    # Killed while it fills, it goes on filling, without another word.
    assert go_on_well(outcome.run, steps=120).env_steps == 120


def test_other_circumstances_are_said(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = stopped(runs_dir, 50, **VALUES)
    here = products.circumstances(1)
    monkeypatch.setattr(products, "circumstances", lambda threads: here | {"torch": "99.0"})
    outcome, told = go_on(ended.run)
    assert isinstance(outcome, Ended)
    said = told.all(Warned)[0].message
    assert "last digits will differ" in said
    assert "is 99.0" in said


def test_an_environment_that_does_not_come_back_begins_a_new_episode(
    runs_dir: Path, scripted: Any
) -> None:
    # Its observations count the episodes of the process, and so never come again.
    script = Script([(40, "truncated")])
    ended = stopped(runs_dir, 50, scripted(script), **VALUES | {"eval_interval": 0})
    outcome, told = go_on(ended.run)
    assert isinstance(outcome, Ended)
    assert ["did not come back" in w.message for w in told.all(Warned)] == [True]
    rows = read_table(outcome.run / "episodes.csv")
    assert [(int(r["episode"]), int(r["env_steps"])) for r in rows] == [(0, 40), (2, 90)]


def test_an_environment_that_fails_on_its_way_back_begins_a_new_episode(
    runs_dir: Path, scripted: Any
) -> None:
    failures: list[int] = []

    def fail(step: int) -> None:
        if step == 55 and not failures:
            failures.append(step)
            raise OSError("the cable came loose")

    script = Script([(40, "truncated")], on_step=fail)
    ended = stopped(runs_dir, 50, scripted(script), **VALUES | {"eval_interval": 0})
    go_on_well(ended.run, warnings=1)


def test_an_episode_longer_than_the_memory_cannot_come_back(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("td3core.loop.SLACK", 5)
    values = VALUES | {"env": "Pendulum-v1", "buffer_size": 30, "eval_interval": 0}
    ended = stopped(runs_dir, 50, **values)
    outcome, told = go_on(ended.run)
    assert isinstance(outcome, Ended)
    assert ["did not come back" in w.message for w in told.all(Warned)] == [True]


# Evaluations that were out ----------------------------------------------------------------------


def test_an_agent_that_was_being_evaluated_is_evaluated_when_the_run_goes_on(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight = finish(runs_dir / "straight", **VALUES)
    with monkeypatch.context() as patch:
        # A process that is never done before the run is stopped.
        patch.setattr("td3core.judge.Judge.submit", lambda self, agent: None)
        ended = stopped(runs_dir, 73, **VALUES)
    waiting = [path.name for path in RunDirectory.open(ended.run).waiting()]
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
    checkpoint.save(opened.waiting_checkpoint(step), plain, best.tensors)
    opened.best.unlink()
    go_on(ended.run, control=stop_at(1))
    assert checkpoint.read_header(opened.best).evaluation == best.header.evaluation
    go_on_well(ended.run)
    assert differences(straight.run, ended.run) == []


def test_a_damaged_agent_that_waited_is_left_out(runs_dir: Path) -> None:
    ended = stopped(runs_dir, 50, **VALUES)
    opened = RunDirectory.open(ended.run)
    opened.waiting_checkpoint(25).write_bytes(b"half")
    go_on_well(ended.run)
    assert [step for step, _ in opened.evaluations()] == [30, 60, 90, 97]


# A full disk ------------------------------------------------------------------------------------


def test_a_disk_full_for_long_never_spoils_the_place_to_go_on_from(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("td3core.loop.SLACK", 40)
    monkeypatch.setattr("td3core.keeper._RETRY_AFTER", 5)
    values: dict[str, Any] = {"buffer_size": 60, "steps": 400, "checkpoint_interval": 50}
    straight = finish(runs_dir / "straight", **values)
    original = files.write_atomically

    def write(path: Path, data: bytes) -> None:
        # Room enough for small files only; the ring of the memory is on disk already.
        if len(data) > 5000 and "run.toml" not in path.name and full:
            raise OSError(28, "No space left on device")
        original(path, data)

    full: list[bool] = []
    for name in ("checkpoint", "keeper"):
        monkeypatch.setattr(f"td3core.{name}.write_atomically", write)
    ended = stopped(runs_dir, 150, **values)
    full.append(True)
    outcome, told = go_on(ended.run)
    assert isinstance(outcome, Failed)
    assert any("No space left" in w.message for w in told.all(Warned))
    assert checkpoint.read_header(ended.last_checkpoint).counters.env_steps == 150
    full.clear()
    (ended.run / "ending.json").unlink()
    go_on_well(ended.run)
    assert differences(straight.run, ended.run) == []


def test_a_save_that_failed_is_tried_again(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("td3core.loop.SLACK", 20)
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


# The command line -------------------------------------------------------------------------------


def test_resume_on_the_command_line_goes_on_and_prints_how_it_ended(
    runs_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = stopped(runs_dir, 50, **VALUES)
    monkeypatch.setenv("TD3_STUDIO_RUNS", str(runs_dir))
    assert cli.main(["resume", ended.run.name, "--steps", "1e2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["env_steps"], found["stopped"]) == (100, "finished")
    assert to_dict(RunDirectory.open(ended.run).config)["steps"] == 100
    assert cli.main(["resume", ended.run.name]) == 2
    assert "has come to step 100" in capsys.readouterr().err
    assert cli.main(["resume", "nothing-here"]) == 2


def test_a_change_from_another_journal_that_makes_no_sense_here_is_left_out(runs_dir: Path) -> None:
    config, tunables = tiny(**VALUES | {"buffer_size": 50})
    told = Told()
    changes = [Change(30, "batch_size", 60), Change(40, "tau", 0.5)]
    outcome = train(config, tunables, Control(), told, runs_dir, changes)
    assert isinstance(outcome, Ended)
    assert [(w.env_steps, "batch_size 60" in w.message) for w in told.all(Warned)] == [(30, True)]
    found = checkpoint.read_header(RunDirectory.open(outcome.run).last).tunables
    assert (found.batch_size, found.tau) == (tunables.batch_size, 0.5)
