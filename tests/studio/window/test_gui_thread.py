"""The window's own thread never reads the runs: its data arrive by events and signals."""

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QMessageBox, QPushButton, QWidget

from studio.launch.branch_dialog import BranchDialog
from studio.launch.dialogs import MoreStepsDialog, RepeatDialog
from studio.run_browser import deletion
from studio.run_browser.dialogs import SettingsDialog
from studio.session.controller import SessionState
from studio.window.main_window import MainWindow
from td3core.protocol import events
from td3core.runs.directory import RunDirectory
from tests.studio.disk_guard import DiskGuard
from tests.studio.fake_runs import make_run
from tests.studio.launch.test_resume import open_run, train_before, wait_until_idle
from tests.studio.run_browser.runs_list import action, choose
from tests.studio.window.test_main_job import Listener, click, drag
from tests.support.parts import part_of

TEXT = Qt.ItemDataRole.DisplayRole


@pytest.fixture
def guard(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DiskGuard]:
    made = DiskGuard(runs_dir, monkeypatch)
    yield made
    # After the window was closed, which must not read either.
    assert made.found == []


@pytest.fixture
def before(runs_dir: Path) -> list[RunDirectory]:
    """Runs from before the window: stopped, finished, and one with many checkpoints."""
    stopped = train_before(runs_dir, checkpoint_interval=500)
    stopped.note({"step": 300, "field": "tau", "old": 0.005, "new": 0.02, "time": ""})
    finished = train_before(runs_dir, steps=300, seed=1)
    return [stopped, finished, make_run(runs_dir, seed=2)]


@pytest.fixture
def watched(
    guard: DiskGuard, before: list[RunDirectory], request: pytest.FixtureRequest
) -> MainWindow:
    """A window that was watched while it was built, and is watched until it is closed."""
    guard.watch()
    window: MainWindow = request.getfixturevalue("window")
    return window


@pytest.fixture
def look(watched: MainWindow) -> Callable[[str], QWidget]:
    return partial(part_of, watched)


def test_the_guard_notices_whatever_the_main_thread_does(guard, runs_dir) -> None:
    runs_dir.mkdir()
    file = runs_dir / "file"
    file.write_text("x")
    guard.watch()
    for number, act in enumerate(
        (
            file.read_text,
            file.exists,
            file.stat,
            file.is_file,
            lambda: list(runs_dir.iterdir()),
            lambda: list(runs_dir.glob("*")),
            lambda: list(os.walk(runs_dir)),
            lambda: shutil.disk_usage(runs_dir),
            lambda: file.write_text("y"),
            lambda: file.rename(runs_dir / "other"),
            lambda: shutil.rmtree(runs_dir),
        )
    ):
        seen = len(guard.found)
        act()
        assert len(guard.found) > seen, number
    assert "test_gui_thread.py" in guard.found[0]
    guard.found.clear()
    with guard.paused():
        assert not file.exists()
    thread = threading.Thread(target=file.exists)
    thread.start()
    thread.join()
    assert not Path("elsewhere").exists()
    assert guard.found == []


@pytest.mark.slow
def test_a_run_is_trained_tuned_paused_saved_and_stopped(qtbot, guard, watched, look) -> None:
    listener = Listener(watched)
    look("env_combo").setCurrentText("Pendulum-v1")
    values = {"checkpoint_interval": 200, "eval_interval": 400, "keep_every": 2, "keep_best": 1}
    for name, value in {**values, "eval_episodes": 1, "learning_starts": 100}.items():
        look(f"field_{name}").setValue(value)
    watched.replay.controls.follow_check.setChecked(True)
    click(qtbot, look("train_button"))
    qtbot.waitUntil(lambda: len(listener.all(events.Evaluated)) > 1, timeout=60_000)
    drag(qtbot, look("slider_tau"), 0.9)
    qtbot.waitUntil(lambda: bool(listener.all(events.Tuned)), timeout=20_000)
    click(qtbot, look("pause_button"))
    qtbot.waitUntil(lambda: watched.controller.state is SessionState.PAUSED, timeout=20_000)
    click(qtbot, look("save_button"))
    click(qtbot, look("pause_button"))
    qtbot.waitUntil(lambda: watched.controller.state is SessionState.RUNNING, timeout=20_000)
    click(qtbot, look("stop_button"))
    wait_until_idle(qtbot, watched)
    done = [entry.event for entry in watched.model.record.journal.entries]
    assert (done[:2], done[-1]) == (["pause", "save"], "stop")
    rows = look("checkpoint_list").model()
    heading = rows.index(0, 0)
    qtbot.waitUntil(lambda: "on disk" in heading.data(TEXT), timeout=20_000)
    assert guard.found == []


