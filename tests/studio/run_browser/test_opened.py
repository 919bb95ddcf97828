"""A run that is opened is shown as it was; one that was interrupted is pointed out."""

import math
import shutil

import numpy as np
import pytest
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QToolButton

from studio.run_browser.columns import RunColumn
from studio.run_browser.dialogs import SettingsDialog
from studio.run_browser.tree_model import ROW
from studio.session.history import read_history
from td3core.runs.lock import RunLock
from tests.studio.fake_runs import make_run, return_at
from tests.studio.plots.layers import curves_of
from tests.studio.run_browser.runs_list import (
    action,
    choose,
    listed,
    read_again,
    show_runs,
    wait_until_read,
)
from tests.studio.window.test_main_job import click, start_pendulum


def test_an_opened_run_is_shown_as_it_was(qtbot, window, find, runs_dir) -> None:
    run = make_run(runs_dir, reached=1000, name="remembered")
    for step, new, second in ((300, 0.01, 0), (350, 0.02, 1), (600, 0.5, 30)):
        entry = {"step": step, "field": "tau", "old": 0.005, "new": new}
        run.note(entry | {"time": f"2026-01-01T00:00:{second:02d}+00:00"})
    run.note({"step": 7, "field": "nonsense", "old": 1, "new": 2})
    run.best.write_bytes(b"no agent")
    show_runs(qtbot, window, find, run)
    click(qtbot, find("runs_open_button"))
    qtbot.waitUntil(lambda: window.model.record.run == run.path)
    model = window.model
    assert len(model.record.curves.training) == 20
    assert model.record.curves.training.column("q1")[-1] == -50
    episodes = model.record.curves.episodes
    np.testing.assert_allclose(
        episodes.column("return"), [return_at(s) for s in range(100, 1001, 100)]
    )
    assert episodes.column("smoothed")[2] == pytest.approx(episodes.column("return")[:3].mean())
    assert list(model.record.curves.evaluations.column("env_steps")) == [250, 500, 750, 1000]
    assert [(m.env_steps, m.text) for m in model.record.journal.markers] == [
        (350, "τ 0.005 → 0.02"),
        (600, "τ 0.005 → 0.5"),
    ]
    assert "remembered" in find("run_title").text()
    assert "finished" in find("status_state").text()
    assert "step 1,000" in find("status_numbers").text()
    curve = curves_of(window.plots.card("plot_q"))[0]
    qtbot.waitUntil(lambda: curve.xData is not None and curve.xData[-1] == 1000)


def distance(one: QColor, other: QColor) -> float:
    return math.dist(one.getRgb(), other.getRgb())


@pytest.mark.slow
def test_what_a_run_was_branched_from_is_drawn_dimmed_up_to_the_branch(
    qtbot, window, find, runs_dir
) -> None:
    oldest = make_run(runs_dir, reached=1000)
    parent = make_run(runs_dir, first=400, reached=900, parent=(oldest.path.name, 400))
    run = make_run(runs_dir, first=700, reached=1000, parent=(parent.path.name, 700))
    show_runs(qtbot, window, find, run)
    action(window.runs, "open").trigger()
    qtbot.waitUntil(lambda: window.model.record.run == run.path)
    past = window.model.record.parent_curves
    assert list(past.training.column("env_steps")) == list(range(50, 701, 50))
    assert window.model.record.curves.training.column("env_steps")[0] == 750
    card = window.plots.card("plot_q")
    # Curves of parents are made for the first run that has some.
    qtbot.waitUntil(lambda: len(curves_of(card)) > 5)
    items = curves_of(card)
    own, dim = items[0], items[5]
    qtbot.waitUntil(lambda: dim.xData is not None and len(dim.xData) == 14)
    assert (own.xData[0], dim.xData[-1]) == (750, 700)
    faint, full = (item.opts["pen"].color() for item in (dim, own))
    assert faint.hslHue() == pytest.approx(full.hslHue(), abs=4)
    ground = QColor(window.plots.card("plot_q").plot.backgroundBrush().color())
    assert distance(faint, ground) < 0.5 * distance(full, ground)
    # The next run that is shown has no such past.
    choose(window.runs, oldest)
    action(window.runs, "open").trigger()
    qtbot.waitUntil(lambda: window.model.record.run == oldest.path)
    qtbot.waitUntil(lambda: dim.xData is None or not len(dim.xData))


