"""Following a run from outside gives the run's own reports."""

import json
import os
import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from td3core.checkpoint import load, save
from td3core.protocol.control import Control
from td3core.protocol.events import (
    Ended,
    EpisodeEnded,
    Evaluated,
    Event,
    Failed,
    Interrupted,
    Noted,
    Progress,
    Saved,
    Started,
    Tuned,
    Warned,
)
from td3core.protocol.run_status import RunStatus
from td3core.remote.steer import RemoteControl
from td3core.runs.directory import RunDirectory
from td3core.runs.liveness import PATIENCE_S, Liveness
from td3core.runs.lock import RunLock
from td3core.runs.reader import RunReader
from td3core.runs.status import Notice, Status
from td3core.runs.tail import Tail
from td3core.text import NO_TEXT, Text
from td3core.training.launch import resume
from tests.support.scripted import Script
from tests.td3core.helpers import Told, fail, finish, run

SETTINGS: dict[str, Any] = {"eval_interval": 20, "checkpoint_interval": 25}


def rows(events: list[Event]) -> Any:
    return np.concatenate([each.training for each in events if isinstance(each, Progress)])


def episodes(events: list[Event]) -> list[EpisodeEnded]:
    return [ended for each in events if isinstance(each, Progress) for ended in each.ended]


def of(kind: Any, events: list[Event]) -> list[Any]:
    return [each for each in events if isinstance(each, kind)]