@pytest.mark.slow
def test_a_run_is_opened_and_its_agents_and_those_of_an_earlier_run_are_listed(
    qtbot, guard, watched, look, before
) -> None:
    stopped, finished, _ = before
    open_run(qtbot, watched, stopped)
    rows = watched.replay.checkpoints.model
    qtbot.waitUntil(lambda: rows.find(stopped.last).isValid(), timeout=20_000)
    tip = Qt.ItemDataRole.ToolTipRole
    qtbot.waitUntil(lambda: "seed 0" in rows.find(stopped.last).data(tip), timeout=20_000)
    source = look("checkpoint_source")
    qtbot.mouseClick(source, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(source.view().isVisible, timeout=20_000)
    at = source.findData(str(finished.path))
    source.setCurrentIndex(at)
    source.activated.emit(at)
    source.hidePopup()
    qtbot.waitUntil(lambda: rows.find(finished.last).isValid(), timeout=20_000)
    assert guard.found == []


@pytest.mark.slow
def test_a_run_is_resumed_and_a_finished_one_asked_for_more_steps(
    qtbot, guard, watched, look, before, monkeypatch
) -> None:
    stopped, finished, _ = before
    open_run(qtbot, watched, stopped)
    listener = Listener(watched)
    click(qtbot, look("resume_button"))
    qtbot.waitUntil(lambda: bool(listener.all(events.Ended)), timeout=60_000)
    wait_until_idle(qtbot, watched)

    def answer(dialog: MoreStepsDialog) -> int:
        dialog.findChild(QWidget, "more_steps_spin").setValue(500)
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr(MoreStepsDialog, "exec", answer)
    watched.launcher.resume(finished.path)
    qtbot.waitUntil(lambda: len(listener.all(events.Ended)) == 2, timeout=60_000)
    wait_until_idle(qtbot, watched)
    assert listener.all(events.Ended)[1].env_steps == 500
    assert guard.found == []


@pytest.mark.slow
def test_a_branch_and_a_repetition_are_started(qtbot, guard, watched, before, monkeypatch) -> None:
    stopped, _, _ = before
    listener = Listener(watched)

    def answer(dialog: BranchDialog) -> int:
        dialog.findChild(QWidget, "branch_steps").setValue(1600)
        dialog.findChild(QWidget, "branch_train_button").click()
        return dialog.result()

    monkeypatch.setattr(BranchDialog, "exec", answer)
    monkeypatch.setattr(RepeatDialog, "exec", lambda _: QDialog.DialogCode.Accepted)
    open_run(qtbot, watched, stopped)
    rows = watched.replay.checkpoints
    where = rows.view.visualRect(rows.model.find(stopped.last)).center()
    rows.view.customContextMenuRequested.emit(where)
    qtbot.waitUntil(rows.menu.isVisible)
    rows.menu.hide()
    rows.branch_action.trigger()
    qtbot.waitUntil(lambda: bool(listener.all(events.Ended)), timeout=60_000)
    wait_until_idle(qtbot, watched)
    assert len(watched.model.record.parent_curves.training) > 0
    watched.launcher.repeat_changes(stopped.path)
    qtbot.waitUntil(lambda: len(listener.all(events.Started)) == 2, timeout=60_000)
    watched.controller.stop()
    wait_until_idle(qtbot, watched)
    assert guard.found == []


@pytest.mark.slow
def test_a_run_is_named_noted_shown_with_its_settings_and_deleted(
    qtbot, guard, watched, look, before, monkeypatch
) -> None:
    run = before[2]
    click(qtbot, look("runs_button"))
    runs = watched.runs
    qtbot.waitUntil(lambda: run.path in runs.model.rows, timeout=20_000)
    choose(runs, run)
    with qtbot.waitSignal(runs.model.renamed):
        runs.model.setData(runs.model.find(run.path), "a name")
    monkeypatch.setattr("studio.run_browser.actions.ask_note", lambda *_: "a note")
    with qtbot.waitSignal(runs.run_actions.labelled):
        action(runs, "note").trigger()
    action(runs, "settings").trigger()
    qtbot.waitUntil(lambda: runs.findChild(SettingsDialog) is not None)
    runs.findChild(SettingsDialog).close()
    monkeypatch.setattr(deletion, "move_to_trash", lambda _: False)
    asked: list[str] = []

    def agree(box: QMessageBox) -> None:
        asked.append(box.text())
        box.findChild(QPushButton, "delete_question_delete").click()

    monkeypatch.setattr(QMessageBox, "exec", agree)
    action(runs, "delete").trigger()
    qtbot.waitUntil(lambda: run.path not in runs.model.rows, timeout=20_000)
    assert len(asked) == 2
    assert guard.found == []
    with guard.paused():
        assert not run.path.exists()


@pytest.mark.slow
def test_the_queue_changes_and_a_run_of_a_group_is_opened(qtbot, watched, before, look) -> None:
    click(qtbot, look("queue_button"))
    click(qtbot, look("queue_button"))
    first, second = (run.id for run in watched.many.queue.runs)
    watched.many.queue.move(second, -1)
    watched.many.queue.remove(first)
    watched.presenter.open_path(before[0].path)
    qtbot.waitUntil(lambda: watched.model.record.run == before[0].path, timeout=20_000)
