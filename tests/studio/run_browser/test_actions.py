"""Runs are renamed, annotated and deleted from the list."""

import shutil
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu, QMessageBox

from studio.run_browser import deletion, dialogs
from studio.run_browser.deletion import RunDeletion, move_to_trash
from td3core.runs.directory import RunDirectory
from td3core.runs.lock import RunLock
from tests.studio.fake_runs import make_run
from tests.studio.launch.test_resume import open_run
from tests.studio.run_browser.runs_list import (
    action,
    choose,
    listed,
    read_again,
    wait_until_read,
)
from tests.studio.window.test_main_job import click
from tests.td3core.importers.test_curves import imported_monitor


def test_f2_names_a_run_and_its_folder_keeps_its_name(qtbot, browser, runs_dir) -> None:
    run = make_run(runs_dir)
    read_again(qtbot, browser)
    choose(browser, run)
    action(browser, "rename").trigger()
    editor = browser.view.findChild(QLineEdit)
    assert editor is not None
    # Findings of a scan do not close the editor.
    late = make_run(runs_dir, seed=5)
    read_again(qtbot, browser)
    qtbot.keyClicks(editor, "the good one")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: run.label().name == "the good one")
    qtbot.waitUntil(lambda: late.path in browser.model.rows)
    qtbot.waitUntil(lambda: "the good one" in listed(browser))
    assert run.path.is_dir()


def test_a_note_is_kept_searched_and_shown_in_the_tooltip(
    qtbot, browser, runs_dir, monkeypatch
) -> None:
    run = make_run(runs_dir, name="mine")
    read_again(qtbot, browser)
    choose(browser, run)
    monkeypatch.setattr("studio.run_browser.actions.ask_note", lambda *_: "with <b>care</b>")
    with qtbot.waitSignal(browser.run_actions.labelled):
        action(browser, "note").trigger()
    assert (run.label().name, run.label().note) == ("mine", "with <b>care</b>")
    cell = browser.proxy.find(run.path)
    assert "with &lt;b&gt;care" in cell.data(Qt.ItemDataRole.ToolTipRole)
    monkeypatch.setattr("studio.run_browser.actions.ask_note", lambda *_: None)
    action(browser, "note").trigger()
    assert run.label().note == "with <b>care</b>"


def test_a_name_that_cannot_be_written_is_refused(qtbot, browser, runs_dir, monkeypatch) -> None:
    run = make_run(runs_dir, name="my walk")
    read_again(qtbot, browser)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("studio.run_browser.actions.write_label", full)
    with qtbot.waitSignal(browser.refused) as said:
        browser.model.setData(browser.model.find(run.path), "new")
    reason = "No space left on device"
    title = "Pendulum-v1 · my walk"
    assert str(said.args[0]) == f"Name and note of {title} cannot be written: {reason}."
    assert listed(browser) == ["my walk"]


@pytest.fixture
def answers(monkeypatch) -> list[bool]:
    """Answer questions about deleting in this order; the questions are kept in ``asked``."""
    given: list[bool] = []
    monkeypatch.setattr(dialogs, "choose", lambda *_, **__: "delete" if given.pop(0) else "")
    return given


def test_a_deleted_run_goes_to_the_trash_once_a_person_agrees(
    qtbot, browser, runs_dir, answers, monkeypatch
) -> None:
    run, other = make_run(runs_dir), make_run(runs_dir, seed=1)
    thrown: list[Path] = []
    monkeypatch.setattr(
        deletion, "move_to_trash", lambda path: thrown.append(path) or not shutil.rmtree(path)
    )
    read_again(qtbot, browser)
    choose(browser, run)
    answers[:] = [False, True]
    action(browser, "delete").trigger()
    qtbot.waitUntil(lambda: len(answers) == 1)
    assert (thrown, run.path.exists()) == ([], True)
    with qtbot.waitSignal(browser.run_actions.deleted):
        action(browser, "delete").trigger()
    assert thrown == [run.path]
    qtbot.waitUntil(lambda: list(browser.model.rows) == [other.path])


