import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from td3core.envs import trust
from td3core.errors import RequestError
from td3core.runs.directory import RunDirectory, require_writable
from td3core.runs.listing import list_runs, summarise, unreadable_runs
from td3core.runs.metadata import Parent
from td3core.runs.new_run import default_runs_dir
from td3core.runs.tables import Table, keep_rows, read_last_row, read_table
from td3core.system import files
from tests.support.tables import PLAIN_EVALUATION
from tests.td3core.helpers import tiny, write_checkpoint


def create(runs_dir: Path, **values: Any) -> RunDirectory:
    return RunDirectory.create(runs_dir, *tiny("Pendulum-v1", **values))


def test_a_run_is_found_again_as_it_was_made(runs_dir: Path) -> None:
    made = create(runs_dir, seed=3, tau=0.25)
    found = RunDirectory.open(made.path)
    assert (found.config, found.first_tunables) == (made.config, made.first_tunables)
    assert (found.created, found.best, found.last) == (made.created, made.best, made.last)
    assert made.path.name.startswith("Pendulum-v1_td3_s3_20")


def test_runs_begun_within_one_second_have_names_of_their_own(runs_dir: Path) -> None:
    made = [create(runs_dir) for _ in range(12)]
    assert len({run.path for run in made}) == 12
    assert len(list(runs_dir.iterdir())) == 12


@pytest.mark.parametrize("env", ["Scripted/Steps-v0", "a:b/c v1", "../../up-v0", "..", "\x00"])
def test_no_environment_name_leads_out_of_the_runs_folder(runs_dir: Path, env: str) -> None:
    run = RunDirectory.create(runs_dir, *tiny(env))
    assert run.path.parent == runs_dir
    assert RunDirectory.open(run.path).config.env == env


def test_the_runs_folder_is_the_one_of_the_environment_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TD3_STUDIO_RUNS", str(tmp_path / "mine"))
    assert default_runs_dir() == tmp_path / "mine"
    monkeypatch.delenv("TD3_STUDIO_RUNS")
    assert default_runs_dir().name == "runs"
    assert not (tmp_path / "mine").exists()


