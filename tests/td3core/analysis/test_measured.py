"""A run's reports and its files fold into the same tables."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core.analysis.measured import Measured, MeasuredRun, measured_in
from td3core.analysis.results import read_results, read_training, training_of, with_measured
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Event, Progress, Started
from td3core.protocol.metrics import TRAINING_COLUMNS
from td3core.training.launch import branch, resume
from tests.support.scripted import Script
from tests.td3core.helpers import Told, run

SETTINGS: dict[str, Any] = {"eval_interval": 20, "checkpoint_interval": 25}


@pytest.fixture(autouse=True)
def _reports_at_every_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("td3core.training.trainer.REPORT_S", 0.0)


def folded(events: list[Event], begun: MeasuredRun | None = None) -> MeasuredRun:
    found = begun or MeasuredRun()
    for event in events:
        found.take(event)
    return found


def assert_equal(live: Measured, read: Measured) -> None:
    # Tables have six digits, times three.
    np.testing.assert_allclose(live.training, read.training, rtol=1e-5)
    for name in ("evaluations", "episodes", "bias"):
        one, other = getattr(live, name), getattr(read, name)
        np.testing.assert_allclose(one[:, 2], other[:, 2], atol=2e-3)
        np.testing.assert_array_equal(np.delete(one, 2, axis=1), np.delete(other, 2, axis=1))
    assert (live.threshold, live.changes) == (read.threshold, read.changes)


def test_live_equals_read(runs_dir: Path, scripted: Any) -> None:
    control = Control()

    def change(step: int) -> None:
        if step == 31:
            control.change({"tau": 0.2})

    outcome, told = run(runs_dir, scripted(Script(on_step=change)), control=control, **SETTINGS)
    assert isinstance(outcome, Ended)
    live = folded(told.events).measured
    assert len(live.evaluations) == 2
    assert len(live.training)
    assert len(live.episodes)
    assert live.changes == 1
    read = measured_in(outcome.run).measured
    assert_equal(live, read)
    results = read_results(outcome.run)
    again = with_measured(results, read)
    for axis in ("steps", "episodes", "time"):
        for metric in ("eval", "return", "bias"):
            for one, other in zip(
                again.curve(metric, axis), results.curve(metric, axis), strict=True
            ):
                np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(training_of(read), read_training(outcome.run))


def test_a_branch_of_which_some_columns_are_read_gives_the_same_numbers(runs_dir: Path) -> None:
    origin, _ = run(runs_dir, **SETTINGS)
    assert isinstance(origin, Ended)
    (checkpoint,) = origin.run.glob("checkpoints/step_*25.safetensors")
    branched = branch(checkpoint, {"tau": 0.2}, Control(), Told(), runs_dir)
    assert isinstance(branched, Ended)
    table = branched.run / "training.csv"
    # Rows that a crash left behind: of the steps before it began, and of steps taken again.
    head, *rows = table.read_text().splitlines(keepends=True)
    begun = (origin.run / "training.csv").read_text().splitlines(keepends=True)[1:2]
    table.write_text("".join([head, *begun, *rows, *rows[1:]]))
    whole = training_of(measured_in(branched.run).measured)
    assert len(whole) == len(rows)
    some = ("env_steps", "q1", "critic1_loss")
    at = [TRAINING_COLUMNS.index(column) for column in some]
    np.testing.assert_array_equal(read_training(branched.run), whole)
    np.testing.assert_array_equal(read_training(branched.run, columns=some), whole[:, at])


def test_live_equals_read_after_the_run_was_resumed_from_an_earlier_step(
    runs_dir: Path, scripted: Any
) -> None:
    outcome, _ = run(runs_dir, scripted(Script()), **SETTINGS)
    assert isinstance(outcome, Ended)
    before = measured_in(outcome.run)
    # The newest checkpoint is lost: the run begins again where the one before it stands.
    outcome.last_checkpoint.unlink()
    for path in outcome.run.glob("checkpoints/step_*60.safetensors"):
        path.unlink()
    told = Told()
    ended = resume(outcome.run, Control(), told, steps=90)
    assert isinstance(ended, Ended), ended
    (started,) = told.all(Started)
    assert started.env_steps < 60
    assert_equal(folded(told.events, before).measured, measured_in(outcome.run).measured)


def test_what_was_handed_out_stays_as_it_was(runs_dir: Path, scripted: Any) -> None:
    outcome, told = run(runs_dir, scripted(Script()), **SETTINGS)
    assert isinstance(outcome, Ended)
    measuring = folded(told.events)
    before = measuring.measured
    copies = [table.copy() for table in (before.evaluations, before.episodes, before.training)]
    assert measuring.measured is before
    measuring.take(replace(told.all(Started)[0], env_steps=20))
    for event in told.events[1:]:
        measuring.take(event)
    assert measuring.measured is not before
    kept = (before.evaluations, before.episodes, before.training)
    for table, copy in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(table, copy)
        assert not table.flags.writeable


def test_two_reports_in_a_row_tell_the_same_as_one(runs_dir: Path, scripted: Any) -> None:
    outcome, told = run(runs_dir, scripted(Script()), **SETTINGS)
    assert isinstance(outcome, Ended)
    reports = told.all(Progress)
    assert len(reports) > 2
    joined = reports[0]
    for report in reports[1:]:
        joined = report.after(joined)
    whole, single = folded([joined]).measured, folded(list(reports)).measured
    for name in ("episodes", "training", "training_times", "reached"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(single, name))
    last = reports[-1]
    rows = {"training": last.training, "training_times": last.training_times, "ended": last.ended}
    assert replace(joined, **rows) == last
    assert not joined.training.flags.writeable
