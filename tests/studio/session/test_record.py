"""The displayed data of a run are the same from its events and from its files."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QTimer

from studio.session.curves import RunCurves
from studio.session.history import read_history
from studio.session.journal import RunJournal
from studio.session.model import RunModel
from studio.session.record import RunRecord
from td3core.analysis.advice import Health, Rule, load_rules, with_thresholds
from td3core.arrays import Doubles
from td3core.config import RunConfig, Tunables
from td3core.protocol import events
from td3core.protocol.control import Control
from td3core.runs.journal import SAME_GESTURE_S
from td3core.text import Text
from tests.studio.fake_runs import make_run
from tests.support.events import ended
from tests.support.events import started as begun
from tests.td3core.helpers import run, tiny
from tests.td3core.training.resuming import branched


def folded(told: list[events.Event]) -> RunRecord:
    """Fold a run's events as the model does."""
    model = RunModel()
    for event in told:
        model.handle(event)
    return model.record


def done_to(record: RunRecord) -> list[tuple[object, ...]]:
    """Return everything that was done to a run."""
    journal = record.journal
    return [
        *((m.env_steps, m.name, m.old, m.new) for m in journal.markers),
        *((each.env_steps, each.event, each.time) for each in journal.entries),
    ]


def test_a_run_read_from_its_files_is_shown_as_it_was_live(qapp, runs_dir: Path) -> None:
    control = Control()
    _, first = tiny()

    def react(event: events.Event) -> None:
        if isinstance(event, events.Evaluated) and event.env_steps == 30:
            control.save()
            control.tune(Tunables(**{**vars_of(first), "tau": 0.5, "policy_delay": 3}))
        elif isinstance(event, events.Evaluated) and event.env_steps == 60:
            control.stop()

    outcome, told = run(runs_dir, control=control, react=react, steps=500, eval_interval=30)
    live, read = folded(told.events), read_history(outcome.run, lambda: False).record
    for name in ("episodes", "training", "evaluations"):
        one, other = (getattr(each.curves, name).rows() for each in (live, read))
        assert len(one) > 0, name
        np.testing.assert_allclose(one, other, rtol=1e-5, err_msg=name)
    assert done_to(live) == done_to(read)
    assert [entry.event for entry in read.journal.entries] == ["save", "stop"]
    assert {marker.name for marker in read.journal.markers} == {"tau", "policy_delay"}
    assert live.config == read.config
    assert live.progress.tunables == read.progress.tunables
    for name in ("env_steps", "updates", "episodes", "phase"):
        assert getattr(live.progress, name) == getattr(read.progress, name), name
    for name in ("run", "stopped", "env_steps", "best_eval_return", "last_checkpoint"):
        assert getattr(live.outcome, name) == getattr(read.outcome, name), name


def test_a_branch_that_is_opened_counts_the_episodes_that_it_counted_live(
    qapp, runs_dir: Path
) -> None:
    parent, _ = run(runs_dir, steps=45)
    outcome, told = branched(parent.last_checkpoint, runs_dir, steps=120)
    live, read = folded(told.events), read_history(outcome.run, lambda: False).record
    assert (live.progress.episodes, outcome.episodes) == (12, 12)
    assert (read.progress.episodes, read.outcome.episodes) == (12, 12)
    # Runs of early versions have none.
    (outcome.run / "status.json").unlink()
    read = read_history(outcome.run, lambda: False).record
    assert (read.progress.episodes, read.outcome.episodes) == (12, 12)


def vars_of(tunables: Tunables) -> dict[str, object]:
    return {name: getattr(tunables, name) for name in Tunables.__slots__}


numbers = st.floats(-1e4, 1e4) | st.just(math.nan)


@given(st.lists(numbers, max_size=80), st.integers(1, 30))
def test_episodes_added_in_pieces_are_smoothed_as_if_added_at_once(returns, piece) -> None:
    rows = [(float(10 * n), value, 10.0) for n, value in enumerate(returns, start=1)]
    one, pieces = RunCurves(), RunCurves()
    one.add_episodes(rows)
    for begin in range(0, len(rows), piece):
        pieces.add_episodes(rows[begin : begin + piece])
    assert np.allclose(one.episodes.rows(), pieces.episodes.rows(), equal_nan=True)
    for at, smoothed in enumerate(one.episodes.column("smoothed")):
        known = [v for v in returns[max(0, at - 19) : at + 1] if not math.isnan(v)]
        expected = np.mean(known) if known else math.nan
        assert smoothed == pytest.approx(expected, abs=1e-6, nan_ok=True)


