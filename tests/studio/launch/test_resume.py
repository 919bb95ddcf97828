"""A run goes on in the window where it was left, with its curves and its settings."""

import json
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QCheckBox, QDialog, QDoubleSpinBox, QLabel

from studio.launch.dialogs import (
    ChangesDialog,
    MoreStepsDialog,
    RepeatDialog,
    with_visible_changes,
)
from studio.session.controller import SessionState
from td3core import checkpoint
from td3core.config import Tunables
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Failed, Started, Tuned
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import changes_of
from td3core.runs.new_run import default_runs_dir
from td3core.runs.tables import read_table
from td3core.training.launch import train
from tests.studio.fake_runs import make_run
from tests.studio.plots.layers import ticks_of
from tests.studio.window.test_main_job import Listener, click
from tests.support.marks import slow
from tests.td3core.helpers import tiny

PENDULUM: dict[str, Any] = {
    "env": "Pendulum-v1",
    "steps": 3000,
    "learning_starts": 100,
    "checkpoint_interval": 1000,
}


def train_before(runs_dir: Path, stop_at: int = 1200, **values: Any) -> RunDirectory:
    """Return a run stopped at a step; trained once, then copied."""
    done = trained(stop_at, tuple(sorted(values.items())))
    return RunDirectory.open(shutil.copytree(done, runs_dir / done.name))


@cache
def trained(stop_at: int, values: tuple[tuple[str, Any], ...]) -> Path:
    """Train in the background of the window, once for all tests of this process."""
    config, tunables = tiny(**{**PENDULUM, **dict(values)})
    control = Control()

    def react(event: Any) -> None:
        if getattr(event, "env_steps", 0) >= stop_at:
            control.stop()

    outcome = train(config, tunables, control, react, default_runs_dir())
    assert isinstance(outcome, Ended)
    return outcome.run


def wait_until_idle(qtbot, window) -> None:
    qtbot.waitUntil(lambda: window.controller.state is SessionState.IDLE, timeout=60_000)


def open_run(qtbot, window, run: RunDirectory) -> None:
    """Open a run from the list, as a double click does."""
    window.show_runs()
    window.runs.refresh()
    qtbot.waitUntil(lambda: window.runs.proxy.find(run.path).isValid(), timeout=20_000)
    window.runs.view.choose([run.path], run.path)
    with qtbot.waitSignal(window.model.run_opened, timeout=20_000):
        window.runs.view.doubleClicked.emit(window.runs.proxy.find(run.path))


def listed(qtbot, window, run: RunDirectory, name: str) -> QAction:
    """Select a run in the list and return the available actions."""
    window.show_runs()
    window.runs.refresh()
    qtbot.waitUntil(lambda: window.runs.proxy.find(run.path).isValid(), timeout=20_000)
    window.runs.view.choose([run.path], run.path)
    return window.findChild(QAction, f"runs_{name}")


@pytest.mark.slow
def test_an_opened_run_goes_on_with_its_curves_settings_and_seed(qtbot, window, find, runs_dir):
    run = train_before(runs_dir, tau=0.0125, critic_lr=1e-3, seed=7)
    reached = checkpoint.read_header(run.last).counters.env_steps
    assert not find("resume_button").isEnabled()
    open_run(qtbot, window, run)
    before = window.model.record.curves.training.rows()
    assert before[-1, 0] <= reached
    assert find("resume_button").isEnabled()
    listener = Listener(window)
    click(qtbot, find("resume_button"))
    qtbot.waitUntil(lambda: bool(listener.all(Started)), timeout=60_000)
    started = listener.all(Started)[0]
    assert (started.run, started.env_steps) == (run.path, reached)
    # Form and sliders are those of the run.
    assert find("env_combo").currentText() == "Pendulum-v1"
    assert (find("seed_spin").value(), find("steps_spin").value()) == (7, 3000)
    assert find("field_actor_hidden").text() == "8, 8"
    assert window.live.tunables() == started.tunables
    assert find("spin_tau").value() == 0.0125
    # The curves were kept, and continue.
    assert np.array_equal(
        window.model.record.curves.training.rows()[: len(before)], before, equal_nan=True
    )
    wait_until_idle(qtbot, window)
    assert listener.said[-1].stopped == "finished"
    steps = window.model.record.curves.training.column("env_steps")
    assert (np.diff(steps) > 0).all()
    assert steps[-1] == 3000
    assert (
        len(window.model.record.curves.episodes) == len(read_table(run.path / "episodes.csv")) == 15
    )
    assert find("status_progress").value() == find("status_progress").maximum()