def test_steps_that_a_resumed_run_took_again_are_shown_once(runs_dir) -> None:
    run = make_run(runs_dir, reached=500)
    with (run.path / "training.csv").open("a") as file:
        file.writelines(f"{step},{step},9,9,9,1,1,1,9\n" for step in range(400, 601, 50))
    found = read_history(run.path, lambda: False)
    steps, q1 = (found.record.curves.training.column(name) for name in ("env_steps", "q1"))
    assert list(steps) == list(range(50, 601, 50))
    assert list(q1[steps >= 400]) == [9.0] * 5
    assert (q1[steps < 400] < 0).all()


@pytest.mark.slow
def test_a_million_rows_are_read_beside_the_window(qtbot, window, find, runs_dir) -> None:
    run = make_run(runs_dir, steps=10_000_000)
    with (run.path / "training.csv").open("a") as file:
        file.writelines(f"{s},{s},1,2,3,4,5,6,7\n" for s in range(1050, 10_001_000, 50))
    show_runs(qtbot, window, find, run)
    action(window.runs, "open").trigger()
    assert find("runs_reading").isVisible()
    qtbot.waitUntil(lambda: window.model.record.run == run.path, timeout=30_000)
    assert window.model.record.curves.training.rows_each > 1
    qtbot.waitUntil(lambda: not find("runs_reading").isVisible())


@pytest.mark.shared_window
def test_opening_a_damaged_run_says_what_is_wrong(qtbot, window, find, runs_dir) -> None:
    run = make_run(runs_dir)
    (run.path / "run.toml").write_text("[[[")
    show_runs(qtbot, window, find, run)
    # It may have been read before it was damaged.
    read_again(qtbot, window.runs)
    action(window.runs, "open").trigger()
    assert window.banner.isVisible()
    assert "run.toml cannot be read" in window.banner.text
    assert not action(window.runs, "rename").isEnabled()


@pytest.mark.shared_window
def test_a_run_deleted_since_it_was_listed_is_refused(qtbot, window, find, runs_dir) -> None:
    run = make_run(runs_dir)
    show_runs(qtbot, window, find, run)
    shutil.rmtree(run.path)
    action(window.runs, "open").trigger()
    qtbot.waitUntil(lambda: window.banner.isVisible())
    assert "is not a run" in window.banner.text


@pytest.mark.slow
def test_nothing_can_be_opened_while_a_run_trains(qtbot, window, find, runs_dir) -> None:
    run = make_run(runs_dir)
    show_runs(qtbot, window, find, run)
    listener = start_pendulum(qtbot, window, find)
    assert not action(window.runs, "open").isEnabled()
    assert "training" in action(window.runs, "open").toolTip()
    qtbot.waitUntil(lambda: "running" in listed(window.runs, RunColumn.STATE), timeout=10_000)
    window.runs.view.doubleClicked.emit(window.runs.proxy.find(run.path))
    assert not find("runs_reading").isVisible()
    click(qtbot, find("stop_button"))
    qtbot.waitUntil(lambda: action(window.runs, "open").isEnabled(), timeout=20_000)
    assert window.model.record.run == listener.said[-1].run
    qtbot.waitUntil(lambda: "running" not in listed(window.runs, RunColumn.STATE), timeout=10_000)


def test_the_settings_of_a_run_are_shown_with_those_changed_in_bold(
    qtbot, browser, runs_dir
) -> None:
    run = make_run(runs_dir, tau=0.25)
    read_again(qtbot, browser)
    choose(browser, run)
    action(browser, "settings").trigger()
    qtbot.waitUntil(lambda: browser.findChild(SettingsDialog) is not None)
    dialog = browser.findChild(SettingsDialog)
    rows = [dialog.tree.topLevelItem(i) for i in range(dialog.tree.topLevelItemCount())]
    shown = {row.text(0): (row.text(1), row.text(2), row.font(0).bold()) for row in rows}
    assert shown["Target averaging"] == ("0.25", "0.005", True)
    assert shown["Discount"] == ("0.99", "0.99", False)
    dialog.close()


