"""Tables and a journal that grow: every row and every entry comes once, in its time."""

import json
from pathlib import Path
from typing import Any

import pytest

from td3core.runs.growing import GrowingJournal, GrowingTables, NewRows

EPISODE = "episode,env_steps,return,shaped_return,length,terminated,time_s\n"


def episode(number: int, env_steps: int, wall_s: float = 1.0) -> str:
    """Return a row of ``episodes.csv``."""
    return f"{number},{env_steps},1.5,1.5,10,0,{wall_s}\n"


def ended(rows: NewRows) -> list[int]:
    return [each.episode for each in rows.episodes]


def tau(step: int, **more: Any) -> str:
    """Return an entry of a journal."""
    entry = {"step": step, "field": "tau", "old": 0.1, "new": 0.2, "time": f"at {step}"}
    return json.dumps(entry | more) + "\n"


def steps(entries: list[dict[str, Any]]) -> list[int]:
    return [entry["step"] for entry in entries]


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_of_a_table_that_is_read_anew_the_rows_after_the_step_alone_come(tmp_path: Path) -> None:
    path = tmp_path / "episodes.csv"
    path.write_text(EPISODE + episode(1, 10) + episode(2, 20) + episode(3, 30))
    tables = GrowingTables(tmp_path)
    assert ended(tables.read(None)) == [1, 2, 3]
    tables.restart(20)
    assert ended(tables.read(None)) == [3]


def test_an_episode_that_ends_in_the_step_of_the_one_read_last_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "episodes.csv"
    path.write_text(EPISODE + episode(1, 20))
    tables = GrowingTables(tmp_path)
    assert ended(tables.read(None)) == [1]
    append(path, episode(2, 20))
    assert ended(tables.read(None)) == [2]


@pytest.mark.parametrize("later", ["", episode(2, 20, 3.0)], ids=["no row", "an earlier time"])
def test_the_latest_time_of_the_tables_stays(tmp_path: Path, later: str) -> None:
    path = tmp_path / "episodes.csv"
    path.write_text(EPISODE + episode(1, 10, 5.0))
    tables = GrowingTables(tmp_path)
    assert tables.read(None).wall_s == 5.0
    append(path, later)
    assert tables.read(None).wall_s == 5.0


def test_an_entry_comes_once_its_step_is_reached(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(tau(20) + tau(30))
    journal = GrowingJournal(path)
    assert steps(journal.read(19)) == []
    assert steps(journal.read(20)) == [20]
    assert steps(journal.read(40)) == [30]


def test_changes_after_the_step_of_a_restart_alone_come_again(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(tau(20) + tau(30) + json.dumps({"step": 30, "event": "pause"}) + "\n")
    journal = GrowingJournal(path)
    journal.read(40)
    journal.restart(20)
    assert steps(journal.changes) == [20]
    again = journal.read(40)
    assert steps(again) == [30]
    assert "field" in again[0]


def test_a_journal_some_of_which_was_struck_out_repeats_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(tau(10) + tau(50))
    journal = GrowingJournal(path)
    assert steps(journal.read(20)) == [10]
    path.write_text(tau(10) + tau(60))
    assert steps(journal.read(70)) == [60]


def test_an_entry_whose_schedule_was_rewritten_is_known_in_its_new_form(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(tau(10, new="0.2@0, 0.1@100%") + tau(30) + tau(30, new=0.3))
    journal = GrowingJournal(path)
    assert steps(journal.read(20)) == [10]
    path.write_text(tau(10, new="0.2@0, 0.1@400") + tau(30) + tau(30, new=0.3))
    assert steps(journal.read(40)) == [30, 30]
    assert [entry["new"] for entry in journal.changes] == ["0.2@0, 0.1@400", 0.2, 0.3]
    path.unlink()
    assert journal.read(40) == []
    path.write_text(tau(10) + tau(30) + tau(30, new=0.3) + tau(30, new=0.4))
    assert [entry["new"] for entry in journal.read(40)] == [0.4]


def test_events_come_once_though_the_run_goes_on_from_before_them(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    pause = json.dumps({"step": 30, "event": "pause", "time": "t"}) + "\n"
    path.write_text(tau(10, new="0.2@0, 0.1@100%") + pause)
    journal = GrowingJournal(path)
    journal.read(40)
    journal.restart(20)
    path.write_text(tau(10, new="0.2@0, 0.1@400") + pause)
    assert journal.read(40) == []