@pytest.mark.slow
def test_what_was_drawn_equals_what_would_have_been_drawn_at_one_go(
    qtbot, window, find, tmp_path, runs_dir
):
    whole = train_before(tmp_path / "whole", stop_at=10**9)
    run = train_before(runs_dir)
    with qtbot.waitSignal(window.model.run_ended, timeout=60_000):
        window.launcher.resume(run.path)
    wait_until_idle(qtbot, window)
    drawn = window.model.record.curves.episodes.rows()[:, :2]
    rows = read_table(whole.path / "episodes.csv")
    expected = [(float(row["env_steps"]), float(row["return"])) for row in rows]
    assert np.allclose(drawn, expected)
    returns = [value for _, value in expected]
    smoothed = [np.mean(returns[max(0, at - 19) : at + 1]) for at in range(len(returns))]
    assert np.allclose(window.model.record.curves.episodes.column("smoothed"), smoothed)


@pytest.mark.slow
def test_rows_after_the_checkpoint_that_a_crash_left_are_dropped_and_that_is_said(
    qtbot, window, find, runs_dir
):
    run = train_before(runs_dir, stop_at=1200)
    reached = checkpoint.read_header(run.last).counters.env_steps
    table = run.path / "episodes.csv"
    line = table.read_text().splitlines()[-1].split(",")
    line[1] = str(reached + 400)
    table.write_text(table.read_text() + ",".join(line) + "\n")
    open_run(qtbot, window, run)
    assert window.model.record.curves.episodes.column("env_steps")[-1] == reached + 400
    listener = Listener(window)
    window.launcher.resume(run.path)
    qtbot.waitUntil(lambda: bool(listener.all(Started)), timeout=60_000)
    wait_until_idle(qtbot, window)
    steps = window.model.record.curves.episodes.column("env_steps")
    assert list(steps) == [200.0 * n for n in range(1, 16)]
    said = f"Repeating 400 steps recorded after the checkpoint at step {reached:,}"
    assert said in find("log_view").toPlainText()


@pytest.mark.slow
def test_a_finished_run_is_asked_for_more_steps(qtbot, window, find, runs_dir, monkeypatch):
    run = train_before(runs_dir, steps=600)
    asked = []

    def answer(dialog: MoreStepsDialog) -> int:
        asked.append(dialog.steps)
        dialog.findChild(QDoubleSpinBox, "more_steps_spin").setValue(900)
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr(MoreStepsDialog, "exec", answer)
    action = listed(qtbot, window, run, "resume")
    assert action.isEnabled()
    listener = Listener(window)
    action.trigger()
    qtbot.waitUntil(lambda: bool(listener.all(Ended)), timeout=60_000)
    assert asked == [1200]
    assert listener.said[-1].env_steps == 900
    assert RunDirectory.open(run.path).config.steps == 900
    wait_until_idle(qtbot, window)


@pytest.mark.slow
def test_what_will_differ_is_said_in_banner_and_log(qtbot, window, find, runs_dir):
    run = train_before(runs_dir, keep_replay=False)
    window.launcher.resume(run.path)
    qtbot.waitUntil(lambda: window.banner.isVisible(), timeout=60_000)
    assert "replay buffer could not be restored" in window.banner.text
    assert "replay buffer could not be restored" in find("log_view").toPlainText()
    wait_until_idle(qtbot, window)


@pytest.mark.slow
def test_a_run_that_cannot_go_on_says_why_and_stays_on_show(qtbot, window, find, runs_dir):
    run = train_before(runs_dir)
    for path in run.saved():
        path.write_bytes(b"damaged")
    open_run(qtbot, window, run)
    listener = Listener(window)
    click(qtbot, find("resume_button"))
    qtbot.waitUntil(lambda: bool(listener.all(Failed)), timeout=60_000)
    assert "cannot be resumed" in window.banner.text
    wait_until_idle(qtbot, window)
    assert window.model.record.run == run.path