def test_what_is_dropped_and_taken_again_is_smoothed_as_if_never_dropped() -> None:
    rows = [(float(10 * n), float(n * n), 10.0) for n in range(1, 61)]
    whole, resumed = RunCurves(), RunCurves()
    whole.add_episodes(rows)
    resumed.add_episodes(rows[:50])
    resumed.keep_to(305.0)
    assert resumed.episodes.column("env_steps")[-1] == 300.0
    resumed.add_episodes(rows[30:])
    assert np.allclose(whole.episodes.rows(), resumed.episodes.rows())


def test_a_column_that_an_older_table_lacks_reads_as_nan_and_the_rest_is_kept(
    runs_dir: Path,
) -> None:
    made = make_run(runs_dir)
    for name, lacking in (("episodes", "length"), ("training", "q2"), ("evaluations", "success")):
        table = made.path / f"{name}.csv"
        lines = [line.split(",") for line in table.read_text().splitlines()]
        at = lines[0].index(lacking)
        table.write_text("".join(",".join(ln[:at] + ln[at + 1 :]) + "\n" for ln in lines))
    curves = read_history(made.path, lambda: False).record.curves
    assert (len(curves.episodes), len(curves.training), len(curves.evaluations)) == (10, 20, 4)
    for series, name in (
        (curves.episodes, "length"),
        (curves.training, "q2"),
        (curves.evaluations, "success"),
    ):
        assert np.isnan(series.column(name)).all()
    assert np.isfinite(curves.episodes.column("smoothed")).all()
    assert np.isfinite(curves.training.column("q1")).all()
    assert np.isfinite(curves.evaluations.column("mean")).all()


def test_the_changes_of_one_drag_are_one_marker_and_a_way_back_is_another() -> None:
    journal = RunJournal()
    for step, new, at in ((10, 0.01, 0.0), (20, 0.02, 1.0), (30, 0.03, 2.0)):
        journal.add_change(step, "tau", 0.005, new, time=at)
    journal.add_change(40, "tau", 0.03, 0.005, time=2.5)
    journal.add_change(90, "tau", 0.005, 0.5, time=9.0)
    # For changes without a time it is unknown whether they were one drag.
    journal.add_change(91, "tau", 0.5, 0.6)
    journal.add_change(92, "tau", 0.6, 0.7)
    steps = [(marker.env_steps, marker.old, marker.new) for marker in journal.markers]
    assert steps == [
        *((30, 0.005, 0.03), (40, 0.03, 0.005), (90, 0.005, 0.5)),
        *((91, 0.5, 0.6), (92, 0.6, 0.7)),
    ]


def test_a_setting_without_a_symbol_of_one_letter_is_called_by_its_label() -> None:
    journal = RunJournal()
    changes = (("tau", 0.005, 0.01), ("critic_lr", 0.001, 0.0003), ("actor_lr", 0.001, 0.0003))
    texts = [journal.add_change(10, *change).text for change in changes]
    assert texts == [
        "τ 0.005 → 0.01",
        "Critic learning rate 0.001 → 0.0003",
        "Actor learning rate 0.001 → 0.0003",
    ]


def started(path: str, env_steps: int = 0) -> events.Started:
    return begun(
        RunConfig(env="Pendulum-v1", steps=1000),
        Tunables(),
        env_steps,
        run=Path(path),
        engine=Text("MKL"),
    )


def tuned(step: int, new: float, *, scheduled: bool) -> events.Tuned:
    return events.Tuned(
        env_steps=step,
        updates=step,
        revision=1,
        tunables=Tunables(tau=new),
        changes=(("tau", 0.005, new),),
        scheduled=scheduled,
    )


def test_what_a_run_reports_before_it_starts_belongs_to_it_and_to_no_other(qapp) -> None:
    model = RunModel()
    model.handle(started("first"))
    model.handle(events.Noted(env_steps=40, event="pause", time="t"))
    model.handle(events.Failed(message="over", details=""))
    model.handle(events.Noted(env_steps=30, event="branch", time="t"))
    assert [entry.event for entry in model.record.journal.entries] == ["pause"]
    model.handle(started("second", env_steps=30))
    assert [entry.event for entry in model.record.journal.entries] == ["branch"]
    # One that never started leaves nothing behind for the next.
    model.handle(events.Failed(message="over", details=""))
    model.handle(events.Noted(env_steps=30, event="resume", time="t"))
    model.handle(events.Failed(message="locked", details="", request=True))
    model.handle(started("third"))
    assert model.record.journal.entries == []


