"""Live settings that follow schedules: through kills, branches, changes by hand and journals."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from td3core import checkpoint
from td3core.cli import app
from td3core.config import given
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Progress, Tuned
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import Change, changes_of
from td3core.runs.reader import RunReader
from td3core.training.launch import train
from td3core.training.verify_resume import verify
from tests.support.lives import differences
from tests.td3core.helpers import Told, finish, run, tiny
from tests.td3core.training.resuming import (
    VALUES,
    branched,
    crashing,
    each_way,
    go_on,
    go_on_well,
    stop_at,
)

TAU = "0.5@30, 0.1@70"
SCHEDULES: dict[str, Any] = VALUES | {
    "tau": TAU,
    "updates_per_step": "2, 1@40",
    "batch_size": "8, 16@55",
    "exploration_noise": "0.5@0, 0.1@100%",
    "actor_lr": "1e-3@0, x0.1@100%",
    "policy_delay": "1, 3@33",
    "reward_floor": "-0.2@33, -1.5@62, off@80",
}


def hooked(act: dict[int, Callable[[Control], object]]) -> Control:
    """Return a control with which something is done after some steps."""

    def hook(env_steps: int) -> None:
        if env_steps in act:
            act[env_steps](control)

    control = Control(boundary_hook=hook)
    return control


def changed(**values: Any) -> Callable[[Control], object]:
    return lambda control: control.change(values)


@pytest.mark.parametrize("engine", ["compiled", "torch"])
def test_the_values_of_every_step_reach_the_agent(runs_dir: Path, engine: str) -> None:
    told: list[Progress] = []
    outcome, _ = run(
        runs_dir,
        control=stop_at(50),
        react=lambda event: told.append(event) if isinstance(event, Progress) else None,
        **SCHEDULES | {"engine": engine},
    )
    assert isinstance(outcome, Ended)
    found = told[-1].tunables
    assert found.tau == pytest.approx(0.3)
    assert (found.updates_per_step, found.batch_size, found.policy_delay) == (1, 8, 3)
    assert told[-1].exploration_noise == pytest.approx(0.5 - 0.4 * 50 / 97)
    saved = checkpoint.read_header(outcome.last_checkpoint).tunables
    assert saved == found
    assert given(saved, "tau") == TAU


@pytest.mark.parametrize("num_envs", [1, 3])
def test_a_run_stopped_in_the_middle_of_its_schedules_goes_on_the_same(
    runs_dir: Path, num_envs: int
) -> None:
    values = SCHEDULES | {"num_envs": num_envs}
    straight = finish(runs_dir / "straight", **values)
    outcome, _ = run(runs_dir, control=stop_at(45 // num_envs), **values)
    assert isinstance(outcome, Ended)
    go_on_well(outcome.run)
    assert differences(straight.run, outcome.run) == []


@each_way
@pytest.mark.slow
def test_killed_anywhere_in_its_schedules_a_run_goes_on_the_same(
    runs_dir: Path, tmp_path: Path, every: int
) -> None:
    config, tunables = tiny(**SCHEDULES)
    control = hooked({45: changed(tau=0.3), 60: changed(tau=TAU)})
    with crashing(runs_dir, tmp_path / "crashes") as crashes:
        straight = train(config, tunables, control, Told(), runs_dir)
    assert isinstance(straight, Ended)
    tried = 0
    for copy in crashes.found[::every]:
        found = RunDirectory.open(copy)
        if len(found.journal()) == 2 and found.ending() is None:
            go_on_well(copy)
            assert differences(straight.run, copy) == [], copy
            tried += 1
    assert tried


def test_a_change_by_hand_ends_the_schedule_of_its_setting_until_it_is_given_again(
    runs_dir: Path,
) -> None:
    control = hooked({45: changed(tau=0.3), 60: changed(tau=TAU)})
    outcome, told = run(runs_dir, control=control, **SCHEDULES)
    assert isinstance(outcome, Ended)
    (ended, again) = told.all(Tuned)
    assert (ended.changes, ended.tunables.tau) == ((("tau", TAU, 0.3),), 0.3)
    assert "tau" not in dict(ended.tunables.schedules)
    assert "batch_size" in dict(ended.tunables.schedules)
    # Where it would be by then.
    assert (again.changes, again.tunables.tau) == ((("tau", 0.3, TAU),), pytest.approx(0.2))
    journal = RunDirectory.open(outcome.run).journal()
    assert [(e["step"], e["old"], e["new"]) for e in journal] == [(45, TAU, 0.3), (60, 0.3, TAU)]
    at_80, _ = checkpoint.read_header(RunDirectory.open(outcome.run).step_checkpoint(80)), None
    assert given(at_80.tunables, "tau") == TAU


def test_a_request_made_before_a_schedule_moved_on_does_not_end_it(runs_dir: Path) -> None:
    stale = replace(tiny(**SCHEDULES)[1], gamma=0.5)
    outcome, told = run(
        runs_dir, control=hooked({60: lambda control: control.tune(stale)}), **SCHEDULES
    )
    assert isinstance(outcome, Ended)
    assert [event.changes for event in told.all(Tuned)] == [(("gamma", 0.99, 0.5),)]


def test_a_journal_with_ended_schedules_is_repeated(runs_dir: Path) -> None:
    control = hooked({45: changed(tau=0.3), 60: changed(tau=TAU), 65: changed(batch_size=5)})
    first, _ = run(runs_dir, control=control, **SCHEDULES)
    assert isinstance(first, Ended)
    config, tunables = tiny(**SCHEDULES)
    entries = changes_of(RunDirectory.open(first.run).journal())
    again = train(config, tunables, Control(), Told(), runs_dir / "again", entries)
    assert isinstance(again, Ended)
    assert differences(first.run, again.run) == []


def test_a_journal_ends_a_schedule_that_its_own_run_did_not_have(runs_dir: Path) -> None:
    first, _ = run(runs_dir, control=hooked({45: lambda c: c.change({"tau": 0.3})}))
    entries = changes_of(RunDirectory.open(first.run).journal())
    config, tunables = tiny(**SCHEDULES)
    told = Told()
    outcome = train(config, tunables, Control(), told, runs_dir / "again", entries)
    assert isinstance(outcome, Ended)
    assert checkpoint.read_header(outcome.last_checkpoint).tunables.tau == 0.3


def test_a_branch_goes_on_with_the_schedules_but_those_of_its_own_settings(runs_dir: Path) -> None:
    parent = RunDirectory.open(finish(runs_dir, **SCHEDULES).run)
    straight = checkpoint.read_header(parent.last).tunables
    for values, tau in (({}, TAU), ({"tau": 0.3}, 0.3)):
        outcome, _ = branched(parent.step_checkpoint(40), runs_dir / str(tau)[:3], **values)
        assert isinstance(outcome, Ended)
        found = checkpoint.read_header(outcome.last_checkpoint).tunables
        assert given(found, "tau") == tau
        assert found.exploration_noise == straight.exploration_noise
        assert given(RunDirectory.open(outcome.run).first_tunables, "tau") == tau


def test_a_branch_may_give_the_rates_another_final_share(runs_dir: Path) -> None:
    parent = RunDirectory.open(finish(runs_dir, **SCHEDULES).run)
    outcome, _ = branched(parent.step_checkpoint(40), runs_dir / "branch", lr_final=0.5)
    assert isinstance(outcome, Ended)
    found = checkpoint.read_header(outcome.last_checkpoint).tunables
    assert given(found, "actor_lr") == "0.001@0, x0.5@100%"
    assert found.actor_lr == 0.5e-3


def test_a_branch_whose_rates_fall_anew_repeats_no_planned_change_of_them(runs_dir: Path) -> None:
    planned = [Change(70, "actor_lr", 2e-3), Change(75, "tau", 0.3)]
    parent = train(*tiny(**VALUES), Control(), Told(), runs_dir, planned)
    assert isinstance(parent, Ended)
    path = RunDirectory.open(parent.run).step_checkpoint(40)
    outcome, _ = branched(path, runs_dir / "branch", lr_final=0.1)
    assert isinstance(outcome, Ended)
    fields = [e["field"] for e in RunDirectory.open(outcome.run).journal() if "field" in e]
    assert fields == ["tau"]


def test_a_schedule_of_the_exploration_noise_has_the_say_over_its_decay(runs_dir: Path) -> None:
    values = VALUES | {"exploration_noise": "0.5@0", "exploration_noise_decay": 0.9}
    outcome, told = run(runs_dir, **values)
    assert isinstance(outcome, Ended)
    assert checkpoint.read_header(outcome.last_checkpoint).tunables.exploration_noise == 0.5
    assert told.all(Progress)[-1].exploration_noise == 0.5


def test_a_run_with_schedules_verifies_and_is_read_with_the_values_of_its_step(
    runs_dir: Path,
) -> None:
    outcome, _ = run(runs_dir, control=stop_at(50), **SCHEDULES)
    assert isinstance(outcome, Ended)
    verdict = verify(outcome.run, steps=20)
    assert verdict.exact, verdict.differences
    told = [event for event in RunReader(outcome.run).poll() if isinstance(event, Progress)]
    assert told[-1].tunables.tau == pytest.approx(0.3)
    assert given(told[-1].tunables, "tau") == TAU


# Another length ----------------------------------------------------------------------------------

LONGER = VALUES | {"steps": 100, "eval_interval": 0}
SHARES = {"exploration_noise": "0.5@20%, 0.1@100%", "actor_lr": "1e-3, x0.1@100%"}
IN_STEPS = {"exploration_noise": "0.5@20, 0.1@100", "actor_lr": "1e-3, x0.1@100"}
TO_COME = Change(60, "tau", "0.5@0, 0.1@100%"), Change(60, "tau", "0.5@0, 0.1@100")


def at_the_end(one: Path, other: Path) -> list[str]:
    """Return in what two runs differ but for checkpoints on the way and how it was written."""
    found = differences(one, other)
    return [each for each in found if not each.startswith(("step_", "live changes", "names"))]


@pytest.mark.parametrize("stop", [50, 100])
def test_schedules_keep_their_course_in_a_run_that_goes_on_with_more_steps(
    runs_dir: Path, stop: int
) -> None:
    config, tunables = tiny(**LONGER | IN_STEPS | {"steps": 150})
    straight = train(config, tunables, Control(), Told(), runs_dir / "straight", TO_COME[1:])
    config, tunables = tiny(**LONGER | SHARES)
    short = train(config, tunables, stop_at(stop), Told(), runs_dir / "short", TO_COME[:1])
    assert isinstance(straight, Ended)
    assert isinstance(short, Ended)
    outcome, told = go_on(short.run, steps=150)
    assert isinstance(outcome, Ended), outcome
    assert at_the_end(straight.run, short.run) == []
    assert told.all(Progress)[-1].tunables.actor_lr == pytest.approx(1e-4)
    (first, *_) = told.all(Tuned)
    assert first.env_steps == stop
    noise = "exploration_noise"
    assert (noise, SHARES[noise], IN_STEPS[noise]) in first.changes


def test_a_run_that_got_more_steps_is_still_its_settings_and_its_journal(runs_dir: Path) -> None:
    config, tunables = tiny(**LONGER | SHARES)
    short = train(config, tunables, Control(), Told(), runs_dir, TO_COME[:1])
    assert isinstance(short, Ended)
    go_on_well(short.run, steps=150)
    found = RunDirectory.open(short.run)
    changes, first = changes_of(found.journal()), found.first_tunables
    assert [change.env_steps for change in changes] == [60, 100, 100, 100]
    again = train(found.config, first, Control(), Told(), runs_dir / "again", changes)
    assert isinstance(again, Ended)
    assert at_the_end(short.run, again.run) == []


def test_a_run_that_repeats_the_changes_of_another_keeps_the_schedules_of_its_own_length(
    runs_dir: Path,
) -> None:
    config, tunables = tiny(**LONGER | SHARES)
    short = train(config, tunables, Control(), Told(), runs_dir, TO_COME[:1])
    assert isinstance(short, Ended)
    go_on_well(short.run, steps=150)
    parent, made = RunDirectory.open(short.run), runs_dir / "again"
    words = ["branch", str(parent.step_checkpoint(40)), "--journal", str(parent.path)]
    assert app.main([*words, "--steps", "150", "--runs-dir", str(made)]) == 0
    (again,) = map(RunDirectory.open, made.iterdir())
    changes = [entry for entry in again.journal() if "field" in entry]
    assert changes_of(changes) == [*TO_COME[1:]]
    saved = checkpoint.read_header(again.step_checkpoint(120)).tunables
    assert given(saved, "actor_lr") == "0.001@0, x0.1@100%"
    assert saved.actor_lr == pytest.approx(1e-3 - 0.9e-3 * 120 / 150)


@each_way
def test_killed_when_it_goes_on_with_more_steps_a_run_keeps_the_course_of_its_schedules(
    runs_dir: Path, tmp_path: Path, every: int
) -> None:
    config, tunables = tiny(**LONGER | SHARES)
    short = train(config, tunables, Control(), Told(), runs_dir, TO_COME[:1])
    assert isinstance(short, Ended)
    with crashing(runs_dir, tmp_path / "crashes") as crashes:
        go_on_well(short.run, steps=150)
    assert len(crashes.found) > 5
    # Each state of the beginning: there the journal and the length change.
    for copy in (*crashes.found[:6], *crashes.found[6::every]):
        if RunDirectory.open(copy).ending() is None:
            go_on(copy, steps=150)
            assert at_the_end(short.run, copy) == [], copy


def test_a_request_from_another_process_can_begin_a_schedule() -> None:
    control = Control()
    control.change({"tau": TAU})
    assert control.take_requests().values == {"tau": TAU}
