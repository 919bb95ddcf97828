"""How a run ended, its name, its parent, and its progress: all from its files."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from td3core.checkpoint import read_header
from td3core.cli import app
from td3core.config.presets import compose
from td3core.protocol.control import Control
from td3core.protocol.events import Ended
from td3core.protocol.metrics import TRAINING_COLUMNS
from td3core.protocol.run_status import RunStatus
from td3core.runs import directory, journal, lock
from td3core.runs.directory import RunDirectory
from td3core.runs.listing import summarise
from td3core.runs.lock import RunLock
from td3core.runs.metadata import (
    Ending,
    Parent,
    RunLabel,
    read_ending,
    read_label,
    write_label,
)
from td3core.runs.tables import read_last_row, read_numbers
from td3core.text import Text
from td3core.training.launch import train
from tests.support.tables import PLAIN_EVALUATION
from tests.td3core.helpers import finish, tiny, write_checkpoint
from tests.td3core.runs.test_directory import create


def ended(run: RunDirectory, stopped: str, **values: Any) -> dict[str, Any]:
    """Return an ``Ended`` as a dictionary, as the training loop has one at hand."""
    event = Ended(
        **(
            {
                "run": run.path,
                "stopped": stopped,
                "env_steps": 50,
                "updates": 30,
                "episodes": 5,
                "wall_s": 12.5,
                "steps_per_s": 4.0,
                "last_eval_return": -3.0,
                "best_eval_return": 2.0,
                "best_checkpoint": run.best,
                "last_checkpoint": run.last,
            }
            | values
        )
    )
    return asdict(event)


def add_parent(run: RunDirectory, table: str) -> RunDirectory:
    path = run.path / "run.toml"
    path.write_text(path.read_text() + "\n" + table)
    return RunDirectory.open(run.path)


# Endings ----------------------------------------------------------------------------------------


def test_an_ending_is_read_as_it_was_written(runs_dir: Path) -> None:
    run = create(runs_dir)
    assert run.ending() is None
    run.write_ending(ended(run, "failed") | {"message": Text("Training diverged.")})
    found = run.ending()
    assert found is not None
    assert (found.stopped, str(found.message)) == ("failed", "Training diverged.")
    assert (found.env_steps, found.wall_s) == (50, 12.5)
    assert (found.last_eval_return, found.best_eval_return) == (-3.0, 2.0)
    assert found.ended.startswith("20")
    run.write_ending(ended(run, "finished"))
    assert str(run.ending().message) == ""  # type: ignore[union-attr]


def test_an_ending_that_cannot_be_written_leaves_the_earlier_one(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = create(runs_dir)
    run.write_ending(ended(run, "user"))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        run.write_ending(ended(run, "failed"))
    assert run.ending().stopped == "user"  # type: ignore[union-attr]
    assert not list(run.path.glob(".*.part"))


@pytest.mark.parametrize("stopped", ["", "crashed", "FINISHED"])
def test_an_ending_of_an_unknown_kind_is_not_written(runs_dir: Path, stopped: str) -> None:
    run = create(runs_dir)
    with pytest.raises(KeyError):
        run.write_ending(ended(run, stopped))
    assert not (run.path / "ending.json").exists()


@given(
    text=st.text(max_size=60)
    | st.recursive(
        st.none() | st.floats() | st.integers() | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from([*Ending.__slots__, *RunLabel.__slots__]), inner, max_size=5
            )
        ),
        max_leaves=12,
    ).map(json.dumps)
)
def test_whatever_the_records_hold_they_are_read_or_passed_over(tmp_path: Path, text: str) -> None:
    for name in ("ending.json", "notes.json"):
        (tmp_path / name).write_text(text, encoding="utf-8", errors="replace")
    found = read_ending(tmp_path)
    assert found is None or (found.state in RunStatus and np.isfinite(found.wall_s))
    assert all(isinstance(value, str) for value in asdict(read_label(tmp_path)).values())


# States -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stopped", "state"),
    [("finished", "finished"), ("user", "stopped"), ("failed", "failed")],
)
def test_a_run_that_ended_is_in_the_state_it_ended_in(
    runs_dir: Path, stopped: str, state: str
) -> None:
    run = create(runs_dir)
    run.write_ending(ended(run, stopped, wall_s=99.0))
    found = summarise(run)
    assert (found.state, found.env_steps, found.wall_s) == (state, 50, 99.0)
    assert (found.last_eval_return, found.best_eval_return) == (-3.0, 2.0)


def test_a_run_is_running_while_it_is_locked_and_interrupted_after(runs_dir: Path) -> None:
    run = create(runs_dir)
    assert summarise(run).state is RunStatus.INTERRUPTED
    held = RunLock(run.path)
    held.acquire()
    assert summarise(run).state is RunStatus.RUNNING
    record = (run.path / "lock.json").read_bytes()
    held.release()
    assert summarise(run).state is RunStatus.INTERRUPTED
    # Resumed after it had ended once, and killed: what it leaves is a record, and no lock.
    run.write_ending(ended(run, "user"))
    (run.path / "lock.json").write_bytes(record)
    assert summarise(run).state is RunStatus.INTERRUPTED
    assert lock.holder(run.path) is None


def test_a_run_from_before_endings_were_recorded_is_finished_if_its_last_agent_is(
    runs_dir: Path,
) -> None:
    run = create(runs_dir, steps=61)
    write_checkpoint(run.last)
    assert summarise(run).state is RunStatus.INTERRUPTED
    run = create(runs_dir, steps=60)
    write_checkpoint(run.last)
    assert summarise(run).state is RunStatus.FINISHED


def test_how_far_an_interrupted_run_came_is_read_from_the_ends_of_its_tables(
    runs_dir: Path,
) -> None:
    run = create(runs_dir, steps=500)
    table = run.table("training", (*TRAINING_COLUMNS[:8], "time_s"))
    for step in (50, 100, 150):
        table.add((step, step, *[0.5] * 6, f"{step / 10:.3f}"))
    table.flush()
    with (run.path / "training.csv").open("a") as file:
        file.write("200,200,0.5")
    found = summarise(run)
    assert (found.env_steps, found.wall_s) == (150, 15.0)


# Names, notes, parents --------------------------------------------------------------------------


def test_a_name_and_a_note_are_kept_beside_the_run_and_its_folder_keeps_its_name(
    runs_dir: Path,
) -> None:
    run = create(runs_dir)
    assert run.label() == RunLabel()
    write_label(run.path, RunLabel(name="Größer τ", note="first\nsecond"))
    assert run.label() == RunLabel(name="Größer τ", note="first\nsecond")
    assert (summarise(run).name, summarise(run).note) == ("Größer τ", "first\nsecond")
    assert RunDirectory.open(run.path).path == run.path


def test_a_branched_run_says_what_it_came_from(runs_dir: Path) -> None:
    run = create(runs_dir)
    assert run.parent is None
    table = '[parent]\nrun = "a-run"\ncheckpoint = "best.safetensors"\nenv_steps = 40\n'
    found = add_parent(run, table)
    assert found.parent == Parent(run="a-run", checkpoint="best.safetensors", env_steps=40)
    assert summarise(found).parent == found.parent


@pytest.mark.parametrize(
    "table",
    [
        "parent = 3",
        "[parent]",
        '[parent]\nrun = "../x"\ncheckpoint = "c"\nenv_steps = 1',
        '[parent]\nrun = ".."\ncheckpoint = "c"\nenv_steps = 1',
        '[parent]\nrun = ""\ncheckpoint = "c"\nenv_steps = 1',
        '[parent]\nrun = "x"\ncheckpoint = "/etc/c"\nenv_steps = 1',
        '[parent]\nrun = "x"\ncheckpoint = "c"\nenv_steps = -1',
        '[parent]\nrun = "x"\ncheckpoint = "c"\nenv_steps = "many"',
        '[parent]\nrun = "x"\ncheckpoint = "c"\nenv_steps = inf',
    ],
)
def test_a_parent_that_makes_no_sense_does_not_cost_the_run(runs_dir: Path, table: str) -> None:
    run = create(runs_dir)
    path = run.path / "run.toml"
    text = path.read_text()
    path.write_text(f"{text}\n{table}" if table.startswith("[") else f"{table}\n{text}")
    assert RunDirectory.open(run.path).parent is None


def test_the_list_tells_state_parent_name_and_note(
    runs_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = create(runs_dir)
    write_label(first.path, RunLabel(name="plain one", note="keep"))
    first.write_ending(ended(first, "user"))
    parent = f'[parent]\nrun = "{first.path.name}"\ncheckpoint = "best.safetensors"\nenv_steps = 4'
    child = add_parent(create(runs_dir), parent)
    assert app.main(["list", "--runs-dir", str(runs_dir), "--json"]) == 0
    found = {entry["run"]: entry for entry in json.loads(capsys.readouterr().out.splitlines()[-1])}
    one, two = found[str(first.path)], found[str(child.path)]
    assert (one["state"], one["name"], one["note"]) == ("stopped", "plain one", "keep")
    assert (one["parent"], two["state"]) == (None, "interrupted")
    assert two["parent"] == {
        "run": first.path.name,
        "checkpoint": "best.safetensors",
        "env_steps": 4,
    }
    monkeypatch.setenv("COLUMNS", "40")
    assert app.main(["list", "--runs-dir", str(runs_dir)]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    # A line each, uncut, for other programs.
    assert sorted(row[0] for row in rows) == sorted([first.path.name, child.path.name])
    by_name = {row[0]: row for row in rows}
    assert by_name[first.path.name][1] == "stopped"
    assert by_name[first.path.name][7] == "plain one"
    assert by_name[child.path.name][1] == "interrupted"
    assert by_name[child.path.name][8] == first.path.name
    assert {len(row) for row in rows} == {11}
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    assert app.main(["list", "--runs-dir", str(runs_dir)]) == 0
    said = capsys.readouterr().out
    assert all(word in said for word in ("stopped", "interrupted", "plain one", "branched from"))


def test_a_run_that_cannot_be_read_is_damaged_for_people_and_unreadable_for_programs(
    runs_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = runs_dir / "empty"
    folder.mkdir(parents=True)
    (folder / "run.toml").touch()
    assert app.main(["list", "--runs-dir", str(runs_dir), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["state"] == "unreadable"
    assert found["message"] == "empty/run.toml cannot be read: 'schema' is missing."
    assert found["changed_settings"] is None
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    assert app.main(["list", "--runs-dir", str(runs_dir)]) == 0
    assert "damaged" in capsys.readouterr().out


def test_changed_settings_are_listed_uncut_for_programs(
    runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = {"actor_hidden": (), "gamma": 0.9, "critic_lr": 1e-4, "tau": "0.02@200, 0.005@400"}
    RunDirectory.create(runs_dir, *compose("Pendulum-v1", [], changed))
    assert app.main(["list", "--runs-dir", str(runs_dir), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["changed_settings"] == changed | {"actor_hidden": []}
    assert found["changed"].startswith("Actor layers none, ")
    assert found["changed"].endswith(", 1 more")


def test_the_journal_is_read_without_its_damaged_lines(runs_dir: Path) -> None:
    run = create(runs_dir)
    assert run.journal() == []
    run.note({"step": 3, "field": "tau", "new": 0.5})
    with (run.path / "journal.jsonl").open("a") as file:
        file.write("[1]\n{half\n")
    run.note({"step": 4, "field": "tau", "new": 7.0})
    run.note({"step": 5, "event": "pause"})
    assert [entry["step"] for entry in run.journal()] == [3, 5]


# Reading tables ---------------------------------------------------------------------------------


def test_the_list_reads_the_journal_of_a_run_with_agents_once(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, read = RunDirectory.open(finish(runs_dir).run), list[Path]()
    usual = journal.read
    monkeypatch.setattr(journal, "read", lambda path: (read.append(path), usual(path))[1])
    summarise(run)
    assert read == [run.journal_file]


def test_the_last_row_of_a_long_table_is_read_from_its_end(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("step,mean\n" + "".join(f"{i},{i / 2}\n" for i in range(20_000)) + "20000,1")
    assert read_last_row(path) == {"step": "19999", "mean": "9999.5"}
    for text in ("", "step,mean", "step,mean\n", "step,mean\n3"):
        path.write_text(text)
        assert read_last_row(path) == {}
    assert read_last_row(tmp_path / "none.csv") == {}


@pytest.mark.parametrize("length", [4_096, 4_097, 20_000, 500_000])
def test_a_last_row_however_long_is_read(tmp_path: Path, length: int) -> None:
    path = tmp_path / "t.csv"
    returns = "1.5 " * (length // 4)
    path.write_text(f"step,mean,returns\n10,1.0,{returns}\n20,2.0,{returns}\n30,3.0,1.5")
    assert read_last_row(path) == {"step": "20", "mean": "2.0", "returns": returns}


def test_the_rest_of_a_step_is_not_taken_for_one(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    # The last 4 KiB begin within the step.
    returns = "1" * (4096 - len("000,\n"))
    path.write_text(f"step,returns\n123000,{returns}\n")
    assert read_last_row(path) == {"step": "123000", "returns": returns}


def test_the_last_of_too_many_evaluations_is_not_told_as_the_best(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = create(runs_dir)
    table = run.table("evaluations", PLAIN_EVALUATION)
    for i in range(1, 20):
        table.add((1000 * i, -i, 0.0, "", 0, str(-i), "1", 0, 0.0))
    table.flush()
    monkeypatch.setattr("td3core.runs.listing._MOST_BYTES", 100)
    found = summarise(run)
    assert (found.env_steps, found.last_eval_return, found.best_eval_return) == (19_000, -19, None)
    write_checkpoint(run.best)
    evaluation = read_header(run.best).evaluation
    assert evaluation is not None
    assert summarise(run).best_eval_return == evaluation.mean


def test_columns_are_read_in_blocks_without_torn_and_damaged_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{i},{i * i},{'nan' if i % 7 == 0 else i / 4}" for i in range(30_000)]
    rows[777] = "777,1,oops"
    rows[20_001] = "1,2"
    path.write_text("\n".join(["step,square,x", *rows]) + "\n30000,9")
    found = read_numbers(path, ("x", "step"))
    steps = [i for i in range(30_000) if i not in (777, 20_001)]
    assert found[:, 1].tolist() == steps
    expected = [np.nan if i % 7 == 0 else i / 4 for i in steps]
    np.testing.assert_array_equal(found[:, 0], expected)


def test_a_column_that_an_older_table_lacks_reads_as_absent(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("step,mean\n1,0.5\n2,0.25\n")
    found = read_numbers(path, ("step", "later", "mean"))
    np.testing.assert_array_equal(found, [[1.0, np.nan, 0.5], [2.0, np.nan, 0.25]])


def test_a_table_without_its_first_column_has_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("mean\n1\n2\n")
    assert read_numbers(path, ("step", "mean")).shape == (0, 2)
    assert read_numbers(tmp_path / "none.csv", ("step",)).shape == (0, 1)
    for text in ("step\n", "step\n\n", "step\n1,2\n"):
        path.write_text(text)
        assert read_numbers(path, ("step",)).shape == (0, 1)


def test_evaluations_with_lists_in_their_cells_are_read_as_numbers(runs_dir: Path) -> None:
    run = create(runs_dir)
    table = run.table("evaluations", PLAIN_EVALUATION)
    table.add((100, -5.0, 1.5, "", 1, "-6.5 -3.5", "10 12", 2, "0.1"))
    table.flush()
    found = read_numbers(run.path / "evaluations.csv", ("env_steps", "mean", "std"))
    assert found.tolist() == [[100.0, -5.0, 1.5]]


@pytest.mark.parametrize("stopped", ["user", "finished"])
def test_a_run_that_ends_while_it_is_read_is_not_taken_for_interrupted(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, stopped: str
) -> None:
    run = create(runs_dir)
    mine = RunLock(run.path)
    mine.acquire()

    def end(_: Path) -> None:
        run.write_ending(ended(run, stopped))
        mine.release()

    monkeypatch.setattr(lock, "holder", end)
    found = summarise(run)
    assert found.state == {"user": "stopped"}.get(stopped, stopped)
    assert found.env_steps == 50


def test_a_run_that_is_resumed_while_it_is_read_is_not_taken_for_interrupted(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = create(runs_dir)
    run.write_ending(ended(run, "user"))
    mine = RunLock(run.path)
    monkeypatch.setattr(lock, "holder", lambda _: mine.acquire())
    assert summarise(run).state is RunStatus.STOPPED
    mine.release()


def test_a_run_is_locked_before_it_can_be_listed(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[bool] = []
    write = directory.write_atomically

    def look(path: Path, data: bytes) -> None:
        if path.name == "run.toml":
            held.append(lock.left_behind(path.parent))
        write(path, data)

    monkeypatch.setattr(directory, "write_atomically", look)
    outcome = train(*tiny("Pendulum-v1", steps=1), Control(), lambda _: None, runs_dir)
    assert isinstance(outcome, Ended)
    assert held
    assert all(held)
