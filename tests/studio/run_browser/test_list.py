"""Contents, order and reading of the list of runs."""

import shutil
from pathlib import Path

import pytest
from filelock import FileLock
from PySide6.QtCore import QItemSelectionModel, Qt, QTimer
from PySide6.QtWidgets import QLabel
from pytestqt.modeltest import ModelTester

from studio.formatting import format_return
from studio.run_browser import scanner
from studio.run_browser.browser import RunBrowser
from studio.run_browser.columns import RunColumn, started
from studio.run_browser.rows import Found, RunRow
from studio.run_browser.scanner import scan
from studio.run_browser.tree_model import LINES
from studio.session.history import read_history
from td3core.runs.lock import RunLock
from td3core.runs.metadata import RunLabel
from td3core.runs.naming import description_of
from tests.studio.fake_runs import make_run, return_at
from tests.studio.run_browser.runs_list import choose, listed, read_again, wait_until_read


def test_an_empty_folder_is_met_with_a_friendly_sentence(qtbot, browser, runs_dir) -> None:
    read_again(qtbot, browser)
    assert browser.findChild(QLabel, "runs_hint").isVisible()
    assert "Press Train" in browser.findChild(QLabel, "runs_hint").text()
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
    row = {column: listed(browser, column)[1].strip() for column in RunColumn}
    assert row[RunColumn.RUN] == "slow start"
    assert row[RunColumn.STATE] == "stopped"
    last, best = return_at(1500) + 50, max(return_at(s) + 50 for s in range(750, 1501, 250))
    assert (row[RunColumn.LAST], row[RunColumn.BEST]) == (format_return(last), format_return(best))
    assert (row[RunColumn.STEPS], row[RunColumn.DURATION]) == ("1.5k of 4k", "10 s")
    assert row[RunColumn.STARTED] == started("2026-01-03T10:00:00+00:00")
    assert (row[RunColumn.SEED], row[RunColumn.PRESET]) == ("7", "BipedalWalker-v3 + DDPG")
    assert row[RunColumn.PARENT] == f"{description_of(parent)} at 500"


def test_every_text_of_a_row_is_one_line(qtbot, browser, runs_dir) -> None:
    make_run(runs_dir, name="first\nsecond", created="2026-01-03T10:00:00+00:00")
    make_run(runs_dir, env="A\nB-v0", preset="P\nQ", created="2026-01-02T10:00:00+00:00")
    damaged = make_run(runs_dir, created="2026-01-01T10:00:00+00:00").path
    damaged = damaged.rename(runs_dir / "folder\nname")
    (damaged / "run.toml").unlink()
    (damaged / "run.toml").symlink_to("nowhere")
    read_again(qtbot, browser)
    assert set(listed(browser)) == {"first second", "seed 0 · P Q", "folder name"}
    assert "P Q" in listed(browser, RunColumn.PRESET)
    for number in range(3):
        name, below = browser.proxy.index(number, 0).data(LINES)
        assert "\n" not in name + below


def test_states_are_told_apart(qtbot, browser, runs_dir) -> None:
    for day, stopped in enumerate(("finished", "user", "failed", None), start=1):
        make_run(runs_dir, stopped=stopped, created=f"2026-01-0{day}T10:00:00+00:00")
    living = make_run(runs_dir, stopped=None, created="2026-01-05T10:00:00+00:00")
    damaged = make_run(runs_dir, created="2025-01-05T10:00:00+00:00")
    (damaged.path / "run.toml").write_text("[[[")
    with RunLock(living.path):
        read_again(qtbot, browser)
        found = listed(browser, RunColumn.STATE)
        assert sorted(found) == sorted(
            ["running", "interrupted", "failed", "stopped", "finished", "damaged"]
        )
    read_again(qtbot, browser)
    assert "running" not in listed(browser, RunColumn.STATE)
    assert listed(browser, RunColumn.STATE).count("interrupted") == 2


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
    browser.view.sortByColumn(RunColumn.RUN, Qt.SortOrder.DescendingOrder)
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
    history = read_history(one.path, lambda: False)
    assert len(history.record.parent_curves.training) == 0


@pytest.mark.parametrize(
    "column", [RunColumn.LAST, RunColumn.STEPS, RunColumn.SEED, RunColumn.DURATION]
)
def test_numbers_sort_as_numbers_and_what_is_missing_comes_last(
    qtbot, browser, runs_dir, column
) -> None:
    for seed, reached in ((2, 900), (10, 1500), (9, 300)):
        make_run(runs_dir, seed=seed, steps=2000, reached=reached)
    make_run(runs_dir, steps=2000, reached=0)
    read_again(qtbot, browser)
    browser.view.sortByColumn(column, Qt.SortOrder.DescendingOrder)
    seeds = [10, 2, 9, 0] if column is not RunColumn.SEED else [10, 9, 2, 0]
    assert [int(text) for text in listed(browser, RunColumn.SEED)] == seeds
    browser.view.sortByColumn(column, Qt.SortOrder.AscendingOrder)
    assert [int(text) for text in listed(browser, RunColumn.SEED)] == seeds[::-1]


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
    assert browser.findChild(QLabel, "runs_hint").isVisible() == (count == 0)