@pytest.fixture
def interrupted(runs_dir: Path) -> RunDirectory:
    """A run that was killed before the window opened."""
    run = train_before(runs_dir)
    (run.path / "ending.json").unlink()
    return run


def test_interrupted_runs_are_pointed_out_at_the_start(qtbot, interrupted, window):
    qtbot.waitUntil(lambda: window.banner.isVisible(), timeout=20_000)
    assert "One run was interrupted" in window.banner.text


@pytest.mark.parametrize("keep", [True, *slow(False)])
@pytest.mark.slow
def test_a_live_setting_changed_on_a_stopped_run_is_offered_as_a_change_at_its_step(
    qtbot, window, find, runs_dir, monkeypatch, keep: bool
):
    run = train_before(runs_dir, stop_at=200, steps=600, checkpoint_interval=200)
    reached = checkpoint.read_header(run.last).counters.env_steps
    open_run(qtbot, window, run)
    find("spin_tau").setValue(0.02)
    asked: list[str] = []

    def answer(dialog: ChangesDialog) -> QDialog.DialogCode:
        asked.extend(label.text().replace("\u200b", "") for label in dialog.findChildren(QLabel))
        check = dialog.findChild(QCheckBox, "resume_changes_check")
        assert check.text() == f"Make this live change at step {reached:,}"
        check.setChecked(keep)
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr(ChangesDialog, "exec", answer)
    listener = Listener(window)
    click(qtbot, find("resume_button"))
    qtbot.waitUntil(lambda: bool(listener.all(Ended)), timeout=60_000)
    wait_until_idle(qtbot, window)
    assert "you have changed Target averaging from 0.005 to 0.02." in asked[0]
    made = [(each.env_steps, each.changes) for each in listener.all(Tuned)]
    assert made == ([(reached, (("tau", 0.005, 0.02),))] if keep else [])
    assert find("spin_tau").value() == (0.02 if keep else 0.005)


@pytest.mark.shared_window
def test_a_run_that_starts_during_the_question_is_not_replaced_by_the_resumed_one(
    qtbot, window, find, runs_dir, monkeypatch
):
    busy, resumed = [False], []
    monkeypatch.setattr(type(window.controller), "busy", property(lambda _: busy[0]))
    window.launcher.resuming.connect(resumed.append)

    def begin_meanwhile(_) -> int:
        busy[0] = True
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr(ChangesDialog, "exec", begin_meanwhile)
    run = make_run(runs_dir, reached=500, stopped=None)
    open_run(qtbot, window, run)
    find("spin_gamma").setValue(0.5)
    window.launcher.resume(run.path)
    qtbot.waitUntil(lambda: busy[0], timeout=20_000)
    assert window.banner.text == "A run is training. Wait for its end, or stop it first."
    assert resumed == []
    window.launcher.resuming.disconnect(resumed.append)


@pytest.mark.slow
def test_nothing_is_asked_about_live_settings_of_another_environment(
    qtbot, window, find, runs_dir, monkeypatch
):
    run = train_before(runs_dir, stop_at=200, steps=600, checkpoint_interval=200)
    open_run(qtbot, window, run)
    find("env_combo").setCurrentText("BipedalWalker-v3")
    monkeypatch.setattr(ChangesDialog, "exec", lambda _: pytest.fail("asked"))
    listener = Listener(window)
    click(qtbot, find("resume_button"))
    qtbot.waitUntil(lambda: bool(listener.all(Ended)), timeout=60_000)
    wait_until_idle(qtbot, window)


def test_values_that_a_box_only_rounds_are_no_changes():
    last = Tunables(actor_lr=0.000123456789)
    assert with_visible_changes(last, replace(last, actor_lr=0.000123457)) is None
    tau = with_visible_changes(last, replace(last, actor_lr=0.000123457, tau=0.5))
    assert tau == replace(last, tau=0.5)


@pytest.mark.slow
def test_a_run_that_is_opened_has_no_seeds_of_a_group(qtbot, window, find, runs_dir):
    run = train_before(runs_dir, steps=300)
    find("seeds_edit").setText("0-4")
    open_run(qtbot, window, run)
    assert find("seeds_edit").text() == ""
    assert find("seed_spin").isEnabled()