@pytest.mark.shared_window
def test_a_run_deleted_while_it_is_shown_offers_neither_agents_nor_resume(
    qtbot, window, find, runs_dir, answers, monkeypatch
) -> None:
    run, other = make_run(runs_dir), make_run(runs_dir, seed=1)
    saved = run.step_checkpoint(500)
    saved.parent.mkdir(exist_ok=True)
    saved.touch()
    monkeypatch.setattr(deletion, "move_to_trash", lambda path: not shutil.rmtree(path))
    open_run(qtbot, window, run)
    agents, timeline = window.replay.checkpoints, window.replay.timeline
    qtbot.waitUntil(lambda: [point.path for point in timeline.points] == [saved])
    for doomed, kept in ((other, True), (run, False)):
        choose(window.runs, doomed)
        answers[:] = [True]
        with qtbot.waitSignal(window.runs.run_actions.deleted):
            action(window.runs, "delete").trigger()
        window.runs.view.clearSelection()
        assert agents.model.find(saved).isValid() is kept
        assert find("resume_button").isEnabled() is kept
    qtbot.waitUntil(lambda: list(timeline.points) == [])
    # Its curves stay.
    assert len(window.model.record.curves.training) > 0
    wait_until_read(qtbot, window.runs)


def test_without_a_trash_deleting_for_good_is_asked_about_again(
    qtbot, browser, runs_dir, answers, monkeypatch
) -> None:
    run = make_run(runs_dir)
    monkeypatch.setattr(deletion, "move_to_trash", lambda path: False)
    read_again(qtbot, browser)
    choose(browser, run)
    answers[:] = [True, False, True, True]
    with qtbot.waitSignal(browser.run_actions.deleted):
        action(browser, "delete").trigger()
    assert (len(answers), run.path.exists()) == (2, True)
    with qtbot.waitSignal(browser.run_actions.deleted):
        action(browser, "delete").trigger()
    assert (answers, run.path.exists()) == ([], False)


def test_the_question_names_the_run_and_its_safe_answer_is_the_default(
    qtbot, browser, runs_dir, monkeypatch
) -> None:
    run = make_run(runs_dir)
    asked: list[str] = []

    def press_enter(box: QMessageBox) -> None:
        asked.append(box.text())
        assert box.defaultButton() is box.button(QMessageBox.StandardButton.Cancel)

    monkeypatch.setattr(QMessageBox, "exec", press_enter)
    read_again(qtbot, browser)
    choose(browser, run)
    action(browser, "delete").trigger()
    qtbot.waitUntil(lambda: bool(asked))
    assert run.path.name in asked[0]
    assert run.path.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the trash cannot be set aside")
def test_the_systems_trash_takes_a_folder_and_nothing_is_lost_without_one(
    tmp_path, monkeypatch
) -> None:
    run = make_run(tmp_path / "runs")
    data = tmp_path / "data"
    monkeypatch.setenv("XDG_DATA_HOME", str(data))
    assert not move_to_trash(run.path)
    assert run.path.exists()
    data.mkdir()
    assert move_to_trash(run.path)
    assert (data / "Trash" / "files" / run.path.name / "run.toml").exists()
    assert not run.path.exists()
    assert not move_to_trash(tmp_path / "nothing")


def test_a_running_run_cannot_be_deleted(qtbot, browser, runs_dir, answers) -> None:
    run = make_run(runs_dir, stopped=None)
    read_again(qtbot, browser)
    choose(browser, run)
    # It has begun to run elsewhere since it was last looked at.
    with RunLock(run.path), qtbot.waitSignal(browser.refused) as said:
        action(browser, "delete").trigger()
    assert "is running and cannot be deleted" in str(said.args[0])
    with RunLock(run.path):
        read_again(qtbot, browser)
        assert not action(browser, "delete").isEnabled()
        assert "running" in action(browser, "delete").toolTip()
    assert run.path.exists()