def test_a_run_that_does_not_run_can_be_resumed_from_its_button(qtbot, browser, runs_dir) -> None:
    cut = make_run(runs_dir, stopped=None)
    done = make_run(runs_dir, seed=1)
    read_again(qtbot, browser)
    choose(browser, cut)
    button = browser.findChild(QToolButton, "runs_resume_button")
    assert button.isVisible()
    with qtbot.waitSignal(browser.run_actions.resume_requested) as said:
        action(browser, "resume").trigger()
    assert said.args == [cut.path]
    # A finished run can be continued, too: with more steps.
    choose(browser, done)
    assert action(browser, "resume").isEnabled()
    with RunLock(done.path):
        read_again(qtbot, browser)
        assert not action(browser, "resume").isEnabled()
        assert "running" in action(browser, "resume").toolTip()
    wait_until_read(qtbot, browser)


@pytest.mark.slow
def test_interrupted_runs_are_pointed_out_once_and_the_message_leads_to_them(
    qtbot, window, find, runs_dir
) -> None:
    for seed in range(2):
        make_run(runs_dir, seed=seed, stopped=None)
    window.runs.look_for_interrupted()
    qtbot.waitUntil(lambda: window.banner.isVisible())
    assert "2 runs were interrupted" in window.banner.text
    assert not find("runs_view").isVisible()
    window.banner.link_activated.emit("runs")
    assert find("runs_view").isVisible()
    window.banner.hide()
    read_again(qtbot, window.runs)
    assert not window.banner.isVisible()


def test_a_run_that_is_interrupted_later_is_not_one_of_those_found_at_the_start(
    qtbot, browser, runs_dir
) -> None:
    said: list[int] = []
    browser.interrupted_found.connect(said.append)
    browser.look_for_interrupted()
    wait_until_read(qtbot, browser)
    make_run(runs_dir, stopped=None)
    read_again(qtbot, browser)
    assert len(browser.model.interrupted()) == 1
    assert said == []


@pytest.mark.slow
def test_the_message_about_interrupted_runs_goes_with_the_last_of_them(
    qtbot, window, runs_dir
) -> None:
    run = make_run(runs_dir, stopped=None)
    window.runs.look_for_interrupted()
    qtbot.waitUntil(lambda: window.banner.isVisible())
    run.write_ending({"stopped": "user", "env_steps": 1000, "wall_s": 7.0})
    read_again(qtbot, window.runs)
    assert not window.banner.isVisible()
    window.banner.show_message("info", "Another message")
    window.runs.interrupted_found.emit(0)
    assert window.banner.isVisible()


def test_nothing_is_said_of_interrupted_runs_while_they_cannot_be_resumed(
    qtbot, browser, runs_dir
) -> None:
    said: list[int] = []
    browser.interrupted_found.connect(said.append)
    make_run(runs_dir, stopped=None)
    read_again(qtbot, browser)
    assert not said
    assert len(browser.model.interrupted()) == 1


@pytest.mark.shared_window
def test_the_runs_panel_comes_and_goes_and_is_in_the_menu(qtbot, window, find) -> None:
    assert "Runs" in [entry.text() for entry in window.docks.menu.actions()]
    assert not find("runs_view").isVisible()
    click(qtbot, find("runs_button"))
    assert find("runs_browser").isVisible()
    click(qtbot, find("runs_button"))
    assert not find("runs_browser").isVisible()
    wait_until_read(qtbot, window.runs)


def test_everything_in_the_list_has_a_name_for_those_who_do_not_see_it(browser) -> None:
    assert browser.view.accessibleName()
    assert browser.search.accessibleName()
    assert all(button.accessibleName() for button in browser.run_actions.buttons)
    assert browser.proxy.index(0, 0).data(ROW) is None
