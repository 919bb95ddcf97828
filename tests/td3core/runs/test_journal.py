"""The journal of a run, and the changes it schedules."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from td3core.config import Tunables
from td3core.runs.journal import (
    MOST_BYTES,
    Change,
    changes_of,
    is_scheduled,
    made_by,
    mend,
    parse,
    read,
    scheduled,
    strike_out,
    text_of,
)
from td3core.training.live_settings import Schedule

LINES = [
    {"step": 3, "field": "tau", "old": 0.005, "new": 0.5, "time": "t"},
    {"step": 4, "event": "pause", "time": "t"},
    {"step": 9, "field": "batch_size", "old": 8, "new": 16, "time": "t"},
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a journal of three lines."""
    path = tmp_path / "journal.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return path


def test_a_journal_is_read_as_it_was_written(path: Path) -> None:
    assert read(path) == LINES
    assert changes_of(read(path)) == [Change(3, "tau", 0.5), Change(9, "batch_size", 16)]
    assert read(path.with_name("none.jsonl")) == []


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[1]",
        "{half",
        "[" * 9000,
        '{"step": 5}',
        '{"step": 5, "event": 3}',
        '{"step": -1, "event": "pause"}',
        '{"step": 5.0, "event": "pause"}',
        '{"step": true, "event": "pause"}',
        '{"event": "pause"}',
        '{"step": 5, "field": "tau"}',
        '{"step": 5, "field": "tau", "new": 7}',
        '{"step": 5, "field": "tau", "new": "0.5"}',
        '{"step": 5, "field": "seed", "new": 1}',
        '{"step": 5, "field": ["tau"], "new": 0.5}',
        '{"step": 5, "field": "tau", "new": 1' + "0" * 5000 + "}",
    ],
    ids=lambda line: line[:40],
)
def test_a_line_that_no_run_wrote_is_left_out(path: Path, line: str) -> None:
    path.write_text(f"{line}\n{path.read_text()}")
    assert read(path) == LINES


@given(data=st.data())
def test_whatever_bytes_are_changed_only_sound_lines_are_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    whole = bytearray("".join(json.dumps(line) + "\n" for line in LINES).encode())
    place = st.integers(0, len(whole) - 1)
    for at, value in data.draw(st.lists(st.tuples(place, st.integers(0, 255)), max_size=6)):
        whole[at] = value
    path.write_bytes(whole)
    for change in changes_of(read(path)):
        assert change.env_steps >= 0
        Tunables(**{change.name: change.new})


def test_a_journal_too_long_for_a_person_is_not_read(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(MOST_BYTES + 1)
    assert read(path) == []


def test_mending_drops_only_a_torn_last_line(path: Path) -> None:
    whole = path.read_text()
    mend(path)
    assert path.read_text() == whole
    path.write_text(whole + '{"step": 12, "fie')
    mend(path)
    assert path.read_text() == whole
    path.write_text("torn")
    mend(path)
    assert path.read_text() == ""
    mend(path.with_name("none.jsonl"))
    assert not path.with_name("none.jsonl").exists()


def test_what_is_struck_out_is_gone_and_nothing_else(path: Path) -> None:
    strike_out(
        path, lambda entry: entry.get("field") in ("tau", "batch_size") and entry["step"] > 5
    )
    assert read(path) == LINES[:2]
    strike_out(path, lambda entry: False)
    assert read(path) == LINES[:2]


def test_a_run_that_ends_at_the_step_of_a_planned_change_has_not_made_it() -> None:
    planned = scheduled([Change(9, "tau", 0.3)], Tunables(), num_envs=1)
    entries = [*LINES, *planned]
    assert made_by(entries, 9) == [LINES[0], LINES[2]]
    assert made_by(entries, 10) == [LINES[0], LINES[2], *planned]


def test_a_schedule_is_recorded_at_the_steps_at_which_it_takes_effect() -> None:
    first = Tunables(tau=0.1)
    changes = [Change(9, "tau", 0.3), Change(4, "tau", 0.1), Change(5, "tau", 0.2)]
    lines = scheduled(changes, first, num_envs=4)
    assert [(line["step"], line["old"], line["new"]) for line in lines] == [
        (8, 0.1, 0.2),
        (12, 0.2, 0.3),
    ]
    assert all(map(is_scheduled, lines))
    assert not any(map(is_scheduled, LINES))
    assert [parse(line) for line in text_of(lines).splitlines()] == lines


@pytest.mark.parametrize(("decay", "kept"), [(1.0, []), (0.99, ["exploration_noise"])])
def test_a_value_that_a_setting_has_is_no_change_unless_it_has_decayed(
    decay: float, kept: list[str]
) -> None:
    first = Tunables(tau=0.5, exploration_noise=0.2, exploration_noise_decay=decay)
    changes = [Change(10, "tau", 0.5), Change(20, "exploration_noise", 0.2)]
    assert [line["field"] for line in scheduled(changes, first, num_envs=1)] == kept


def test_a_schedule_makes_each_change_at_its_step() -> None:
    schedule = Schedule([Change(9, "tau", 0.3), Change(2, "tau", 0.1), Change(2, "gamma", 0.5)])
    assert [schedule.due(step) for step in (0, 1, 2)] == [False, False, True]
    assert schedule.take(2) == [Change(2, "tau", 0.1), Change(2, "gamma", 0.5)]
    assert not schedule.due(8)
    # One that was passed is due as well: several environments step over it.
    assert schedule.due(10)
    assert schedule.take(10) == [Change(9, "tau", 0.3)]
    assert not schedule


def test_a_setting_that_changed_twice_at_a_step_is_changed_twice() -> None:
    schedule = Schedule([Change(2, "tau", 0.1), Change(2, "gamma", 0.5), Change(2, "tau", 0.2)])
    assert schedule.take(2) == [Change(2, "tau", 0.1), Change(2, "gamma", 0.5)]
    assert schedule.take(2) == [Change(2, "tau", 0.2)]


def test_a_schedule_forgets_the_settings_it_is_told_to() -> None:
    schedule = Schedule([Change(2, "tau", 0.1), Change(3, "gamma", 0.5)])
    assert schedule.drop(["tau"])
    assert not schedule.drop(["tau", "actor_lr"])
    assert not schedule.due(2)
    assert schedule.due(3)