def test_an_action_that_is_not_available_says_what_it_does_and_why_not_also_in_the_menu(
    qtbot, browser, runs_dir
) -> None:
    make_run(runs_dir)
    read_again(qtbot, browser)
    browser.view.clearSelection()
    rename = action(browser, "rename")
    tip = "Name it; its folder keeps its own name (F2)"
    assert (rename.isEnabled(), rename.toolTip()) == (
        False,
        f"{tip}. Not now: choose one run first",
    )
    at = QPoint(5, 5)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, browser.view.mapToGlobal(at))
    QApplication.sendEvent(browser.view.viewport(), event)
    menu = browser.view.findChild(QMenu)
    assert menu.isVisible()
    assert menu.toolTipsVisible()
    # It has no button that could say so.
    assert action(browser, "verify") in menu.actions()
    assert "Not now: choose one run first" in action(browser, "verify").toolTip()
    menu.close()
    choose(browser, next(iter(browser.model.rows.values())))
    assert (rename.isEnabled(), rename.toolTip()) == (True, tip)


@pytest.mark.parametrize("trash", [True, False], ids=["trash", "no trash"])
def test_a_run_that_begins_to_run_during_the_question_is_not_deleted(
    qtbot, browser, runs_dir, monkeypatch, trash
) -> None:
    run, other = make_run(runs_dir), make_run(runs_dir, seed=1)
    monkeypatch.setattr(deletion, "move_to_trash", lambda path: trash and not shutil.rmtree(path))
    lock = RunLock(run.path)

    def resume_and_agree(*_: object) -> bool:
        lock.release()
        lock.acquire()
        return True

    last = "ask_to_trash" if trash else "ask_to_delete"
    monkeypatch.setattr(deletion, "ask_to_trash", lambda *_: True)
    monkeypatch.setattr(deletion, last, resume_and_agree)
    read_again(qtbot, browser)
    choose(browser, run, other)
    refused: list[object] = []
    browser.refused.connect(refused.append)
    with qtbot.waitSignal(browser.run_actions.deleted):
        action(browser, "delete").trigger()
    title = browser.model.rows[run.path].title
    assert list(map(str, refused)) == [f"{title} is running and cannot be deleted."]
    assert (run.path.exists(), other.path.exists()) == (True, False)
    lock.release()


@pytest.mark.slow
def test_keys_open_and_delete_in_the_list(qtbot, window, find, runs_dir, monkeypatch) -> None:
    run = make_run(runs_dir)
    click(qtbot, find("runs_button"))
    qtbot.waitUntil(lambda: run.path in window.runs.model.rows)
    choose(window.runs, run)
    deleted: list[Path] = []
    monkeypatch.setattr(
        RunDeletion, "start", lambda _, runs: deleted.extend(each.path for each in runs)
    )
    window.activateWindow()
    find("runs_view").setFocus()
    qtbot.waitUntil(lambda: find("runs_view").hasFocus())
    qtbot.keyClick(find("runs_view"), Qt.Key.Key_Delete)
    assert deleted == [run.path]
    qtbot.keyClick(find("runs_view"), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.model.record.run == run.path)


def test_all_runs_chosen_are_reported(qtbot, browser, runs_dir) -> None:
    runs = [make_run(runs_dir, seed=seed) for seed in range(2)]
    read_again(qtbot, browser)
    assert not action(browser, "report").isEnabled()
    choose(browser, *runs)
    with qtbot.waitSignal(browser.run_actions.report_requested) as asked:
        action(browser, "report").trigger()
    assert sorted(asked.args[0]) == sorted(run.path for run in runs)


@pytest.mark.slow
def test_imported_curves_cannot_be_resumed_and_the_tooltip_says_why(
    qtbot, window, find, runs_dir, tmp_path
) -> None:
    curves = RunDirectory.open(imported_monitor(tmp_path, runs_dir))
    open_run(qtbot, window, curves)
    for name in ("resume", "verify", "film", "command"):
        assert not action(window.runs, name).isEnabled(), name
        assert "only curves" in action(window.runs, name).toolTip()
    assert not find("resume_button").isEnabled()
    refused: list[object] = []
    window.launcher.refused.connect(refused.append)
    window.launcher.resume(curves.path)
    qtbot.waitUntil(lambda: bool(refused))
    assert "only curves" in str(refused[0])