@pytest.mark.slow
def test_pauses_and_saves_can_be_read_under_the_mouse(qtbot, window, find, runs_dir):
    run = train_before(runs_dir, stop_at=1000)
    open_run(qtbot, window, run)
    card = window.plots.card("plot_q")
    reached = checkpoint.read_header(run.last).counters.env_steps
    qtbot.waitUntil(lambda: not window.plots.redraw_pending, timeout=5_000)
    qtbot.waitUntil(lambda: ticks_of(card, Qt.PenStyle.SolidLine) == [reached], timeout=5_000)
    card.hovered.emit(QPointF(float(reached), 0.0))
    assert f"stopped at step {reached:,}" in card.readout
    card.hovered.emit(QPointF(reached / 2, 0.0))
    assert "stopped" not in card.readout
    listener = Listener(window)
    click(qtbot, find("resume_button"))
    qtbot.waitUntil(lambda: bool(listener.all(Started)), timeout=60_000)
    window.controller.save()
    wait_until_idle(qtbot, window)
    done = [entry.event for entry in window.model.record.journal.entries]
    assert done == ["stop", "resume", "save"]
    written = [json.loads(line)["event"] for line in run.journal_file.read_text().splitlines()]
    assert done == written


@pytest.mark.slow
def test_the_live_changes_of_a_run_are_repeated_at_their_steps(
    qtbot, window, find, runs_dir, monkeypatch
):
    run = train_before(runs_dir, steps=900)
    run.note({"step": 300, "field": "tau", "old": 0.005, "new": 0.02, "time": ""})
    run.note({"step": 600, "field": "policy_delay", "old": 2, "new": 3, "time": ""})
    monkeypatch.setattr(RepeatDialog, "exec", lambda _: QDialog.DialogCode.Accepted)
    listener = Listener(window)
    listed(qtbot, window, run, "repeat").trigger()
    qtbot.waitUntil(lambda: bool(listener.all(Ended)), timeout=60_000)
    wait_until_idle(qtbot, window)
    done = [(each.env_steps, *each.changes[0]) for each in listener.all(Tuned)]
    assert done == [(300, "tau", 0.005, 0.02), (600, "policy_delay", 2, 3)]
    again = RunDirectory.open(window.model.record.run)
    assert again.path != run.path
    assert again.config == run.config
    assert changes_of(again.journal()) == changes_of(run.journal())
    assert (find("spin_tau").value(), find("spin_policy_delay").value()) == (0.02, 3)
    assert [marker.scheduled for marker in window.model.record.journal.markers] == [True, True]
    qtbot.waitUntil(lambda: "(scheduled)" in find("log_view").toPlainText(), timeout=5_000)


@pytest.mark.shared_window
def test_a_run_without_live_changes_has_none_to_repeat(qtbot, window, runs_dir):
    run = train_before(runs_dir, steps=300)
    # What a resume with more steps notes is none.
    run.note({"step": 200, "field": "tau", "old": 0.005, "new": 0.005, "origin": "length"})
    listed(qtbot, window, run, "repeat").trigger()
    qtbot.waitUntil(lambda: "No live setting was changed" in window.banner.text)
    assert not window.controller.busy


@pytest.mark.shared_window
def test_a_journal_that_is_a_link_is_not_repeated(qtbot, window, runs_dir, tmp_path):
    run = train_before(runs_dir, steps=300)
    theirs = tmp_path / "theirs.jsonl"
    theirs.write_text('{"step": 100, "field": "tau", "old": 0.005, "new": 0.02, "time": ""}\n')
    run.journal_file.unlink(missing_ok=True)
    run.journal_file.symlink_to(theirs)
    listed(qtbot, window, run, "repeat").trigger()
    qtbot.waitUntil(lambda: "journal.jsonl is a symbolic link" in window.banner.text)
    assert not window.controller.busy


@pytest.mark.shared_window
@pytest.mark.parametrize("reached", [0, 500])
def test_a_dialog_for_more_steps_asks_for_more_than_there_are(window, runs_dir, reached):
    from td3core.runs.listing import summarise

    run = train_before(runs_dir, steps=600)
    dialog = MoreStepsDialog(summarise(run), window)
    dialog.findChild(QDoubleSpinBox, "more_steps_spin").setValue(reached)
    assert dialog.steps == 601
    dialog.deleteLater()
