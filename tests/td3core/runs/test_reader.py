"""A run read from its folder: its beginning, its progress, and its end."""

import csv
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from td3core.protocol.control import Control
from td3core.protocol.events import (
    Ended,
    Evaluated,
    Event,
    Interrupted,
    Phase,
    Progress,
    Saved,
    Started,
    Tuned,
)
from td3core.runs.directory import RunDirectory
from td3core.runs.lock import RunLock
from td3core.runs.reader import RunReader
from td3core.runs.status import Status
from tests.td3core.helpers import finish, run
from tests.td3core.training.resuming import VALUES, branched, go_on_well, stopped

Kind = TypeVar("Kind")
EPISODES = ("episodes",)
"""Their rows end at multiples of ten; those of the training may end with the run."""


def of(kind: type[Kind], told: Iterable[Event]) -> list[Kind]:
    return [each for each in told if isinstance(each, kind)]


def status_of(path: Path) -> Status:
    status = Status.read(path)
    assert status is not None
    return status


def test_a_branch_begins_with_an_agent_of_its_parent_and_repeats_no_step(runs_dir: Path) -> None:
    parent = RunDirectory.open(finish(runs_dir, **VALUES).run)
    outcome, _ = branched(parent.step_checkpoint(60), runs_dir)
    assert isinstance(outcome, Ended)
    reader = RunReader(outcome.run)
    (start,) = of(Started, reader.drain())
    assert (start.env_steps, start.repeated_steps) == (60, 0)
    assert start.branched_from == parent.path.name
    go_on_well(outcome.run, steps=110)
    (again,) = of(Started, reader.poll())
    # Now it goes on with an agent of its own.
    assert (again.env_steps, again.repeated_steps, again.branched_from) == (97, 0, "")


def test_the_speed_of_a_branch_counts_none_of_the_steps_of_its_parent(runs_dir: Path) -> None:
    parent = RunDirectory.open(finish(runs_dir, **VALUES).run)
    outcome, _ = branched(parent.step_checkpoint(60), runs_dir)
    (outcome.run / "status.json").unlink()
    (outcome.run / "ending.json").write_text(json.dumps({"stopped": "finished"}))
    (ended,) = of(Ended, RunReader(outcome.run).drain())
    assert ended.steps_per_s * ended.wall_s == pytest.approx(ended.env_steps - 60)


def test_a_run_resumed_before_a_change_begins_without_it_and_makes_it_again(
    runs_dir: Path,
) -> None:
    def at_boundary(step: int) -> None:
        if step == 30:
            control.change({"tau": 0.2})
        if step == 40:
            control.stop()

    control = Control(boundary_hook=at_boundary)
    outcome, _ = run(runs_dir, control=control, checkpoint_interval=25)
    assert isinstance(outcome, Ended)
    reader = RunReader(outcome.run)
    first = list(reader.drain())
    tau = of(Started, first)[0].tunables.tau
    changes = [("tau", tau, 0.2)]
    assert [change for each in of(Tuned, first) for change in each.changes] == changes
    RunDirectory.open(outcome.run).last.unlink()
    go_on_well(outcome.run)
    again = list(reader.poll())
    start = of(Started, again)[-1]
    assert (start.env_steps, start.tunables.tau) == (25, tau)
    assert [change for each in of(Tuned, again) for change in each.changes] == changes


def test_a_follower_repeats_no_change_before_the_step_at_which_a_run_got_more_steps(
    runs_dir: Path,
) -> None:
    wanted = {25: "0.02@0, 0.001@100%", 35: 0.01, 45: 0.03}

    def at_boundary(step: int) -> None:
        if step in wanted:
            control.change({"tau": wanted[step]})

    control = Control(boundary_hook=at_boundary)
    outcome, _ = run(runs_dir, control=control)
    assert isinstance(outcome, Ended)
    reader = RunReader(outcome.run)
    assert [each.env_steps for each in of(Tuned, reader.drain())] == [25, 35, 45]
    go_on_well(outcome.run, steps=90)
    told = list(reader.poll())
    assert of(Tuned, told) == []
    assert of(Progress, told)[-1].tunables.tau == 0.03


@pytest.mark.parametrize(
    ("step", "phase"), [(10, Phase.WARM_UP), (19, Phase.WARM_UP), (20, Phase.LEARNING)]
)
def test_a_run_without_a_process_is_in_the_phase_of_its_step(
    runs_dir: Path, step: int, phase: Phase
) -> None:
    path = stopped(runs_dir, step).run
    assert status_of(path).phase is phase
    replace(status_of(path), phase=Phase.PAUSED).write(path)
    assert of(Progress, RunReader(path).drain())[-1].phase is phase


def test_a_run_that_has_not_gone_on_yet_stands_where_its_process_began(runs_dir: Path) -> None:
    path = stopped(runs_dir, 45).run
    replace(status_of(path), began_at=45, env_steps=45).write(path)
    with RunLock(path):
        (now,) = of(Progress, RunReader(path, tables=EPISODES).poll())
    assert now.env_steps == 45


def test_an_interrupted_run_stands_where_its_last_agent_does(runs_dir: Path) -> None:
    path = stopped(runs_dir, 45).run
    for name in ("ending.json", "status.json"):
        (path / name).unlink()
    told = list(RunReader(path, tables=EPISODES).drain())
    assert told[-1] == Interrupted(run=path, env_steps=45)


def test_of_an_ending_without_returns_those_of_the_evaluations_are_told(runs_dir: Path) -> None:
    path = finish(runs_dir, steps=100, eval_interval=20).run
    table = path / "evaluations.csv"
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row, mean in zip(rows, (1.0, 3.0, 2.0, 1.5), strict=True):
        row |= {"mean": str(mean), "returns": ""}
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    (path / "ending.json").write_text(json.dumps({"stopped": "finished"}))
    told = list(RunReader(path).drain())
    assert [each.mean for each in of(Evaluated, told)] == [1.0, 3.0, 2.0, 1.5]
    (ended,) = of(Ended, told)
    assert (ended.last_eval_return, ended.best_eval_return) == (1.5, 3.0)


def test_evaluations_are_reported_after_the_updates_before_them(runs_dir: Path) -> None:
    ended = finish(runs_dir, steps=200, eval_interval=100)
    kinds = [type(each) for each in RunReader(ended.run).drain()]
    assert kinds.index(Progress) < kinds.index(Evaluated)


def test_agents_saved_between_two_looks_are_reported_by_step(runs_dir: Path) -> None:
    run = RunDirectory.open(finish(runs_dir).run)
    new = [run.step_checkpoint(step) for step in (999_999_999, 1_000_000_000)]
    looks = iter(range(0, 100, 10))
    reader = RunReader(run.path, lambda: next(looks))
    with RunLock(run.path):
        reader.poll()
        for path in new:
            path.write_bytes(run.last.read_bytes())
        assert [each.path for each in of(Saved, reader.poll())] == new


def test_an_agent_saved_right_before_the_end_is_reported_before_it(runs_dir: Path) -> None:
    path = finish(runs_dir).run
    status, last = status_of(path), RunDirectory.open(path).last
    new = last.with_name("step_000000001.safetensors")
    # No time passes: the checkpoints are not listed again for the time being.
    reader = RunReader(path, lambda: 0.0)
    with RunLock(path):
        assert not of(Saved, reader.poll())
        new.write_bytes(last.read_bytes())
    replace(status, beat=status.beat + 1).write(path)
    told = reader.poll()
    assert [each.path for each in of(Saved, told)] == [new]
    assert isinstance(told[-1], Ended)
