"""A full disk costs a warning, never the run; what could not be written is written later."""

import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from td3core import checkpoint
from td3core.errors import RequestError
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Failed, Progress, Saved, Warned
from td3core.runs import directory
from td3core.runs.directory import RunDirectory
from td3core.runs.reader import RunReader
from td3core.runs.tables import read_table
from td3core.system import files
from tests.support.scripted import Script
from tests.td3core.helpers import finish, run, same, tensors, tiny

FULL = OSError(errno.ENOSPC, "No space left on device")


class Disk:
    """Stands before a function that writes; full for as long as it is told to be."""

    def __init__(self, write: Callable[..., Any], full: Callable[[Path], bool]) -> None:
        self._write, self.full, self.refused = write, full, 0

    def __call__(self, path: Path, *rest: Any) -> Any:
        if self.full(path):
            self.refused += 1
            raise FULL
        return self._write(path, *rest)


def test_checkpoints_that_cannot_be_written_cost_one_warning_each_and_training_goes_on(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(checkpoint.save, lambda path: True)
    monkeypatch.setattr(checkpoint, "save", disk)
    outcome, told = run(runs_dir, checkpoint_interval=20)
    # All its steps were taken, yet a run whose agent is lost has not ended well.
    assert isinstance(outcome, Failed)
    assert "could not be saved" in str(outcome.message)
    assert (outcome.ending.updates, outcome.last_checkpoint) == (40, None)
    assert disk.refused >= 4
    assert not told.all(Saved)
    said = [(w.env_steps, str(w.message)) for w in told.all(Warned)]
    assert [step for step, _ in said] == [20, 40, 60, 60]
    for step, message in said:
        assert "No space left on device" in message
        assert ("Training continues" in message) == (step < 60)
    assert "step_000000020" in said[0][1]


def test_a_run_that_stops_or_has_failed_does_not_say_that_it_continues(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, scripted: Callable[[Script], str]
) -> None:
    monkeypatch.setattr(checkpoint, "save", Disk(checkpoint.save, lambda path: True))
    _, stopped = run(runs_dir, control=Control.stopping_at(30))
    _, failed = run(runs_dir, scripted(Script(faults={30: lambda outcome: outcome[:4]})))
    for told in (stopped, failed):
        (warned,) = told.all(Warned)
        assert str(warned.message) == "Could not write last.safetensors: No space left on device."


def test_a_checkpoint_that_failed_leaves_the_earlier_ones_whole(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = Disk(files.write_atomically, lambda path: path.stem not in ("step_000000020", "run"))
    monkeypatch.setattr(checkpoint.format, "write_atomically", late)
    outcome, told = run(runs_dir, checkpoint_interval=20)
    assert isinstance(outcome, Failed)
    assert [s.path.stem for s in told.all(Saved)] == ["step_000000020"]
    # The agent to go on from is a second name of the same file.
    names = sorted(path.name for path in (outcome.run / "checkpoints").iterdir())
    assert names == ["last.safetensors", "step_000000020.safetensors"]
    header = checkpoint.load(told.all(Saved)[0].path).header
    assert header.counters.env_steps == outcome.saved_steps == 20
    # A follower in another process reports the same.
    assert list(RunReader(outcome.run).drain())[-1].saved_steps == 20


def test_a_run_on_a_full_disk_learns_what_it_would_have_learnt(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = finish(runs_dir, checkpoint_interval=20)
    with monkeypatch.context() as patch:
        disk = Disk(checkpoint.save, lambda path: path.stem != "last")
        patch.setattr(checkpoint, "save", disk)
        full = finish(runs_dir, checkpoint_interval=20)
    assert disk.refused == 3
    assert same(tensors(plain.last_checkpoint), tensors(full.last_checkpoint))


def test_rows_that_could_not_be_written_come_once_the_disk_has_room(
    runs_dir: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script()
    disk = Disk(files.append_whole, lambda path: script.steps < 45)
    monkeypatch.setattr(files, "append_whole", disk)
    monkeypatch.setattr("td3core.training.trainer.REPORT_S", 0.0)
    outcome, told = run(runs_dir, scripted(script), steps=60)
    assert isinstance(outcome, Ended)
    assert disk.refused > 10
    assert [str(w.message).split(":")[0] for w in told.all(Warned)] == [
        "Could not write the run's tables"
    ]
    rows = read_table(outcome.run / "episodes.csv")
    assert [int(row["env_steps"]) for row in rows] == [10, 20, 30, 40, 50, 60]
    assert len(read_table(outcome.run / "training.csv")) >= 1


def test_a_live_change_that_could_not_be_written_comes_once_the_disk_has_room(
    runs_dir: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    control, script = Control(), Script()
    disk = Disk(files.append_whole, lambda path: 20 <= script.steps < 45)
    monkeypatch.setattr(files, "append_whole", disk)

    def change(env_steps: int) -> None:
        if env_steps in (30, 50):
            control.change({"tau": env_steps / 100})

    control.boundary_hook = change
    outcome, _ = run(runs_dir, scripted(script), control=control, steps=60)
    assert isinstance(outcome, Ended)
    assert disk.refused
    entries = RunDirectory.open(outcome.run).journal()
    assert [(e["step"], e["new"]) for e in entries if "field" in e] == [(30, 0.3), (50, 0.5)]


def test_a_full_disk_is_told_once_and_again_when_it_fills_again(
    runs_dir: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One-step episodes: there is always a row to write.
    script = Script([(1, "terminated")])
    disk = Disk(files.append_whole, lambda path: 10 < script.steps < 20 or 30 < script.steps < 40)
    monkeypatch.setattr(files, "append_whole", disk)
    monkeypatch.setattr("td3core.training.trainer.REPORT_S", 0.0)
    _, told = run(runs_dir, scripted(script), steps=60)
    assert [w.env_steps for w in told.all(Warned)] == [11, 31]


@pytest.mark.parametrize("name", ["episodes.csv", "training.csv", "journal.jsonl"])
def test_a_file_that_does_not_reach_the_disk_is_told_once(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    refused, sync = [], files.GrowingFile.sync

    def flaky(file: files.GrowingFile) -> None:
        if file.path.name == name:
            refused.append(file.path)
            raise OSError(errno.EIO, "Input/output error")
        sync(file)

    monkeypatch.setattr(files.GrowingFile, "sync", flaky)
    monkeypatch.setattr("td3core.training.trainer.REPORT_S", 0.0)
    _, told = run(runs_dir, checkpoint_interval=10)
    assert len(refused) > 3
    (warned,) = told.all(Warned)
    assert "Input/output error" in str(warned.message)


def test_a_change_is_applied_even_if_the_journal_cannot_be_written(
    runs_dir: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    control = Control()
    _, new = tiny(tau=0.5)
    script = Script(on_step=lambda step: control.tune(new) if step == 25 else None)
    disk = Disk(files.append_whole, lambda path: path.name == "journal.jsonl")
    monkeypatch.setattr(files, "append_whole", disk)
    outcome, told = run(runs_dir, scripted(script), control=control)
    assert isinstance(outcome, Ended)
    assert "the journal" in str(told.all(Warned)[0].message)
    assert told.all(Progress)[-1].tunables.tau == 0.5


class FullFile:
    """A file that takes some bytes and then finds the disk full."""

    def __init__(self, path: Path, room: int) -> None:
        self._file, self._room = path.open("ab", buffering=0), room

    def __enter__(self) -> "FullFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def tell(self) -> int:
        return self._file.tell()

    def truncate(self, size: int) -> int:
        return self._file.truncate(size)

    def write(self, data: Any) -> int:
        if not self._room:
            raise FULL
        taken = self._file.write(bytes(data[: self._room]))
        self._room -= taken
        return taken


@pytest.mark.parametrize("room", [0, 1, 5, 11])
def test_text_that_does_not_fit_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text("first line\n")
    monkeypatch.setattr(files, "open_own", lambda opened, *_: FullFile(opened, room))
    with pytest.raises(OSError, match="No space left"):
        files.append_whole(path, "second line\n")
    assert path.read_text() == "first line\n"


def test_text_that_fits_in_several_writes_arrives_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.jsonl"

    class Slow(FullFile):
        def write(self, data: Any) -> int:
            return super().write(data[:3])

    monkeypatch.setattr(files, "open_own", lambda opened, *_: Slow(opened, 1000))
    line = json.dumps({"step": 1, "field": "τ"}) + "\n"
    files.append_whole(path, line)
    assert path.read_text() == line


def test_a_runs_folder_that_cannot_be_made_is_a_wrong_request(tmp_path: Path) -> None:
    in_the_way = tmp_path / "runs"
    in_the_way.write_text("a file")
    outcome, told = run(in_the_way)
    assert isinstance(outcome, Failed)
    assert outcome.request
    assert str(in_the_way) in str(outcome.message)
    assert told.events == [outcome]
    with pytest.raises(RequestError, match="cannot be written"):
        directory.RunDirectory.create(in_the_way / "deeper", *tiny())
