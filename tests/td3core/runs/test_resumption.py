"""The checkpoint a run resumes from, and reasons for refusing it."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from td3core import checkpoint
from td3core.protocol.events import Ended, Failed, Warned
from td3core.runs.directory import RunDirectory
from td3core.runs.resumption import resume_point
from td3core.runs.tables import read_table
from tests.support.lives import differences
from tests.td3core.helpers import finish, tiny
from tests.td3core.training.resuming import VALUES, contents, go_on, go_on_well, refused, stopped


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
        point = resume_point(opened)
        assert point is not None
        assert point.path == path
        assert [str(text).split(" ")[0] for text in point.deviations] == [
            p.name for p in order[:number]
        ]
        # Names of one file, where the system has links: each gets one of its own.
        path.write_bytes(path.read_bytes())
        damage(path)
    said = refused(ended.run)
    assert all(path.name in said for path in order)
    shutil.rmtree(ended.run)
    ended = finish(runs_dir, **VALUES)
    (ended.run / "checkpoints/last.safetensors").write_bytes(b"")
    (ended.run / "ending.json").unlink()
    # last was damaged, and the best agent was that of the last step.
    go_on_well(ended.run, warnings=2)
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


def test_a_live_setting_edited_in_the_description_is_refused_as_it_would_have_no_effect(
    runs_dir: Path,
) -> None:
    ended = stopped(runs_dir, 50, **VALUES)
    path = ended.run / "run.toml"
    text = path.read_text()
    tau = RunDirectory.open(ended.run).first_tunables.tau
    path.write_text(text.replace(f"tau = {tau}", "tau = 0.25"))
    assert f"tau is 0.25 in run.toml, but {tau} in last.safetensors." in refused(ended.run)
    path.write_text(text.replace(f"tau = {tau}", 'tau = "0.25, 0.1@40"'))
    assert "in run.toml, but" in refused(ended.run)
    path.write_text(text)
    assert go_on_well(ended.run).env_steps == 97


@pytest.mark.parametrize(
    ("name", "now"),
    [("learning_starts", 90), ("eval_interval", 40), ("update_while_stepping", True)],
)
def test_an_edit_of_the_description_that_counts_is_said_and_refused_where_it_must_be_exact(
    runs_dir: Path, name: str, now: Any
) -> None:
    ended = stopped(runs_dir, 50, **VALUES)
    then = getattr(RunDirectory.open(ended.run).config, name)
    path = ended.run / "run.toml"
    text = path.read_text()
    before = f"{name} = {json.dumps(then)}"
    assert before in text
    path.write_text(text.replace(before, f"{name} = {json.dumps(now)}"))
    said = f"{name} was {then} in last.safetensors and is {now} in run.toml."
    point = resume_point(RunDirectory.open(ended.run))
    assert point is not None
    assert [*map(str, point.deviations)] == [said]
    if name == "eval_interval":
        outcome, _ = go_on(ended.run, exact=True)
        assert isinstance(outcome, Failed)
        assert said in str(outcome.message)
        outcome, told = go_on(ended.run)
        assert isinstance(outcome, Ended)
        assert [said in str(warned.message) for warned in told.all(Warned)] == [True]


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


def test_only_agents_of_later_steps_are_dropped_also_after_a_billion(runs_dir: Path) -> None:
    run = RunDirectory.create(runs_dir, *tiny())
    steps = [999_999_999, 1_000_000_000, 1_000_000_001, 10_000_000_000]
    for path in (run.step_checkpoint, run.pending_checkpoint):
        for step in steps:
            path(step).write_bytes(b"")
    # A person's own file.
    (run.checkpoints / "step_mine.safetensors").write_bytes(b"")
    run.prepare_resume(1_000_000_000)
    assert [path.stem for path in run.saved()] == ["step_999999999", "step_1000000000", "step_mine"]
    assert run.pending() == [run.pending_checkpoint(step) for step in steps[:2]]


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