def test_a_run_that_cannot_be_described_or_locked_leaves_no_folder_behind(
    monkeypatch: pytest.MonkeyPatch, runs_dir: Path
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    def locked(run: Path) -> Callable[[], None]:
        raise RequestError("{run} is locked.", run=run.name)

    with pytest.raises(RequestError, match="is locked"):
        RunDirectory.create(runs_dir, *tiny(), claim=locked)
    monkeypatch.setattr("td3core.runs.directory.write_atomically", full)
    with pytest.raises(RequestError, match="cannot be written: No space left on device"):
        RunDirectory.create(runs_dir, *tiny())
    assert list(runs_dir.iterdir()) == []


@pytest.mark.parametrize("odd", ["module_folder", "parent"])
def test_a_run_that_would_record_a_name_that_is_no_text_is_refused(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    name = "bad\udcff"
    parent = Parent(run=name, checkpoint="last.safetensors", env_steps=60)
    if odd == "module_folder":
        monkeypatch.setattr(trust, "folder_to_note", lambda _: f"/{name}")
    with pytest.raises(RequestError, match="is not valid UTF-8") as refused:
        RunDirectory.create(runs_dir, *tiny(), parent if odd == "parent" else None)
    assert name in str(refused.value)
    assert not runs_dir.exists()


def test_a_run_of_an_environment_with_a_long_name_has_a_folder(runs_dir: Path) -> None:
    env = ".".join(["package_with_a_long_name_of_its_own"] * 8) + ":Walker"
    run = RunDirectory.create(runs_dir, *tiny(env))
    assert RunDirectory.open(run.path).config.env == env
    assert run.path.name.startswith("package_with_")
    assert "_td3_s" in run.path.name


def test_a_run_whose_environment_has_an_endless_name_is_damaged(runs_dir: Path) -> None:
    run = create(runs_dir)
    file = run.path / "run.toml"
    file.write_text(file.read_text().replace('"Pendulum-v1"', '"' + "x" * 100_000 + '"'))
    with pytest.raises(RequestError, match=r"env cannot be 'xxx.* 500 characters") as refused:
        RunDirectory.open(run.path)
    assert len(str(refused.value)) < 400
    (listed,) = unreadable_runs(runs_dir)
    assert listed.run == run.path


def test_a_file_in_the_place_of_the_runs_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    for folder in (tmp_path / "runs", tmp_path / "runs" / "deeper"):
        for refuse in (create, require_writable):
            with pytest.raises(RequestError, match=f"{folder} cannot be written"):
                refuse(folder)


def test_whether_a_runs_folder_can_be_written_is_found_out_without_leaving_anything(
    tmp_path: Path,
) -> None:
    require_writable(tmp_path / "not" / "yet")
    require_writable(tmp_path)
    assert list(tmp_path.iterdir()) == []


# Tables -----------------------------------------------------------------------------------------


def test_a_table_reads_back_the_rows_that_were_flushed(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    table = Table(path, ("step", "note"))
    table.add((1, 'a "quoted", one'))
    table.add((2, "b\nc"))
    assert read_table(path) == []
    table.flush()
    expected = [{"step": "1", "note": 'a "quoted", one'}, {"step": "2", "note": "b\nc"}]
    assert read_table(path) == expected
    table.flush()
    assert read_table(path) == expected


def test_a_table_opened_again_goes_on_below_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for step in (1, 2):
        table = Table(path, ("step",))
        table.add((step,))
        table.flush()
    assert path.read_text() == "step\n1\n2\n"


def test_rows_of_a_flush_that_failed_are_kept_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    table = Table(path, ("step",))
    table.add((1,))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "append_whole", full)
        with pytest.raises(OSError, match="No space"):
            table.flush()
    assert not path.exists()
    table.add((2,))
    table.flush()
    assert path.read_text() == "step\n1\n2\n"


@given(cut=st.integers(0, 40))
def test_a_last_line_torn_by_a_crash_is_dropped(tmp_path: Path, cut: int) -> None:
    path, whole = tmp_path / "t.csv", "step,mean\n10,1.25\n20,-3.5\n30,12.75\n"
    path.write_text(whole[:cut])
    lines = whole[:cut].splitlines(keepends=True)
    complete = [line for line in lines[1:] if line.endswith("\n")]
    assert read_table(path) == [
        dict(zip(("step", "mean"), line.strip().split(","), strict=True)) for line in complete
    ]


def test_a_table_that_is_missing_or_a_folder_has_no_rows(tmp_path: Path) -> None:
    assert read_table(tmp_path / "none.csv") == []
    assert read_table(tmp_path) == []


@given(data=st.binary(max_size=400))
@example(b"a,b\n1,\x002\n")
@example(b"a,b\r1,2\r\n3\n")
@example(b'a,b\n"1,2\n3,4\n')
@example(b"\xff\xfe\n\n\n")
def test_any_bytes_read_as_a_table_of_whole_rows(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    rows = read_table(path)
    assert all(isinstance(v, str) for row in rows for v in row.values())
    assert len({tuple(row) for row in rows}) <= 1


CELL = st.text(st.characters(codec="utf-8", exclude_characters="\r"))


@given(rows=st.lists(st.tuples(CELL, CELL), max_size=5))
def test_any_rows_that_are_written_are_read_back(
    tmp_path: Path, rows: list[tuple[str, str]]
) -> None:
    path = tmp_path / "t.csv"
    path.unlink(missing_ok=True)
    table = Table(path, ("one", "two"))
    for row in rows:
        table.add(row)
    table.flush()
    assert [tuple(row.values()) for row in read_table(path)] == rows


def test_a_table_damaged_into_one_endless_field_is_read_without_it(tmp_path: Path) -> None:
    path = tmp_path / "evaluations.csv"
    path.write_text('env_steps,mean\n10,1.5\n20,"' + "9" * 200_000 + "\n")
    assert read_table(path) in ([], [{"env_steps": "10", "mean": "1.5"}])


# Lists of runs ----------------------------------------------------------------------------------


def dated(run: RunDirectory, created: str) -> RunDirectory:
    path = run.path / "run.toml"
    found = tomllib.loads(path.read_text())["created"]
    path.write_text(path.read_text().replace(found, created))
    return RunDirectory.open(run.path)


def test_runs_are_listed_newest_first(runs_dir: Path) -> None:
    days = ["2026-01-02", "2026-03-01", "2025-12-31"]
    made = [dated(create(runs_dir), f"{day}T00:00:00+00:00") for day in days]
    assert [run.path for run in list_runs(runs_dir)] == [made[i].path for i in (1, 0, 2)]


def test_a_run_whose_description_has_changed_is_listed_as_it_is_now(runs_dir: Path) -> None:
    run = create(runs_dir)
    assert [found.created for found in list_runs(runs_dir)] == [run.created]
    dated(run, "2020-01-01T00:00:00+00:00")
    assert [found.created for found in list_runs(runs_dir)] == ["2020-01-01T00:00:00+00:00"]
    (run.path / "run.toml").unlink()
    assert list(list_runs(runs_dir)) == []


def test_a_folder_that_does_not_exist_holds_no_runs(tmp_path: Path) -> None:
    assert list(list_runs(tmp_path / "none")) == []


GOOD = 'env = "Pendulum-v1"'
DAMAGED = {
    "empty": "",
    "not TOML": "[[[",
    "not text": "\x00",
    "deeply nested": "schema = " + "[" * 10_000,
    "no schema": "created = 'x'",
    "schema in words": "schema = 'one'",
    "endless schema": "schema = inf",
    "newer schema": f"schema = 99\ncreated = 'x'\n[config]\n{GOOD}\n[tunables]",
    "no settings": "schema = 1\ncreated = 'x'",
    "settings that are a number": "schema = 1\ncreated = 'x'\nconfig = 3\ntunables = 4",
    "unknown setting": f"schema = 1\ncreated = 'x'\n[config]\n{GOOD}\nfoo = 1\n[tunables]",
    "out of range": f"schema = 1\ncreated = 'x'\n[config]\n{GOOD}\n[tunables]\ntau = 7",
    "no environment": "schema = 1\ncreated = 'x'\n[config]\n[tunables]",
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_run_is_refused_alone_and_skipped_in_a_list(runs_dir: Path, text: str) -> None:
    good = create(runs_dir)
    (runs_dir / "bad").mkdir()
    (runs_dir / "bad" / "run.toml").write_text(text)
    with pytest.raises(RequestError):
        RunDirectory.open(runs_dir / "bad")
    assert [run.path for run in list_runs(runs_dir)] == [good.path]


def test_a_run_with_a_setting_to_come_is_of_a_newer_version(runs_dir: Path) -> None:
    run = create(runs_dir)
    path = run.path / "run.toml"
    path.write_text(path.read_text().replace("[tunables]", "[tunables]\nto_come = 1"))
    with pytest.raises(RequestError, match="newer TD3 Studio: 'to_come' is not known here"):
        RunDirectory.open(run.path)


def test_whatever_else_lies_in_the_runs_folder_is_skipped(runs_dir: Path) -> None:
    good = create(runs_dir)
    (runs_dir / "notes.txt").write_text("hello")
    (runs_dir / "empty").mkdir()
    (runs_dir / "odd" / "run.toml").mkdir(parents=True)
    (runs_dir / "binary").mkdir()
    (runs_dir / "binary" / "run.toml").write_bytes(b"\xff\xfe\x00")
    (runs_dir / "nowhere").symlink_to(runs_dir / "gone")
    assert [run.path for run in list_runs(runs_dir)] == [good.path]


@given(text=st.text(max_size=200))
def test_any_run_description_is_read_or_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.toml").write_text(text, encoding="utf-8", errors="replace")
    with pytest.raises(RequestError):
        RunDirectory.open(tmp_path)


def test_a_summary_tells_how_far_a_run_came_and_how_well(runs_dir: Path) -> None:
    run = create(runs_dir, seed=2, steps=500)
    assert (summarise(run).env_steps, summarise(run).best_eval_return) == (0, None)
    table = run.table("evaluations", PLAIN_EVALUATION)
    for steps, mean in ((100, -5.0), (200, 3.5), (300, 1.0)):
        table.add((steps, mean, 0.0, "", 0, mean, 10, 2, "0.1"))
    table.flush()
    write_checkpoint(run.step_checkpoint(350))
    found = summarise(run)
    assert (found.run, found.env, found.seed, found.steps) == (run.path, "Pendulum-v1", 2, 500)
    assert (found.env_steps, found.last_eval_return, found.best_eval_return) == (350, 1.0, 3.5)


@pytest.mark.parametrize("name", ["step_final", "step_", "step_000000050 copy", "step_1.5"])
def test_a_checkpoint_that_a_person_renamed_does_not_stop_a_summary(
    runs_dir: Path, name: str
) -> None:
    run = create(runs_dir)
    (run.checkpoints / f"{name}.safetensors").write_bytes(b"")
    write_checkpoint(run.step_checkpoint(40))
    assert summarise(run).env_steps in (40, 50)


def test_evaluations_with_damaged_numbers_are_left_out(runs_dir: Path) -> None:
    run = create(runs_dir)
    (run.path / "evaluations.csv").write_text("env_steps,mean\n10,1.5\nten,2\n30,\n40,4.5\n5")
    assert run.evaluations() == [(10, 1.5), (40, 4.5)]


def test_of_steps_that_were_taken_again_the_later_evaluations_count(runs_dir: Path) -> None:
    run = create(runs_dir)
    (run.path / "evaluations.csv").write_text("env_steps,mean\n10,1\n20,9\n30,3\n20,2\n30,2.5\n")
    assert run.evaluations() == [(10, 1.0), (20, 2.0), (30, 2.5)]
    assert summarise(run).best_eval_return == 2.5


def test_checkpoints_are_told_by_step_then_best_then_last_or_the_newest_first(
    runs_dir: Path,
) -> None:
    run = create(runs_dir)
    # Longer than the nine digits of most names.
    steps = (20, 1_000_000, 999_999_999, 1_000_000_000, 9_999_999_999, 10_000_000_000)
    for path in (run.last, *map(run.step_checkpoint, reversed(steps)), run.best):
        path.write_bytes(b"")
    by_step = [*map(run.step_checkpoint, steps)]
    assert run.saved() == [*by_step, run.best, run.last]
    assert run.newest_first() == [run.last, *reversed(by_step), run.best]
    run.last.unlink()
    assert run.newest_first() == [*reversed(by_step), run.best]
    for path in map(run.pending_checkpoint, steps):
        path.write_bytes(b"")
    assert run.pending() == [run.pending_checkpoint(step) for step in steps]


def test_a_table_of_an_earlier_version_is_read_and_goes_on_with_its_own_columns(
    runs_dir: Path,
) -> None:
    run = create(runs_dir)
    path = run.path / "evaluations.csv"
    path.write_text(
        "env_steps,mean,std,best,returns,lengths,seed,time_s\n100,-5.0,0.0,1,-5,9,0,1\n"
    )
    assert run.evaluations() == [(100, -5.0)]
    table = run.table("evaluations", PLAIN_EVALUATION)
    table.add((200, -4.0, 0.0, 0.5, 1, "-4.0", "9", 0, "2.0"))
    table.flush()
    assert run.evaluations() == [(100, -5.0), (200, -4.0)]
    assert read_table(path)[1] | {"success": ""} == {
        "env_steps": "200",
        "mean": "-4.0",
        "std": "0.0",
        "success": "",
        "best": "1",
        "returns": "-4.0",
        "lengths": "9",
        "seed": "0",
        "time_s": "2.0",
    }


def test_a_table_with_very_long_columns_keeps_its_rows(tmp_path: Path) -> None:
    columns = ("env_steps", *(f"info.{'x' * 300}{n}" for n in range(20)))
    file = tmp_path / "episodes.csv"
    table = Table(file, columns)
    table.add((10, *range(20)))
    table.flush()
    keep_rows(file, 10)
    (row,) = read_table(file)
    assert row["env_steps"] == "10"
    assert read_last_row(file) == row