def test_a_resumed_run_keeps_what_came_before_its_step_and_marks_a_change_once(qapp) -> None:
    model = RunModel()
    model.handle(started("run"))
    model.handle(tuned(100, 0.01, scheduled=False))
    model.handle(events.Noted(env_steps=200, event="pause", time="t"))
    model.handle(events.Failed(message="killed", details=""))
    model.handle(started("run", env_steps=100))
    assert model.record.journal.entries == []
    # The journal names it, and the run makes it again.
    model.handle(tuned(100, 0.01, scheduled=True))
    (marker,) = model.record.journal.markers
    assert (marker.env_steps, marker.scheduled) == (100, True)
    assert model.record.outcome is None


def test_a_resumed_run_is_judged_once_and_by_the_users_rules(
    qapp, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, judged, judged_by = RunModel(), [], Health.judged_by

    def count(health: Health, rules: tuple[Rule, ...], *rows: Doubles) -> Health:
        judged.append(rules)
        return judged_by(health, rules, *rows)

    monkeypatch.setattr(Health, "judged_by", count)
    own = with_thresholds(load_rules(), {load_rules()[0].name: 0.125})
    model.use_rules(own)
    model.handle(started("run"))
    model.handle(started("run", env_steps=100))
    assert judged == [own]
    model.handle(started("another"))
    assert model.record.rules == own
    assert judged == [own]


def test_a_change_that_a_schedule_makes_is_no_part_of_a_drag(qapp) -> None:
    model = RunModel()
    model.handle(started("run"))
    model.handle(tuned(10, 0.01, scheduled=True))
    model.handle(tuned(20, 0.02, scheduled=True))
    model.handle(tuned(30, 0.03, scheduled=False))
    assert [marker.scheduled for marker in model.record.journal.markers] == [True, True, False]


def test_a_change_is_logged_when_no_later_one_counts_as_part_of_it(qapp) -> None:
    model, said = RunModel(), []
    model.message_added.connect(lambda level, text: said.append((level, str(text))))
    model.handle(started("run"))
    model.handle(tuned(10, 0.01, scheduled=False))
    logs = model.findChild(QTimer)
    assert logs.isActive()
    assert logs.interval() >= 1000 * SAME_GESTURE_S
    logs.timeout.emit()
    assert said[1:] == [("change", "step 10: τ 0.005 → 0.01")]


def test_a_change_just_before_the_end_is_logged_before_it(qapp) -> None:
    model, said = RunModel(), []
    model.message_added.connect(lambda level, _: said.append(level))
    model.handle(started("run"))
    model.handle(tuned(10, 0.01, scheduled=False))
    model.handle(ended())
    assert said[1:] == ["change", "info"]


def test_the_log_says_in_short_what_was_done(qapp) -> None:
    model, said = RunModel(), []
    model.message_added.connect(lambda _, text: said.append(str(text)))
    model.handle(started("run"))
    model.handle(events.Saved(env_steps=50, path=Path("run/last.safetensors")))
    model.handle(events.Preparing(message=Text("Compiling.")))
    model.handle(events.Failed(message=Text("It broke."), details=""))
    model.handle(started("run", env_steps=50))
    assert said == [
        "Started Pendulum-v1 · run on cpu × 1, computed with MKL",
        "step 50: Saved last.safetensors",
        "Compiling.",
        "It broke.",
        "Resumed Pendulum-v1 · run at step 50 on cpu × 1, computed with MKL",
    ]


def test_a_run_that_is_stopped_before_it_starts_is_no_error(qapp) -> None:
    model, said = RunModel(), []
    model.message_added.connect(lambda level, _: said.append(level))
    model.handle(events.Preparing(message=Text("Compiling.")))
    assert model.preparing == "Compiling."
    model.handle(events.Failed(message=Text("Stopped."), details="", cancelled=True))
    assert said == ["info", "info"]
    assert model.preparing == ""
    assert model.record.outcome is None


def test_episodes_of_several_environments_that_end_in_one_step_are_all_read_again(
    qapp, runs_dir: Path
) -> None:
    outcome, told = run(runs_dir, steps=120, num_envs=3)
    live, read = folded(told.events), read_history(outcome.run, lambda: False).record
    one, other = (record.curves.episodes for record in (live, read))
    assert len(set(one.column("env_steps"))) < len(one)
    np.testing.assert_allclose(one.rows(), other.rows(), rtol=1e-5)


def test_a_run_read_with_own_thresholds_is_judged_by_them_before_it_is_shown(
    qapp, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = with_thresholds(load_rules(), dict.fromkeys((r.name for r in load_rules()), 1.5))
    model = RunModel()
    model.use_rules(rules)
    history = read_history(make_run(runs_dir).path, lambda: False, rules)
    assert history.record.rules == rules
    # The window's thread has nothing left to judge.
    monkeypatch.delattr(RunRecord, "_judge")
    model.open(history)
    assert model.record is history.record
