"""A run that is started with live changes still to come never forgets them."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from td3core import checkpoint
from td3core.cli import app
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Tuned
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import Change, Entry, is_scheduled
from td3core.runs.reader import RunReader
from td3core.training.launch import branch, train
from td3core.training.verify_resume import verify
from tests.support.lives import differences
from tests.td3core.helpers import Told, tiny
from tests.td3core.training.resuming import VALUES, branched, go_on, go_on_well, stop_at

CHANGES = [Change(31, "tau", 0.5), Change(40, "gamma", 0.5), Change(71, "tau", 0.1)]


def begin(runs_dir: Path, control: Control | None = None, **values: Any) -> RunDirectory:
    """Train with ``CHANGES`` to come."""
    config, tunables = tiny(**VALUES | values)
    outcome = train(config, tunables, control or Control(), Told(), runs_dir, CHANGES)
    assert isinstance(outcome, Ended)
    return RunDirectory.open(outcome.run)


def acting(step: int, act: Callable[[Control], None]) -> Control:
    """Return a control with which something is done after a step."""

    def hook(env_steps: int) -> None:
        if env_steps == step:
            act(control)

    control = Control(boundary_hook=hook)
    return control


def changes_in(run: Path) -> list[Entry]:
    return [entry for entry in RunDirectory.open(run).journal() if "field" in entry]


def steps_of(run: Path) -> list[tuple[int, str]]:
    return [(entry["step"], entry["field"]) for entry in changes_in(run)]


@pytest.mark.parametrize("num_envs", [1, 3])
@pytest.mark.parametrize("step", [12, 33, 60])
def test_a_run_with_changes_to_come_makes_them_after_an_interruption(
    runs_dir: Path, step: int, num_envs: int
) -> None:
    straight = begin(runs_dir / "straight", num_envs=num_envs)
    broken = begin(runs_dir, stop_at(step // num_envs), num_envs=num_envs)
    go_on_well(broken.path)
    assert differences(straight.path, broken.path) == []
    header = checkpoint.read_header(broken.last)
    assert (header.tunables.tau, header.tunables.gamma) == (0.1, 0.5)


def test_killed_before_its_first_step_it_has_its_schedule(runs_dir: Path) -> None:
    killed: list[Path] = []

    def kill(_: Control) -> None:
        run = next(runs_dir.iterdir())
        killed.append(runs_dir.parent / "killed" / run.name)
        shutil.copytree(run, killed[0])

    straight = begin(runs_dir, acting(0, kill))
    (killed[0] / "lock").unlink()
    go_on_well(killed[0])
    assert differences(straight.path, killed[0]) == []


def test_the_journal_says_what_came_from_the_schedule_and_what_by_hand(runs_dir: Path) -> None:
    tuned = acting(50, lambda control: control.tune(replace(tiny()[1], tau=0.25, gamma=0.5)))
    run = begin(runs_dir, tuned)
    # The change at step 71 was overridden.
    found = [(e["step"], e["field"], e["old"], e["new"], is_scheduled(e)) for e in run.journal()]
    assert found == [
        (31, "tau", 0.005, 0.5, True),
        (40, "gamma", 0.99, 0.5, True),
        (50, "tau", 0.5, 0.25, False),
    ]
    assert ["time" in entry for entry in run.journal()] == [False, False, True]


@pytest.mark.parametrize(
    "ask",
    [
        lambda control: control.change({"gamma": 0.25}),
        # As a window does that has not heard yet of what the schedule changes.
        lambda control: control.tune(replace(tiny()[1], gamma=0.25), tiny()[1]),
    ],
    ids=["values", "settings"],
)
def test_a_request_leaves_alone_what_is_scheduled_for_the_same_step(
    runs_dir: Path, ask: Callable[[Control], object]
) -> None:
    run = begin(runs_dir, acting(31, ask))
    found = [(e["step"], e["field"], e["old"], e["new"], is_scheduled(e)) for e in run.journal()]
    assert (31, "tau", 0.005, 0.5, True) in found
    assert (31, "gamma", 0.99, 0.25, False) in found
    assert [name for _, name, *_ in found] == ["tau", "tau", "gamma"]


def test_a_branch_makes_the_changes_still_to_come_but_those_of_its_own_settings(
    runs_dir: Path,
) -> None:
    by_hand = acting(80, lambda control: control.tune(replace(tiny()[1], tau=0.1, gamma=0.25)))
    parent = begin(runs_dir, by_hand)
    outcome, told = branched(parent.step_checkpoint(40), runs_dir)
    assert isinstance(outcome, Ended)
    # At the very step of the checkpoint, and later; but not what was done by hand.
    assert steps_of(outcome.run) == [(40, "gamma"), (71, "tau")]
    assert [event.env_steps for event in told.all(Tuned)] == [40, 71]
    own, _ = branched(parent.step_checkpoint(40), runs_dir, tau=0.3)
    assert isinstance(own, Ended)
    assert steps_of(own.run) == [(40, "gamma")]


def test_a_branch_may_make_the_changes_of_any_run_from_its_checkpoint_on_instead(
    runs_dir: Path,
) -> None:
    by_hand = acting(80, lambda control: control.tune(replace(tiny()[1], tau=0.1, gamma=0.25)))
    parent = begin(runs_dir, by_hand)
    words = ["branch", str(parent.step_checkpoint(40)), "--set", "tau=0.3", "--journal"]
    folder = runs_dir / "branches"
    assert app.main([*words, str(parent.path), "--runs-dir", str(folder)]) == 0
    (made,) = folder.iterdir()
    # By hand as well, and those of its own settings.
    assert steps_of(made) == [(40, "gamma"), (71, "tau"), (80, "gamma")]
    assert changes_in(made) == [entry for entry in changes_in(made) if is_scheduled(entry)]
    plain = begin(runs_dir / "plain")
    (plain.path / "journal.jsonl").unlink()
    assert app.main([*words, str(plain.path), "--runs-dir", str(runs_dir / "none")]) == 0
    assert steps_of(next((runs_dir / "none").iterdir())) == []


@pytest.mark.parametrize("ask", [{"tau": 0.5}, {}], ids=["its value", "nothing"])
def test_a_request_for_the_value_that_a_setting_has_ends_what_is_planned_for_it(
    runs_dir: Path, ask: dict[str, Any]
) -> None:
    run = begin(runs_dir, acting(50, lambda control: control.change(ask)))
    assert ((71, "tau") in steps_of(run.path)) == (not ask)
    assert checkpoint.read_header(run.last).tunables.tau == (0.5 if ask else 0.1)


def test_a_refused_request_ends_nothing_that_is_planned(runs_dir: Path) -> None:
    run = begin(runs_dir, acting(50, lambda c: c.change({"tau": 0.5, "batch_size": 5000})))
    assert steps_of(run.path) == [(31, "tau"), (40, "gamma"), (71, "tau")]


def test_a_change_made_where_a_branch_begins_is_not_lost_when_it_is_killed(runs_dir: Path) -> None:
    parent = begin(runs_dir, stop_at(40))
    assert checkpoint.read_header(parent.last).counters.changes == 1
    killed = runs_dir / "killed"

    def kill(control: Control) -> None:
        shutil.copytree(next((runs_dir / "new").iterdir()), killed)
        control.stop()

    control = acting(41, kill)
    control.tune(replace(checkpoint.read_header(parent.last).tunables, tau=0.9))
    branch(parent.last, {}, control, Told(), runs_dir / "new")
    (killed / "lock").unlink()
    told = go_on(killed)[1]
    assert [(event.env_steps, event.tunables.tau) for event in told.all(Tuned)] == [(40, 0.9)]


def test_verifying_a_run_with_changes_to_come_makes_them(runs_dir: Path) -> None:
    run = begin(runs_dir, stop_at(30))
    verdict = verify(run.path, steps=20)
    assert verdict.exact, verdict.differences


def test_a_folder_deleted_before_a_change_has_it_again(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("td3core.training.trainer.REPORT_S", 0.0)
    run = begin(runs_dir, acting(25, lambda _: shutil.rmtree(next(runs_dir.iterdir()))))
    assert steps_of(run.path) == [(31, "tau"), (40, "gamma"), (71, "tau")]


def test_a_change_still_to_come_is_not_told_as_one_that_was_made(runs_dir: Path) -> None:
    run = begin(runs_dir, stop_at(45))
    told = RunReader(run.path).poll()
    changes = [(e.env_steps, e.scheduled) for e in told if isinstance(e, Tuned)]
    assert changes == [(31, True), (40, True)]
