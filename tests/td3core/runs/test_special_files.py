"""A run may be anyone's folder: special files, huge ones, links and forged names stop nothing."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from td3core.checkpoint import read_header
from td3core.cli import app
from td3core.config.presets import load_presets, user_presets_dir
from td3core.errors import RequestError
from td3core.protocol.control import Control
from td3core.protocol.events import Failed
from td3core.runs import journal
from td3core.runs.directory import RunDirectory
from td3core.runs.listing import list_runs, summarise, unreadable_runs
from td3core.runs.lock import RunLock, holder
from td3core.runs.tables import read_last_row, read_numbers, read_table
from td3core.training.launch import resume
from tests.support.marks import release, slow
from tests.support.scripted import STEPS
from tests.td3core.helpers import finish

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no special files there")

MOST_S = 2.0
FILES = (
    *("run.toml", "notes.json", "ending.json", "lock.json", "journal.jsonl"),
    *("episodes.csv", "training.csv", "evaluations.csv", "replay.f32"),
    "checkpoints/last.safetensors",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished run."""
    ended = finish(tmp_path_factory.mktemp("made"), eval_interval=30)
    (ended.run / "notes.json").write_text('{"name": "a", "note": "b"}')
    (ended.run / "lock.json").write_text('{"pid": 1, "host": "h", "since": "s"}')
    (ended.run / "journal.jsonl").write_text('{"step": 3, "event": "pause", "time": "t"}\n')
    return ended.run


@pytest.fixture
def run(made: Path, runs_dir: Path) -> Path:
    """Return a copy of it."""
    import shutil

    return Path(shutil.copytree(made, runs_dir / "a"))


@pytest.fixture
def in_time() -> Callable[[Callable[[], Any]], Any]:
    """Do something in a thread; fail if it takes too long."""

    def work(task: Callable[[], Any]) -> Any:
        results: list[Any] = []

        def target() -> None:
            try:
                results.append(task())
            except RequestError as problem:
                results.append(problem)

        thread = threading.Thread(target=target, daemon=True)
        began = time.monotonic()
        thread.start()
        thread.join(10 * MOST_S)
        assert not thread.is_alive(), "it hangs"
        assert time.monotonic() - began < 5 * MOST_S
        return results[0]

    return work


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(20 * 2**30)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def look(run: Path) -> None:
    """Look at a run in every way that does not change it."""
    holder(run)
    for found in list_runs(run.parent):
        summarise(found)
        found.journal(), found.evaluations(), found.evaluation_at(30), found.wall_s_on_record()
        found.steps_on_record()
    list(unreadable_runs(run.parent))
    for name in ("episodes", "training", "evaluations"):
        table = run / f"{name}.csv"
        read_table(table), read_last_row(table), read_numbers(table, ("env_steps",))


@pytest.mark.parametrize("special", [fifo, device, sparse, folder, loop])
@pytest.mark.parametrize("name", FILES)
def test_a_special_or_huge_file_neither_blocks_nor_fails_a_look_at_the_run(
    run: Path, in_time: Any, name: str, special: Callable[[Path], None]
) -> None:
    special(run / name)
    assert in_time(lambda: look(run)) is None


@pytest.mark.parametrize("special", [fifo, device, folder, loop, sparse])
@pytest.mark.parametrize("name", FILES)
def test_a_run_with_a_special_or_huge_file_resumes_or_is_refused_with_a_sentence(
    run: Path, in_time: Any, name: str, special: Callable[[Path], None]
) -> None:
    special(run / name)
    outcome = in_time(lambda: resume(run, Control(), lambda event: None, steps=63))
    if isinstance(outcome, Failed):
        assert outcome.request, outcome
        assert "\n" not in str(outcome.message)


LINKS = ("journal.jsonl", "episodes.csv", "training.csv", "evaluations.csv", "replay.f32", "lock")


