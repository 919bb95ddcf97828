"""The list of all runs: found, opened, named, deleted, and never in the way."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLineEdit, QMessageBox
from pytestqt.modeltest import ModelTester

from studio import runs_dialogs, runs_scan
from studio.recorded import read_recorded
from studio.runs_browser import RunsBrowser
from studio.runs_cells import Column, started
from studio.runs_dialogs import SettingsDialog, move_to_trash
from studio.runs_model import ROW
from studio.runs_scan import Found, RunRow, scan
from studio.theme import load_theme
from td3core.lock import RunLock
from td3core.runs import RunDirectory
from tests.studio.fake_runs import make_run, return_at
from tests.studio.test_main_job import click, start_pendulum

DISPLAY = Qt.ItemDataRole.DisplayRole


@pytest.fixture
def browser(qtbot, runs_dir: Path) -> Iterator[RunsBrowser]:
    """The list alone, shown, over a folder that may not exist yet."""
    made = RunsBrowser(runs_dir, load_theme("light"))
    qtbot.addWidget(made)
    made.resize(1300, 400)
    made.show()
    yield made
    made.close_errands()


def read_again(qtbot, browser: RunsBrowser) -> None:
    """Look at the folder, and wait until all of it is listed."""
    browser.refresh()
    qtbot.waitUntil(lambda: not browser._scanner.busy, timeout=20_000)


def listed(browser: RunsBrowser, column: Column = Column.RUN) -> list[str]:
    """Return a column as it is seen, top to bottom, branches indented by two spaces."""

    def below(parent: QModelIndex, depth: int) -> list[str]:
        found = []
        for number in range(browser.proxy.rowCount(parent)):
            cell = browser.proxy.index(number, column, parent)
            found.append("  " * depth + str(cell.data(DISPLAY)))
            found += below(browser.proxy.index(number, 0, parent), depth + 1)
        return found

    return below(QModelIndex(), 0)


def choose(browser: RunsBrowser, *runs: RunDirectory) -> None:
    browser.view.choose([run.path for run in runs], runs[-1].path)


def action(browser: RunsBrowser, name: str) -> QAction:
    found = browser.findChild(QAction, f"runs_{name}")
    assert found is not None
    return found


# What is listed ---------------------------------------------------------------------------------


def test_an_empty_folder_is_met_with_a_friendly_sentence(qtbot, browser, runs_dir) -> None:
    read_again(qtbot, browser)
    assert browser._place.hint.isVisible()
    assert "Press Train" in browser._place.hint.text()
    make_run(runs_dir)
    read_again(qtbot, browser)
    assert browser.view.isVisible()


def test_a_row_tells_what_a_person_asks_of_a_run(qtbot, browser, runs_dir) -> None:
    parent = make_run(runs_dir, seed=3, created="2026-01-02T10:00:00+00:00")
    make_run(
        runs_dir,
        "BipedalWalker-v3",
        steps=4000,
        seed=7,
        first=500,
        reached=1500,
        stopped="user",
        preset="BipedalWalker-v3 + DDPG",
        name="slow start",
        parent=(parent.path.name, 500),
        created="2026-01-03T10:00:00+00:00",
    )
    read_again(qtbot, browser)
    row = {column: listed(browser, column)[1].strip() for column in Column}
    assert row[Column.RUN] == "slow start"
    assert row[Column.STATE] == "stopped"
    last, best = return_at(1500) + 50, max(return_at(s) + 50 for s in range(750, 1501, 250))
    assert (row[Column.LAST], row[Column.BEST]) == (f"{last:,.1f}", f"{best:,.1f}")
    assert (row[Column.STEPS], row[Column.DURATION]) == ("1.5k of 4k", "10 s")
    assert row[Column.STARTED] == started("2026-01-03T10:00:00+00:00")
    assert (row[Column.SEED], row[Column.PRESET]) == ("7", "BipedalWalker-v3 + DDPG")
    assert row[Column.PARENT] == f"{parent.path.name} at 500"


def test_states_are_told_apart(qtbot, browser, runs_dir) -> None:
    for day, stopped in enumerate(("finished", "user", "failed", None), start=1):
        make_run(runs_dir, stopped=stopped, created=f"2026-01-0{day}T10:00:00+00:00")
    living = make_run(runs_dir, stopped=None, created="2026-01-05T10:00:00+00:00")
    damaged = make_run(runs_dir, created="2025-01-05T10:00:00+00:00")
    (damaged.path / "run.toml").write_text("[[[")
    with RunLock(living.path):
        read_again(qtbot, browser)
        found = listed(browser, Column.STATE)
        assert sorted(found) == sorted(
            ["running", "interrupted", "failed", "stopped", "finished", "damaged"]
        )
    read_again(qtbot, browser)
    assert "running" not in listed(browser, Column.STATE)
    assert listed(browser, Column.STATE).count("interrupted") == 2


def test_branches_stand_below_their_parent_only_while_sorted_by_start(
    qtbot, browser, runs_dir
) -> None:
    day = "2026-01-0{}T10:00:00+00:00".format
    first = make_run(runs_dir, seed=1, name="a", created=day(1))
    child = make_run(runs_dir, name="b", parent=(first.path.name, 500), created=day(3))
    make_run(runs_dir, name="c", parent=(child.path.name, 700), created=day(4))
    make_run(runs_dir, seed=2, name="d", created=day(2))
    make_run(runs_dir, name="e", parent=("no-longer-there", 10), created=day(5))
    read_again(qtbot, browser)
    names = [text.split(" · ")[0] for text in listed(browser)]
    assert names == ["e", "d", "a", "  b", "    c"]
    browser.view.sortByColumn(Column.RUN, Qt.SortOrder.DescendingOrder)
    assert [text.split(" · ")[0] for text in listed(browser)] == list("edcba")


def test_runs_that_claim_to_descend_from_one_another_are_all_listed(
    qtbot, browser, runs_dir
) -> None:
    one, two = make_run(runs_dir, name="one"), make_run(runs_dir, name="two")
    for run, other in ((one, two), (two, one)):
        with (run.path / "run.toml").open("a") as file:
            file.write(f'\n[parent]\nrun = "{other.path.name}"\ncheckpoint = "c"\nenv_steps = 5\n')
    read_again(qtbot, browser)
    assert len(listed(browser)) == 2
    assert read_recorded(one.path, 20, lambda: False).past is not None


@pytest.mark.parametrize("column", [Column.LAST, Column.STEPS, Column.SEED, Column.DURATION])
def test_numbers_sort_as_numbers_and_what_is_missing_comes_last(
    qtbot, browser, runs_dir, column
) -> None:
    for seed, reached in ((2, 900), (10, 1500), (9, 300)):
        make_run(runs_dir, seed=seed, steps=2000, reached=reached)
    make_run(runs_dir, steps=2000, reached=0)
    read_again(qtbot, browser)
    browser.view.sortByColumn(column, Qt.SortOrder.DescendingOrder)
    seeds = [10, 2, 9, 0] if column is not Column.SEED else [10, 9, 2, 0]
    assert [int(text) for text in listed(browser, Column.SEED)] == seeds
    browser.view.sortByColumn(column, Qt.SortOrder.AscendingOrder)
    assert [int(text) for text in listed(browser, Column.SEED)] == seeds[::-1]


@pytest.mark.parametrize(
    ("words", "count"),
    [("walker", 2), ("WALKER failed", 1), ("seed(", 1), ("no such words", 0), ("", 3)],
)
def test_a_search_keeps_the_runs_with_every_word(qtbot, browser, runs_dir, words, count) -> None:
    make_run(runs_dir, "BipedalWalker-v3")
    make_run(runs_dir, "BipedalWalker-v3", stopped="failed")
    make_run(runs_dir, "Pendulum-v1", note="odd seed( in\nhere")
    read_again(qtbot, browser)
    qtbot.keyClicks(browser.search, words)
    assert len(listed(browser)) == count
    assert browser._place.hint.isVisible() == (count == 0)


def test_a_branch_that_is_found_is_shown_below_its_parent(qtbot, browser, runs_dir) -> None:
    parent = make_run(runs_dir, name="first")
    make_run(runs_dir, name="needle", parent=(parent.path.name, 10))
    read_again(qtbot, browser)
    browser.search.setText("needle")
    assert [text.split(" · ")[0] for text in listed(browser)] == ["first", "  needle"]


def test_qt_finds_the_model_sound_while_it_changes(qtbot, browser, runs_dir) -> None:
    first = make_run(runs_dir)
    for model in (browser.model, browser.proxy):
        ModelTester(model).check(model)
    child = make_run(runs_dir, parent=(first.path.name, 10))
    for seed in (1, 2):
        make_run(runs_dir, seed=seed, parent=(child.path.name, 10))
        make_run(runs_dir, seed=seed)
    read_again(qtbot, browser)
    for model in (browser.model, browser.proxy):
        ModelTester(model).check(model)
    choose(browser, child)
    shutil.rmtree(first.path)
    read_again(qtbot, browser)
    assert [row.path for row in browser.view.chosen()] == [child.path]
    ModelTester(browser.model).check(browser.model)


# Reading ----------------------------------------------------------------------------------------


def test_only_runs_that_changed_are_read_again(runs_dir, monkeypatch) -> None:
    runs = [make_run(runs_dir, seed=seed) for seed in range(4)]
    read: list[Path] = []
    real = runs_scan.summarise
    monkeypatch.setattr(runs_scan, "summarise", lambda run: read.append(run.path) or real(run))

    def look(known: dict[Path, RunRow]) -> list[Found]:
        read.clear()
        said: list[Found] = []
        scan(runs_dir, known, said.append, lambda: False)
        return said

    known = {row.path: row for found in look({}) for row in found.rows}
    assert (len(known), len(read)) == (4, 4)
    (nothing,) = look(known)
    assert (nothing.rows, nothing.gone, read) == ((), frozenset(), [])
    runs[1].write_ending({"stopped": "failed"})
    shutil.rmtree(runs[2].path)
    (found,) = look(known)
    assert read == [runs[1].path]
    assert [row.path for row in found.rows] == [runs[1].path]
    assert found.gone == {runs[2].path}


def test_that_a_run_was_killed_is_seen_though_it_changes_no_file(runs_dir) -> None:
    run = make_run(runs_dir, stopped=None)
    held = RunLock(run.path)
    held.acquire()
    said: list[Found] = []
    scan(runs_dir, {}, said.append, lambda: False)
    known = {row.path: row for row in said[-1].rows}
    # As the system does for a process that is killed: the lock goes, its record stays.
    held._lock.release()
    scan(runs_dir, known, said.append, lambda: False)
    (row,) = said[-1].rows
    assert row.summary is not None
    assert row.summary.state == "interrupted"


def test_a_thousand_runs_are_listed_while_the_window_goes_on(qtbot, browser, runs_dir) -> None:
    first = make_run(runs_dir)
    for number in range(1, 1000):
        folder = runs_dir / f"run-{number}"
        shutil.copytree(first.path, folder)
    turns: list[int] = []
    browser.model.modelReset.connect(lambda: turns.append(len(browser.model.rows)))
    read_again(qtbot, browser)
    assert len(browser.model.rows) == 1000
    assert browser.proxy.rowCount() == 1000
    # In parts, the first of them soon; and few, for each lays out the list anew.
    assert 1 < len(turns) < 15
    assert turns[0] < 500


def test_a_choice_and_a_fold_outlast_a_change_of_the_list(qtbot, browser, runs_dir) -> None:
    day = "2026-01-0{}T10:00:00+00:00".format
    first = make_run(runs_dir, created=day(1))
    make_run(runs_dir, parent=(first.path.name, 10), created=day(2))
    other = make_run(runs_dir, created=day(3))
    read_again(qtbot, browser)
    assert browser.view.isExpanded(browser.proxy.find(first.path))
    browser.view.collapse(browser.proxy.find(first.path))
    choose(browser, other, first)
    make_run(runs_dir, created=day(4))
    read_again(qtbot, browser)
    assert {row.path for row in browser.view.chosen()} == {first.path, other.path}
    assert not browser.view.isExpanded(browser.proxy.find(first.path))


# Names, notes, deletion -------------------------------------------------------------------------


def test_f2_names_a_run_and_its_folder_keeps_its_name(qtbot, browser, runs_dir) -> None:
    run = make_run(runs_dir)
    read_again(qtbot, browser)
    choose(browser, run)
    action(browser, "rename").trigger()
    editor = browser.view.findChild(QLineEdit)
    assert editor is not None
    # What a scan finds meanwhile does not take the editor away.
    late = make_run(runs_dir, seed=5)
    read_again(qtbot, browser)
    qtbot.keyClicks(editor, "the good one")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: run.notes().name == "the good one")
    qtbot.waitUntil(lambda: late.path in browser.model.rows)
    assert "the good one" in listed(browser)
    assert run.path.is_dir()


def test_a_note_is_kept_searched_and_shown_in_the_tooltip(
    qtbot, browser, runs_dir, monkeypatch
) -> None:
    run = make_run(runs_dir, name="mine")
    read_again(qtbot, browser)
    choose(browser, run)
    monkeypatch.setattr("studio.runs_deeds.ask_note", lambda *_: "with <b>care</b>")
    action(browser, "note").trigger()
    assert (run.notes().name, run.notes().note) == ("mine", "with <b>care</b>")
    cell = browser.proxy.find(run.path)
    assert "with &lt;b&gt;care" in cell.data(Qt.ItemDataRole.ToolTipRole)
    monkeypatch.setattr("studio.runs_deeds.ask_note", lambda *_: None)
    action(browser, "note").trigger()
    assert run.notes().note == "with <b>care</b>"


def test_a_name_that_cannot_be_written_is_refused(qtbot, browser, runs_dir, monkeypatch) -> None:
    run = make_run(runs_dir)
    read_again(qtbot, browser)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("studio.runs_model.write_notes", full)
    with qtbot.waitSignal(browser.refused) as said:
        assert not browser.model.setData(browser.model.find(run.path), "new")
    assert "No space left" in said.args[0]
    assert listed(browser) == ["Pendulum-v1"]


@pytest.fixture
def answers(monkeypatch) -> list[bool]:
    """Answer questions about deleting in this order; the questions are kept in ``asked``."""
    given: list[bool] = []
    monkeypatch.setattr(runs_dialogs, "_agreed", lambda *_: given.pop(0))
    return given


def test_a_deleted_run_goes_to_the_trash_once_a_person_agrees(
    qtbot, browser, runs_dir, answers, monkeypatch
) -> None:
    run, other = make_run(runs_dir), make_run(runs_dir, seed=1)
    thrown: list[Path] = []
    monkeypatch.setattr(
        runs_dialogs, "move_to_trash", lambda path: thrown.append(path) or not shutil.rmtree(path)
    )
    read_again(qtbot, browser)
    choose(browser, run)
    answers[:] = [False, True]
    action(browser, "delete").trigger()
    assert (thrown, run.path.exists()) == ([], True)
    action(browser, "delete").trigger()
    assert thrown == [run.path]
    qtbot.waitUntil(lambda: list(browser.model.rows) == [other.path])


def test_without_a_trash_deleting_for_good_is_asked_about_again(
    qtbot, browser, runs_dir, answers, monkeypatch
) -> None:
    run = make_run(runs_dir)
    monkeypatch.setattr(runs_dialogs, "move_to_trash", lambda path: False)
    read_again(qtbot, browser)
    choose(browser, run)
    answers[:] = [True, False, True, True]
    action(browser, "delete").trigger()
    assert run.path.exists()
    action(browser, "delete").trigger()
    assert not run.path.exists()
    assert answers == []


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
    assert "is running and cannot be deleted" in said.args[0]
    with RunLock(run.path):
        read_again(qtbot, browser)
        assert not action(browser, "delete").isEnabled()
        assert "running" in action(browser, "delete").toolTip()
    assert run.path.exists()


def test_keys_open_and_delete_in_the_list(qtbot, window, find, monkeypatch) -> None:
    run = make_run(window.runs._runs_dir)
    click(qtbot, find("runs_button"))
    qtbot.waitUntil(lambda: run.path in window.runs.model.rows)
    choose(window.runs, run)
    deleted: list[object] = []
    monkeypatch.setattr(
        "studio.runs_deeds.delete_runs", lambda _, paths: deleted.append(paths) or []
    )
    window.activateWindow()
    find("runs_view").setFocus()
    qtbot.waitUntil(lambda: find("runs_view").hasFocus())
    qtbot.keyClick(find("runs_view"), Qt.Key.Key_Delete)
    assert deleted == [[run.path]]
    qtbot.keyClick(find("runs_view"), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.model.run == run.path)


# Opening ----------------------------------------------------------------------------------------


def show_runs(qtbot, window, find, *runs: RunDirectory) -> None:
    click(qtbot, find("runs_button"))
    qtbot.waitUntil(lambda: all(run.path in window.runs.model.rows for run in runs))
    choose(window.runs, runs[0])


def test_an_opened_run_is_shown_as_it_was(qtbot, window, find, tmp_path) -> None:
    run = make_run(tmp_path / "runs", reached=1000, name="remembered")
    for step, new, second in ((300, 0.01, 0), (350, 0.02, 1), (600, 0.5, 30)):
        entry = {"step": step, "field": "tau", "old": 0.005, "new": new}
        run.note(entry | {"time": f"2026-01-01T00:00:{second:02d}+00:00"})
    run.note({"step": 7, "field": "nonsense", "old": 1, "new": 2})
    run.best.write_bytes(b"no agent")
    show_runs(qtbot, window, find, run)
    click(qtbot, find("runs_open_button"))
    qtbot.waitUntil(lambda: window.model.run == run.path)
    model = window.model
    assert len(model.training) == 20
    assert model.training.column("q1")[-1] == -50
    episodes = model.episodes
    np.testing.assert_allclose(
        episodes.column("return"), [return_at(s) for s in range(100, 1001, 100)]
    )
    assert episodes.column("smoothed")[2] == pytest.approx(episodes.column("return")[:3].mean())
    assert list(model.evaluations.column("env_steps")) == [250, 500, 750, 1000]
    assert [(m.env_steps, m.text) for m in model.markers] == [
        (350, "τ 0.005 → 0.02"),
        (600, "τ 0.005 → 0.5"),
    ]
    assert "remembered" in find("run_title").text()
    assert "finished" in find("status_state").text()
    assert "step 1,000" in find("status_numbers").text()
    assert find("checkpoint_list").currentIndex().data(Qt.ItemDataRole.UserRole) == run.best
    curve = window.plots.card("plot_q").plot.getPlotItem().listDataItems()[0]
    qtbot.waitUntil(lambda: curve.xData is not None and curve.xData[-1] == 1000)


def test_what_a_run_was_branched_from_is_drawn_dimmed_up_to_the_branch(
    qtbot, window, find, tmp_path
) -> None:
    runs = tmp_path / "runs"
    oldest = make_run(runs, reached=1000)
    parent = make_run(runs, first=400, reached=900, parent=(oldest.path.name, 400))
    run = make_run(runs, first=700, reached=1000, parent=(parent.path.name, 700))
    show_runs(qtbot, window, find, run)
    action(window.runs, "open").trigger()
    qtbot.waitUntil(lambda: window.model.run == run.path)
    past = window.model.past
    assert past is not None
    assert list(past.training.column("env_steps")) == list(range(50, 701, 50))
    assert window.model.training.column("env_steps")[0] == 750
    items = window.plots.card("plot_q").plot.getPlotItem().listDataItems()
    own, dim = items[0], items[3]
    qtbot.waitUntil(lambda: dim.xData is not None and len(dim.xData) == 14)
    assert (own.xData[0], dim.xData[-1]) == (750, 700)
    assert dim.opts["pen"].color().rgb() == own.opts["pen"].color().rgb()
    assert dim.opts["pen"].color().alpha() < own.opts["pen"].color().alpha()
    # The next run that is shown has no such past.
    choose(window.runs, oldest)
    action(window.runs, "open").trigger()
    qtbot.waitUntil(lambda: window.model.run == oldest.path)
    qtbot.waitUntil(lambda: dim.xData is None or not len(dim.xData))


def test_steps_that_a_resumed_run_took_again_are_shown_once(runs_dir) -> None:
    run = make_run(runs_dir, reached=500)
    with (run.path / "training.csv").open("a") as file:
        file.writelines(f"{step},{step},9,9,9,1,1,1,9\n" for step in range(400, 601, 50))
    found = read_recorded(run.path, 20, lambda: False)
    steps, q1 = (found.curves.training.column(name) for name in ("env_steps", "q1"))
    assert list(steps) == list(range(50, 601, 50))
    assert list(q1[steps >= 400]) == [9.0] * 5
    assert (q1[steps < 400] < 0).all()


def test_a_million_rows_are_read_beside_the_window(qtbot, window, find, tmp_path) -> None:
    run = make_run(tmp_path / "runs", steps=10_000_000)
    with (run.path / "training.csv").open("a") as file:
        file.writelines(f"{s},{s},1,2,3,4,5,6,7\n" for s in range(1050, 10_001_000, 50))
    show_runs(qtbot, window, find, run)
    action(window.runs, "open").trigger()
    assert find("runs_reading").isVisible()
    qtbot.waitUntil(lambda: window.model.run == run.path, timeout=30_000)
    assert window.model.training.rows_each > 1
    qtbot.waitUntil(lambda: not find("runs_reading").isVisible())


def test_opening_a_damaged_run_says_what_is_wrong(qtbot, window, find, tmp_path) -> None:
    run = make_run(tmp_path / "runs")
    (run.path / "run.toml").write_text("[[[")
    show_runs(qtbot, window, find, run)
    action(window.runs, "open").trigger()
    assert window.banner.isVisible()
    assert "run.toml cannot be read" in window.banner.text
    assert not action(window.runs, "rename").isEnabled()


def test_a_run_deleted_since_it_was_listed_is_refused(qtbot, window, find, tmp_path) -> None:
    run = make_run(tmp_path / "runs")
    show_runs(qtbot, window, find, run)
    shutil.rmtree(run.path)
    action(window.runs, "open").trigger()
    qtbot.waitUntil(lambda: window.banner.isVisible())
    assert "is not a run" in window.banner.text


def test_nothing_can_be_opened_while_a_run_trains(qtbot, window, find, tmp_path) -> None:
    run = make_run(tmp_path / "runs")
    show_runs(qtbot, window, find, run)
    listener = start_pendulum(qtbot, window, find)
    assert not action(window.runs, "open").isEnabled()
    assert "training" in action(window.runs, "open").toolTip()
    qtbot.waitUntil(lambda: "running" in listed(window.runs, Column.STATE), timeout=10_000)
    window.runs.view.doubleClicked.emit(window.runs.proxy.find(run.path))
    assert not find("runs_reading").isVisible()
    click(qtbot, find("stop_button"))
    qtbot.waitUntil(lambda: action(window.runs, "open").isEnabled(), timeout=20_000)
    assert window.model.run == listener.said[-1].run
    qtbot.waitUntil(lambda: "running" not in listed(window.runs, Column.STATE), timeout=10_000)


def test_the_settings_of_a_run_are_shown_with_those_changed_in_bold(
    qtbot, browser, runs_dir
) -> None:
    run = make_run(runs_dir, tau=0.25)
    read_again(qtbot, browser)
    choose(browser, run)
    action(browser, "settings").trigger()
    dialog = browser.findChild(SettingsDialog)
    rows = [dialog.tree.topLevelItem(i) for i in range(dialog.tree.topLevelItemCount())]
    shown = {row.text(0): (row.text(1), row.text(2), row.font(0).bold()) for row in rows}
    assert shown["Target averaging"] == ("0.25", "0.005", True)
    assert shown["Discount"] == ("0.99", "0.99", False)
    dialog.close()


# Resuming, and what was interrupted -------------------------------------------------------------


def test_resuming_is_offered_only_once_it_is_available(qtbot, browser, runs_dir) -> None:
    cut = make_run(runs_dir, stopped=None)
    done = make_run(runs_dir, seed=1)
    read_again(qtbot, browser)
    choose(browser, cut)
    button = browser.deeds._buttons["resume"]
    assert not action(browser, "resume").isVisible()
    assert not button.isVisible()
    browser.set_resume_available(True)
    assert button.isVisible()
    with qtbot.waitSignal(browser.deeds.resume_requested) as said:
        action(browser, "resume").trigger()
    assert said.args == [cut.path]
    # One that has come to its end can go on, too: with more steps.
    choose(browser, done)
    assert action(browser, "resume").isEnabled()
    with RunLock(done.path):
        read_again(qtbot, browser)
        assert not action(browser, "resume").isEnabled()
        assert "running" in action(browser, "resume").toolTip()
    qtbot.waitUntil(lambda: not browser._scanner.busy)


def test_interrupted_runs_are_pointed_out_once_and_the_message_leads_to_them(
    qtbot, window, find, tmp_path
) -> None:
    for seed in range(2):
        make_run(tmp_path / "runs", seed=seed, stopped=None)
    window.runs.set_resume_available(True)
    qtbot.waitUntil(lambda: window.banner.isVisible())
    assert "2 runs were interrupted" in window.banner.text
    assert not find("runs_view").isVisible()
    window.banner.link_activated.emit("runs")
    assert find("runs_view").isVisible()
    window.banner.hide()
    read_again(qtbot, window.runs)
    assert not window.banner.isVisible()


def test_nothing_is_said_of_interrupted_runs_while_they_cannot_be_resumed(
    qtbot, browser, runs_dir
) -> None:
    said: list[int] = []
    browser.interrupted_found.connect(said.append)
    make_run(runs_dir, stopped=None)
    read_again(qtbot, browser)
    assert not said
    assert len(browser.model.interrupted()) == 1


def test_the_runs_panel_comes_and_goes_and_is_in_the_menu(qtbot, window, find) -> None:
    assert "Runs" in [entry.text() for entry in window.panels.menu.actions()]
    assert not find("runs_view").isVisible()
    click(qtbot, find("runs_button"))
    assert find("runs_browser").isVisible()
    click(qtbot, find("runs_button"))
    assert not find("runs_browser").isVisible()
    qtbot.waitUntil(lambda: not window.runs._scanner.busy)


def test_everything_in_the_list_has_a_name_for_those_who_do_not_see_it(browser) -> None:
    assert browser.view.accessibleName()
    assert browser.search.accessibleName()
    assert all(button.accessibleName() for button in browser.deeds.buttons)
    assert browser.proxy.index(0, 0).data(ROW) is None