@pytest.mark.parametrize("sign", ["-", "−"])
def test_a_search_finds_a_negative_return_as_it_is_shown_and_as_it_is_typed(
    qtbot, browser, runs_dir, sign
) -> None:
    make_run(runs_dir, steps=4000, first=500, reached=1500)
    make_run(runs_dir, steps=2000, reached=0)
    read_again(qtbot, browser)
    (shown,) = {text.strip() for text in listed(browser, RunColumn.LAST)} - {""}
    assert shown == format_return(return_at(1500) + 50)
    browser.search.setText(shown.replace("−", sign))
    assert len(listed(browser)) == 1


def test_a_branch_that_is_found_is_shown_below_its_parent(qtbot, browser, runs_dir) -> None:
    parent = make_run(runs_dir, name="first")
    make_run(runs_dir, name="needle", parent=(parent.path.name, 10))
    read_again(qtbot, browser)
    browser.search.setText("needle")
    assert [text.split(" · ")[0] for text in listed(browser)] == ["first", "  needle"]


def test_a_search_finds_a_branch_by_the_new_name_of_its_parent(qtbot, browser, runs_dir) -> None:
    parent = make_run(runs_dir, name="first")
    make_run(runs_dir, name="child", parent=(parent.path.name, 10))
    read_again(qtbot, browser)
    browser.search.setText("needle")
    assert listed(browser) == []
    browser.model.show_label(parent.path, RunLabel(name="needle"))
    assert [text.split(" · ")[0] for text in listed(browser)] == ["needle", "  child"]
    assert browser.proxy.count_found() == 2


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


def test_only_runs_that_changed_are_read_again(runs_dir, monkeypatch) -> None:
    runs = [make_run(runs_dir, seed=seed) for seed in range(4)]
    read: list[Path] = []
    real = scanner.summarise
    monkeypatch.setattr(scanner, "summarise", lambda run, _: read.append(run.path) or real(run))

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


def test_that_a_run_was_killed_is_seen_though_it_changes_no_file(root, runs_dir) -> None:
    run = make_run(runs_dir, stopped=None)
    with RunLock(run.path):
        record = (run.path / "lock.json").read_bytes()
    # As the system does for a process that is killed: the lock goes, its record stays.
    (run.path / "lock.json").write_bytes(record)
    held = FileLock(run.path / "lock")
    held.acquire()
    said: list[Found] = []
    scan(runs_dir, {}, said.append, lambda: False)
    known = {row.path: row for row in said[-1].rows}
    assert next(iter(known.values())).summary.state == "running"
    held.release()
    scan(runs_dir, known, said.append, lambda: False)
    (row,) = said[-1].rows
    assert row.summary is not None
    assert row.summary.state == "interrupted"


def rescan_timer(browser: RunBrowser) -> QTimer:
    found = browser.findChild(QTimer, "rescan_timer")
    assert found is not None
    return found


def test_a_list_in_sight_follows_a_run_that_another_process_trains(
    qtbot, browser, runs_dir
) -> None:
    run = make_run(runs_dir, stopped=None)
    rescan_timer(browser).setInterval(10)
    with RunLock(run.path):
        read_again(qtbot, browser)
        assert listed(browser, RunColumn.STATE) == ["running"]
    qtbot.waitUntil(lambda: listed(browser, RunColumn.STATE) == ["interrupted"], timeout=20_000)
    # Once nothing runs, nothing is read again.
    wait_until_read(qtbot, browser)
    assert not rescan_timer(browser).isActive()


def test_a_list_out_of_sight_does_not_follow_a_run(qtbot, browser, runs_dir) -> None:
    run = make_run(runs_dir, stopped=None)
    timer = rescan_timer(browser)
    with RunLock(run.path):
        read_again(qtbot, browser)
        assert timer.isActive()
        browser.hide()
        timer.setInterval(10)
        qtbot.waitUntil(lambda: not timer.isActive())
        assert not browser.reading
        browser.show()
        qtbot.waitUntil(timer.isActive, timeout=20_000)


def test_a_list_in_sight_finds_runs_that_start_while_others_are_expected(
    qtbot, browser, runs_dir
) -> None:
    read_again(qtbot, browser)
    browser.set_expecting(True)
    qtbot.waitUntil(rescan_timer(browser).isActive, timeout=20_000)
    rescan_timer(browser).setInterval(10)
    run = make_run(runs_dir)
    qtbot.waitUntil(lambda: run.path in browser.model.rows, timeout=20_000)
    browser.set_expecting(False)
    qtbot.waitUntil(lambda: not rescan_timer(browser).isActive() and not browser.reading)


@pytest.mark.slow
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
    # In parts, the first one soon; and few of them, as each lays out the list again.
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


def test_home_selects_the_only_run_also_while_it_is_current_already(
    qtbot, browser, runs_dir
) -> None:
    run = make_run(runs_dir)
    read_again(qtbot, browser)
    view = browser.view
    view.selectionModel().setCurrentIndex(
        browser.proxy.index(0, 0), QItemSelectionModel.SelectionFlag.NoUpdate
    )
    assert view.chosen() == []
    qtbot.keyClick(view, Qt.Key.Key_Home)
    assert [row.path for row in view.chosen()] == [run.path]


def test_a_return_in_the_thousands_has_room_in_its_column(browser) -> None:
    # The margins of Qt and of the style sheet at either side.
    metrics = browser.view.fontMetrics()
    for column in (RunColumn.LAST, RunColumn.BEST):
        assert browser.view.columnWidth(column) >= metrics.horizontalAdvance("−1,451.2") + 14
