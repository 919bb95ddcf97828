"""Live settings that are no numbers: switches and choices, from the command line to the journal."""

import json
from pathlib import Path
from typing import Any

import pytest

from td3core import checkpoint
from td3core.cli.options import assignments
from td3core.config import changes, make_settings
from td3core.errors import RequestError
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Tuned
from td3core.runs import journal
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import Change
from td3core.training.launch import train
from td3core.training.live_settings import Schedule
from tests.support.live_choices import ChoiceTunables, declare_choices
from tests.support.scripted import Script
from tests.td3core.helpers import Told, tiny

FIRST = {"mirrored": True, "noise_kind": "uniform"}


@pytest.fixture(autouse=True)
def _declared(monkeypatch: pytest.MonkeyPatch) -> None:
    declare_choices(monkeypatch)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("mirrored=on", True),
        ("mirrored=false", False),
        ("noise_kind=pink", "pink"),
    ],
)
def test_the_command_line_takes_a_switch_and_a_choice(text: str, value: object) -> None:
    _, tunables = make_settings({"env": "Pendulum-v1", **assignments([text])})
    assert getattr(tunables, text.partition("=")[0]) == value


@pytest.mark.parametrize(
    ("name", "value"), [("mirrored", 1), ("mirrored", "on"), ("noise_kind", "brown")]
)
def test_another_value_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(RequestError, match=f"^{name} cannot be "):
        make_settings({"env": "Pendulum-v1", name: value})


def test_a_change_of_any_kind_is_a_change() -> None:
    new = ChoiceTunables(mirrored=True, noise_kind="pink", tau=0.5)
    assert changes(ChoiceTunables(), new) == [
        ("tau", 0.005, 0.5),
        ("mirrored", False, True),
        ("noise_kind", "gaussian", "pink"),
    ]


def test_a_schedule_keeps_the_kind_of_its_settings() -> None:
    changes = [Change(2, "mirrored", True), Change(2, "noise_kind", "uniform")]
    lines = journal.text_of(journal.scheduled(changes, ChoiceTunables(), 1)).splitlines()
    read = journal.changes_of(entry for line in lines if (entry := journal.parse(line)))
    assert Schedule(read).take(2) == changes


@pytest.mark.parametrize("new", [1, "true", None])
def test_a_journal_line_with_another_value_for_a_switch_is_left_out(new: object) -> None:
    line = {"step": 3, "field": "mirrored", "old": False, "new": new}
    assert journal.parse(json.dumps(line)) is None
    assert journal.parse(json.dumps(line | {"new": True})) == line | {"new": True}


def train_choices(
    runs_dir: Path, env: str, control: Control, schedule: tuple[Change, ...] = ()
) -> tuple[Ended, list[Tuned]]:
    """Train for 40 steps from ``FIRST``."""
    config, tunables = tiny(env, steps=40, **FIRST)
    told = Told()
    outcome = train(config, tunables, control, told, runs_dir, schedule)
    assert isinstance(outcome, Ended), outcome
    return outcome, told.all(Tuned)


def test_a_switch_and_a_choice_are_changed_live_journaled_saved_and_repeated(
    runs_dir: Path, scripted: Any
) -> None:
    control = Control()
    new = ChoiceTunables(batch_size=8, mirrored=False, noise_kind="pink")

    def tune(step: int) -> None:
        if step == 25:
            control.tune(new)

    first, tuned = train_choices(
        runs_dir, scripted(Script([(7, "truncated")], on_step=tune)), control
    )
    expected = (("mirrored", True, False), ("noise_kind", "uniform", "pink"))
    assert [event.changes for event in tuned] == [expected]
    run = RunDirectory.open(first.run)
    assert run.first_tunables == ChoiceTunables(batch_size=8, **FIRST)
    entries = run.journal()
    assert [(e["step"], e["field"], e["old"], e["new"]) for e in entries] == [
        (25, *change) for change in expected
    ]
    assert first.last_checkpoint is not None
    assert checkpoint.read_header(first.last_checkpoint).tunables == new

    scheduled = tuple(journal.changes_of(entries))
    plain = scripted(Script([(7, "truncated")]))
    _, repeated = train_choices(runs_dir, plain, Control(), scheduled)
    assert [(event.env_steps, event.scheduled) for event in repeated] == [(25, True)]
    assert repeated[0].tunables == new