@pytest.mark.parametrize("name", LINKS)
def test_nothing_is_written_through_a_link(run: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes((run / name).read_bytes() if (run / name).exists() else b"mine")
    before = outside.read_bytes()
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(outside)
    outcome = resume(run, Control(), lambda event: None, steps=90)
    assert isinstance(outcome, Failed)
    assert outcome.request
    assert f"{name} is a symbolic link" in str(outcome.message)
    assert outside.read_bytes() == before


@pytest.mark.parametrize("name", ["journal.jsonl", "episodes.csv", "replay.f32"])
def test_nothing_is_written_through_a_hard_link(run: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    (run / name).touch()
    outside.hardlink_to(run / name)
    before = outside.read_bytes()
    outcome = resume(run, Control(), lambda event: None, steps=90)
    assert isinstance(outcome, Failed)
    assert outcome.request
    assert f"{name} is a hard link" in str(outcome.message)
    assert outside.read_bytes() == before


@pytest.mark.parametrize("link", [Path.hardlink_to, Path.symlink_to])
@pytest.mark.parametrize(
    "command",
    ["resume RUN --steps 90", "branch RUN --steps 90", "verify RUN", "train ENV --journal RUN"],
)
def test_every_command_refuses_to_repeat_the_changes_of_a_journal_that_is_a_link(
    run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    link: Callable[[Path, Path], None],
) -> None:
    (run / "journal.jsonl").rename(tmp_path / "outside")
    link(run / "journal.jsonl", tmp_path / "outside")
    words = command.replace("RUN", str(run)).replace("ENV", STEPS).split()
    assert app.main([*words, "--runs-dir", str(run.parent)]) == 2
    kind = "hard" if link is Path.hardlink_to else "symbolic"
    assert f"journal.jsonl is a {kind} link" in " ".join(capsys.readouterr().err.split())
    assert [*run.parent.iterdir()] == [run]


@pytest.mark.parametrize("link", [Path.hardlink_to, Path.symlink_to])
def test_no_branch_is_made_with_a_replay_buffer_that_is_a_link(
    run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    link: Callable[[Path, Path], None],
) -> None:
    (run / "replay.f32").rename(tmp_path / "outside")
    link(run / "replay.f32", tmp_path / "outside")
    words = ["branch", str(run), "--steps", "90", "--runs-dir", str(run.parent)]
    assert app.main(words) == 2
    kind = "hard" if link is Path.hardlink_to else "symbolic"
    said = " ".join(capsys.readouterr().err.split())
    assert f"The replay buffer of {run.name} cannot be copied" in said
    assert f"replay.f32 is a {kind} link" in said
    assert [*run.parent.iterdir()] == [run]


def test_the_lock_of_a_run_is_not_taken_on_a_hard_link(run: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("mine")
    (run / "lock").unlink(missing_ok=True)
    (run / "lock").hardlink_to(tmp_path / "outside")
    with pytest.raises(RequestError, match="lock is a hard link"):
        RunLock(run).acquire()
    assert (tmp_path / "outside").read_text() == "mine"


def test_nothing_is_created_through_a_dangling_link(run: Path, tmp_path: Path) -> None:
    (run / "lock").unlink(missing_ok=True)
    (run / "lock").symlink_to(tmp_path / "created")
    with pytest.raises(RequestError, match="lock is a symbolic link"):
        RunLock(run).acquire()
    assert not (tmp_path / "created").exists()


def test_nothing_is_written_into_or_deleted_from_a_linked_folder_of_checkpoints(
    run: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (run / "checkpoints").rename(outside)
    (outside / ".x.part").write_bytes(b"mine")
    (run / "checkpoints").symlink_to(outside)
    before = {path.name: path.read_bytes() for path in outside.iterdir()}
    outcome = resume(run, Control(), lambda event: None, steps=90)
    assert isinstance(outcome, Failed)
    assert "checkpoints is a symbolic link" in str(outcome.message)
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before


def test_a_planted_link_does_not_catch_what_is_written_atomically(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from td3core.runs.metadata import RunLabel, write_label

    outside = tmp_path / "outside"
    outside.write_bytes(b"mine")
    planted = run / f".notes.json.{os.getpid()}.{threading.get_ident()}.part"
    planted.symlink_to(outside)
    write_label(run, RunLabel(name="new"))
    assert outside.read_bytes() == b"mine"
    assert json.loads((run / "notes.json").read_text())["name"] == "new"


# Sizes and forged contents ----------------------------------------------------------------------


def test_a_key_of_very_many_parts_is_refused_at_once(run: Path, in_time: Any) -> None:
    (run / "run.toml").write_text(".".join(["a"] * 60_000) + " = 1\n")
    problem = in_time(lambda: RunDirectory.open(run))
    assert "cannot be read" in str(problem)
    preset = user_presets_dir() / "long.toml"
    preset.parent.mkdir(parents=True, exist_ok=True)
    preset.write_text(".".join(["a"] * 60_000) + " = 1\n")
    os.mkfifo(preset.with_name("pipe.toml"))
    try:
        assert in_time(load_presets)
    finally:
        preset.unlink()
        preset.with_name("pipe.toml").unlink()


@pytest.mark.parametrize("name", [*slow("training"), *release("episodes", "evaluations")])
def test_a_line_of_300_megabytes_is_passed_over_at_once(run: Path, in_time: Any, name: str) -> None:
    table = run / f"{name}.csv"
    rows = len(read_numbers(table, ("env_steps",)))
    with table.open("ab") as file:
        for _ in range(300):
            file.write(b"1," * 2**19)
    assert in_time(lambda: look(run)) is None
    assert len(read_numbers(table, ("env_steps",))) == rows
    outcome = in_time(lambda: resume(run, Control(), lambda event: None, steps=63))
    assert isinstance(outcome, Failed)
    assert "longer than" in str(outcome.message)


def test_a_checkpoint_with_an_endless_header_is_refused_at_once(run: Path, in_time: Any) -> None:
    last = run / "checkpoints/last.safetensors"
    with last.open("wb") as file:
        file.write((90 * 2**20).to_bytes(8, "little") + b'{"a":' + b"[" * 1000)
        file.truncate(20 * 2**30)
    assert "readable checkpoint" in str(in_time(lambda: read_header(last)))


def test_a_journal_too_long_to_read_is_never_emptied(run: Path) -> None:
    path = run / "journal.jsonl"
    with path.open("ab") as file:
        file.truncate(journal.MOST_BYTES + 1)
    assert journal.read(path) == []
    with pytest.raises(OSError, match="larger than"):
        journal.strike_out(path, lambda entry: True)
    assert path.stat().st_size == journal.MOST_BYTES + 1
    outcome = resume(run, Control(), lambda event: None, steps=90)
    assert isinstance(outcome, Failed)
    assert "journal.jsonl is larger" in str(outcome.message)


@pytest.mark.parametrize(
    "ending",
    [
        {"env_steps": 10**300},
        {"message": "x" * 200_000},
        {"message": "\ud800"},
        {"wall_s": 1e300},
    ],
    ids=["steps", "long", "surrogate", "time"],
)
def test_forged_records_show_sensible_figures_only(run: Path, ending: dict[str, Any]) -> None:
    (run / "ending.json").write_text(json.dumps({"stopped": "failed"} | ending))
    (run / "notes.json").write_text(json.dumps({"name": "\ud800" * 9000, "note": "\ud800"}))
    (run / "checkpoints" / f"step_{'9' * 200}.safetensors").write_bytes(b"")
    found = summarise(RunDirectory.open(run))
    assert found.env_steps < 10**16
    assert found.wall_s < 1e12
    for text in (str(found.message), found.name, found.note):
        text.encode()
        assert len(text) <= 100_000
    assert len(found.name) <= 1000


# One bad run stops no list ----------------------------------------------------------------------


def listed(runs_dir: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert app.main(["list", "--runs-dir", str(runs_dir), *words]) == 0
    return capsys.readouterr().out


def test_a_run_of_a_newer_version_is_listed_with_the_reason(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (run / "run.toml").read_text()
    newer = run.with_name("newer")
    newer.mkdir()
    (newer / "run.toml").write_text(text.replace("schema = 1", "schema = 99"))
    (run.with_name("no run")).mkdir()
    found = json.loads(listed(run.parent, capsys, "--json"))
    assert [(Path(each["run"]).name, each["state"]) for each in found] == [
        ("a", "finished"),
        ("newer", "unreadable"),
    ]
    assert found[0].keys() == found[1].keys()
    assert "written by a newer TD3 Studio" in found[1]["message"]
    assert found[1]["env_steps"] is None
    shown = listed(run.parent, capsys)
    assert "unreadable" in shown
    assert "newer TD3 Studio" in " ".join(shown.split())


def test_a_name_that_is_no_text_is_listed(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run.rename(Path(os.fsdecode(os.fsencode(run.parent) + b"/bad\xff")))
    assert "bad" in listed(run.parent, capsys)
    assert json.loads(listed(run.parent, capsys, "--json"))[0]["env"]


def test_a_folder_that_may_not_be_looked_into_stops_no_list(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = str(run / "checkpoints")

    def refusing(original: Any) -> Any:
        def wrapped(path: Any, *given: Any, **more: Any) -> Any:
            if isinstance(path, str | os.PathLike) and os.fspath(path).startswith(locked):
                raise PermissionError(13, "Permission denied", locked)
            return original(path, *given, **more)

        return wrapped

    for name in ("stat", "lstat", "scandir", "listdir", "open"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name)))
    found = json.loads(listed(run.parent, capsys, "--json"))
    assert [Path(each["run"]).name for each in found] == ["a"]


def test_a_folder_of_runs_that_may_not_be_read_is_refused(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: Any) -> Any:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "listdir", refuse)
    monkeypatch.setattr(os, "scandir", refuse)
    assert app.main(["list", "--runs-dir", str(run.parent)]) == 2
    assert "cannot be read: Permission denied" in capsys.readouterr().err


# What reaches the terminal ----------------------------------------------------------------------


def test_names_and_messages_reach_the_terminal_without_control_characters(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forged = "\x1b]0;owned\x07\x1b[31mred\x9b2J\u202eabc"
    (run / "notes.json").write_text(json.dumps({"name": forged}))
    run.rename(run.with_name("run\x1b[2J"))
    newer = run.with_name("new\x1b[2Jer")
    newer.mkdir()
    (newer / "run.toml").write_text('schema = 1\ncreated = "\x1b[2J"\n')
    assert app.main(["list", "--runs-dir", str(run.parent)]) == 0
    assert app.main(["eval", str(newer)]) == 2
    shown = capsys.readouterr()
    for text in (shown.out, shown.err):
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text), text
    assert "owned" in shown.out