class Clock:
    """Two seconds pass between any two looks at it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 2.0
        return self.now


class Followed:
    """A listener that follows its run from outside after each event."""

    def __init__(self) -> None:
        self.seen: list[Event] = []
        self.follower: RunReader | None = None

    def __call__(self, event: Event) -> None:
        if isinstance(event, Started) and self.follower is None:
            self.follower = RunReader(event.run, Clock())
        self.poll()

    def poll(self) -> list[Event]:
        new = list(self.follower.poll()) if self.follower else []
        self.seen += new
        return new


def follow(path: Path) -> tuple[RunReader, list[Event]]:
    """Follow a run that has ended."""
    follower = RunReader(path, Clock())
    return follower, list(follower.poll())


@pytest.mark.usefixtures("eager")
def test_a_follower_reports_what_the_run_reports(runs_dir: Path, scripted: Any) -> None:
    control, followed = Control(), Followed()

    def change(step: int) -> None:
        if step == 31:
            control.change({"tau": 0.2, "gamma": 0.5})

    env = scripted(Script(on_step=change))
    outcome, told = run(runs_dir, env, control=control, react=followed, **SETTINGS)
    assert isinstance(outcome, Ended)
    followed.poll()
    seen = followed.seen
    assert isinstance(seen[0], Started)
    assert replace(seen[0], engine=NO_TEXT) == replace(told.all(Started)[0], engine=NO_TEXT)
    np.testing.assert_allclose(rows(seen), rows(told.events), rtol=1e-5)
    assert episodes(seen) == episodes(told.events)
    # Times have three digits on disk.
    evaluated = [replace(each, wall_s=0.0) for each in told.all(Evaluated)]
    assert [replace(each, wall_s=0.0) for each in of(Evaluated, seen)] == evaluated
    (tuned,), (original,) = of(Tuned, seen), told.all(Tuned)
    assert replace(tuned, time="", updates=original.updates, revision=1) == original
    (ended,) = of(Ended, seen)
    assert replace(ended, steps_per_s=outcome.steps_per_s) == outcome
    saved = {(each.path.name, each.env_steps) for each in told.all(Saved)}
    assert {(each.path.name, each.env_steps) for each in of(Saved, seen)} == saved
    assert max(each.env_steps for each in of(Progress, seen)) == 60
    assert followed.follower is not None
    assert followed.follower.state is RunStatus.FINISHED


def test_a_finished_run_is_reported_as_a_whole_at_once(runs_dir: Path) -> None:
    _, told = run(runs_dir, **SETTINGS)
    follower, seen = follow(told.all(Started)[0].run)
    np.testing.assert_allclose(rows(seen), rows(told.events), rtol=1e-5)
    assert isinstance(seen[-1], Ended)
    assert follower.poll() == ()


def test_what_was_read_when_a_look_failed_is_reported_by_the_next_one(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, told = run(runs_dir, **SETTINGS)
    follower = RunReader(told.all(Started)[0].run, Clock())

    def fail(_: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr("td3core.runs.reader.state_of", fail)
        with pytest.raises(OSError, match="Input/output error"):
            follower.poll()
    seen = list(follower.poll())
    np.testing.assert_allclose(rows(seen), rows(told.events), rtol=1e-5)
    assert isinstance(seen[-1], Ended)


def test_a_failed_run_is_reported_with_its_reason(runs_dir: Path, scripted: Any) -> None:
    def explode(step: int) -> None:
        if step == 30:
            raise ValueError("the motor is hot")

    failed, _ = fail(runs_dir, scripted(Script(on_step=explode)))
    assert failed.ending is not None
    _, seen = follow(failed.ending.run)
    assert isinstance(seen[-1], Failed)
    assert str(seen[-1].message) == str(failed.message)


def test_a_resume_is_noticed_and_what_comes_after_its_step_reported_anew(runs_dir: Path) -> None:
    outcome, _ = run(runs_dir, control=Control.stopping_at(40), **SETTINGS)
    assert isinstance(outcome, Ended)
    (outcome.run / "checkpoints/last.safetensors").unlink()
    follower, first = follow(outcome.run)
    assert isinstance(first[-1], Ended)
    told = Told()
    resume(outcome.run, Control(), told)
    resumed_at = told.all(Started)[0].env_steps
    assert resumed_at == 25
    second = list(follower.poll())
    start = of(Started, second)[-1]
    assert (start.env_steps, start.repeated_steps) == (25, 15)
    after = second[second.index(start) :]
    assert [each.env_steps for each in episodes(after)] == [30, 40, 50, 60]
    assert [each.env_steps for each in of(Evaluated, after)] == [40, 60]
    assert [each.event for each in of(Noted, second)] == ["resume"]
    assert isinstance(second[-1], Ended)


def test_a_table_that_was_rewritten_is_read_anew(runs_dir: Path) -> None:
    outcome = finish(runs_dir, **SETTINGS)
    follower, seen = follow(outcome.run)
    table = outcome.run / "episodes.csv"
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join(lines[:-2]))
    again = list(follower.poll())
    assert isinstance(again[0], Started)
    assert again[0].env_steps == 0
    assert episodes(again) == episodes(seen)[:-2]


def test_a_line_that_is_being_written_is_read_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\nb")
    tail = Tail(path)
    assert tail.read().lines == ("a",)
    with path.open("a") as file:
        file.write("c\nd\n")
    assert tail.read().lines == ("bc", "d")
    assert tail.read().lines == ()


def test_a_file_that_was_replaced_at_the_same_length_and_time_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("aa\nbb\n")
    os.utime(path, (1_000, 1_000))
    tail = Tail(path)
    tail.read()
    path.write_text("aa\ncc\n")
    os.utime(path, (1_000, 1_000))
    piece = tail.read()
    assert (piece.rewritten, piece.lines) == (True, ("aa", "cc"))


@given(st.lists(st.binary(max_size=40), max_size=8), st.binary(max_size=60))
def test_a_tail_gives_every_line_once_however_the_file_grows(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], replaced: bytes
) -> None:
    path = tmp_path_factory.mktemp("tail") / "t"
    tail, found = Tail(path), list[str]()
    for piece in pieces:
        with path.open("ab") as file:
            file.write(piece)
        found += tail.read().lines
    whole = path.read_bytes() if pieces else b""
    assert found == whole.decode("utf-8", "replace").split("\n")[:-1]
    path.write_bytes(replaced)
    piece = tail.read()
    lines = replaced.decode("utf-8", "replace").split("\n")[:-1]
    found = list(piece.lines) if piece.rewritten else found + list(piece.lines)
    assert found == lines or not whole.endswith(b"\n")


def test_what_is_left_of_a_line_too_long_for_any_run_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x" * (2**20 + 1))
    tail = Tail(path)
    assert tail.read().lines == ()
    with path.open("a") as file:
        file.write("yy\nnext\n")
    assert tail.read().lines == ("next",)


def test_special_files_in_a_followed_folder_are_not_opened(runs_dir: Path) -> None:
    outcome = finish(runs_dir)
    for name in ("status.json", "training.csv", "journal.jsonl", "evaluations.csv"):
        (outcome.run / name).unlink(missing_ok=True)
        os.mkfifo(outcome.run / name)
    _, seen = follow(outcome.run)
    assert isinstance(seen[-1], Ended)


@pytest.mark.usefixtures("eager")
def test_warnings_of_the_run_reach_the_follower_once(runs_dir: Path, scripted: Any) -> None:
    followed = Followed()

    def spoil(step: int) -> None:
        (path,) = runs_dir.iterdir()
        if step == 30:
            (path / "journal.jsonl").mkdir()
            RemoteControl(path).change({"tau": 0.2})

    _, told = run(runs_dir, scripted(Script(on_step=spoil)), react=followed)
    followed.poll()
    assert [str(each.message) for each in of(Warned, followed.seen)] == [
        str(each.message) for each in told.all(Warned)
    ]
    assert len(told.all(Warned)) == 1


def test_warnings_of_a_resumed_run_count_from_one_and_are_reported(runs_dir: Path) -> None:
    path = finish(runs_dir).run
    status, notice = Status.read(path), Notice(number=1, env_steps=1, message=Text("first"))
    assert status is not None
    replace(status, warnings=(notice,)).write(path)
    reader = RunReader(path)
    assert [str(each.message) for each in of(Warned, list(reader.poll()))] == ["first"]
    assert of(Warned, list(reader.poll())) == []
    again = (replace(notice, message=Text("second")),)
    replace(status, session="another", warnings=again).write(path)
    assert [str(each.message) for each in of(Warned, list(reader.poll()))] == ["second"]


def test_one_who_begins_to_follow_a_run_that_was_read_is_told_where_it_stands(
    runs_dir: Path,
) -> None:
    reader = RunReader(finish(runs_dir).run)
    (reached,) = {each.env_steps for each in of(Progress, list(reader.drain()))}
    assert of(Progress, list(reader.poll())) == []
    started = reader.again()
    (now,) = of(Progress, list(reader.poll()))
    assert started.env_steps == now.env_steps == reached


def test_a_beat_without_new_rows_tells_where_the_run_stands(runs_dir: Path) -> None:
    reader = RunReader(finish(runs_dir).run)
    list(reader.drain())
    status = Status.read(reader.run)
    assert status is not None
    replace(status, beat=status.beat + 1, steps_per_s=123.0).write(reader.run)
    (now,) = of(Progress, list(reader.poll()))
    assert now.steps_per_s == 123.0


def test_the_checkpoints_are_listed_once_a_second(runs_dir: Path) -> None:
    path, now = finish(runs_dir).run, [0.0]
    reader = RunReader(path, lambda: now[0])
    list(reader.drain())
    last = RunDirectory.open(path).last
    new = last.with_name("step_000000001.safetensors")
    new.write_bytes(last.read_bytes())
    assert of(Saved, list(reader.poll())) == []
    now[0] = 1.0
    assert [each.path for each in of(Saved, list(reader.poll()))] == [new]


def test_a_table_too_long_to_be_read_at_once_is_read_before_the_end_is_reported(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, tables = finish(runs_dir).run, ("episodes",)
    whole = list(RunReader(path, tables=tables).drain())
    monkeypatch.setattr("td3core.runs.tail._MOST_BYTES", 200)
    reader = RunReader(path, tables=tables)
    first = list(reader.poll())
    assert reader.behind
    assert of(Ended, first) == []
    rest = list(reader.drain())
    assert episodes([*first, *rest]) == episodes(whole)
    assert len(of(Progress, [*first, *rest])) > 2
    assert isinstance(rest[-1], Ended)


def test_the_threshold_of_a_run_without_status_is_that_of_its_last_agent(runs_dir: Path) -> None:
    path = finish(runs_dir, **SETTINGS).run
    run = RunDirectory.open(path)
    saved = load(run.last)
    env = replace(saved.header.env, reward_threshold=5.0)
    run.last.unlink()
    save(run.last, replace(saved.header, env=env), saved.tensors)
    run.best.unlink()
    (path / "status.json").unlink()
    found = of(Evaluated, list(RunReader(path).drain()))
    assert {each.reward_threshold for each in found} == {5.0}


# Alive or not ------------------------------------------------------------------------------------


class Watch:
    """A run on another machine, as it is seen here."""

    def __init__(self, path: Path) -> None:
        self.path, self.now = path, 0.0
        record = {"pid": 1, "host": f"not-{platform.node()}", "since": "2001-01-01"}
        (path / "lock.json").write_text(json.dumps(record))
        (path / "lock").touch()
        status = Status.read(path)
        assert status is not None
        self.status = status
        self.liveness = Liveness(path, lambda: self.now)

    def after(self, seconds: float, *, beats: int = 0) -> bool:
        self.now += seconds
        self.status = replace(self.status, beat=self.status.beat + beats)
        self.status.write(self.path)
        # As a network drive with coarse times shows it.
        os.utime(self.path / "status.json", (1_000, 1_000))
        return self.liveness.check(Status.read(self.path))


def test_a_run_of_another_machine_lives_as_long_as_its_status_changes(runs_dir: Path) -> None:
    watch = Watch(finish(runs_dir).run)
    assert watch.after(0.0)
    assert all(watch.after(3.0, beats=1) for _ in range(10))
    assert watch.after(PATIENCE_S - 1.0)
    assert not watch.after(1.5)
    assert PATIENCE_S + 1.5 <= 10.0


def test_a_drive_that_shows_changes_late_is_mistaken_once_only(runs_dir: Path) -> None:
    watch = Watch(finish(runs_dir).run)
    watch.after(0.0, beats=1)
    assert not watch.after(PATIENCE_S + 1.0)
    assert watch.after(11.0, beats=20)
    assert watch.after(19.0)
    assert watch.after(1.0, beats=20)
    assert not watch.after(40.0)


def test_a_run_that_was_mistaken_for_dead_is_gone_on_with(runs_dir: Path) -> None:
    outcome, _ = run(runs_dir, control=Control.stopping_at(40), **SETTINGS)
    assert isinstance(outcome, Ended)
    (outcome.run / "ending.json").unlink()
    watch = Watch(outcome.run)
    reader = RunReader(outcome.run, lambda: watch.now)
    watch.after(0.0, beats=1)
    assert reader.poll()
    assert reader.state is RunStatus.RUNNING
    watch.after(PATIENCE_S + 1.0)
    assert isinstance(reader.poll()[-1], Interrupted)
    watch.after(1.0, beats=1)
    started, *rest = reader.poll()
    # Nothing that was reported is reported again.
    assert isinstance(started, Started)
    assert (started.env_steps, started.repeated_steps) == (40, 0)
    assert not of(Evaluated, rest)
    assert reader.state is RunStatus.RUNNING


def test_a_run_without_a_process_is_reported_as_interrupted_and_as_started_when_resumed(
    runs_dir: Path,
) -> None:
    outcome, _ = run(runs_dir, control=Control.stopping_at(40), **SETTINGS)
    assert isinstance(outcome, Ended)
    (outcome.run / "ending.json").unlink()
    follower, seen = follow(outcome.run)
    assert seen[-1] == Interrupted(run=outcome.run, env_steps=40)
    resume(outcome.run, Control(), Told())
    again = list(follower.poll())
    assert of(Started, again)[-1].env_steps == 40
    assert isinstance(again[-1], Ended)


def test_a_run_that_has_just_begun_is_reported_once_its_status_is_there(runs_dir: Path) -> None:
    path, now = finish(runs_dir).run, [0.0]
    status = Status.read(path)
    assert status is not None
    (path / "status.json").unlink()
    with RunLock(path):
        first, second = (RunReader(path, lambda: now[0]) for _ in range(2))
        assert first.poll() == second.poll() == ()
        status.write(path)
        started = first.poll()[0]
        assert isinstance(started, Started)
        assert started.threads == status.threads
        (path / "status.json").unlink()
        # One of an earlier version never has a status.
        now[0] = 6.0
        assert isinstance(second.poll()[0], Started)
