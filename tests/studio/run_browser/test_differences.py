"""The list starts with what differs, and draws the evaluations of visible runs."""

import json
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QColor

from studio.run_browser.columns import RunColumn, about, lines_of, started, told_below
from studio.run_browser.delegate import hidden_columns, shown_lines
from studio.run_browser.rows import RunRow
from studio.run_browser.scanner import scan
from studio.run_browser.sparklines import Sparklines, read_means
from studio.run_browser.tree_model import RunTreeModel
from studio.tasks.background_task import BackgroundTask
from studio.theme.theme import load_theme
from td3core.config import to_dict
from td3core.config.presets import compose
from td3core.runs.directory import RunDirectory
from td3core.runs.listing import summarise
from td3core.runs.metadata import RunLabel
from td3core.runs.naming import changes_in_words
from tests.studio.fake_runs import make_run, return_at
from tests.studio.run_browser.runs_list import choose, read_again
from tests.support.stretched import INSIDE

ENV = "Pendulum-v1"


def preset_run(runs: Path, *names: str, **values: object) -> RunDirectory:
    config, tunables = compose(ENV, names, {})
    return make_run(runs, **{**to_dict(config), **to_dict(tunables), **values})


def test_only_what_was_changed_from_the_preset_is_named(runs_dir: Path) -> None:
    usual: dict = {}
    assert str(changes_in_words(preset_run(runs_dir, seed=8, steps=500), usual)) == ""
    assert str(changes_in_words(preset_run(runs_dir, "DDPG"), usual)) == ""
    changed = preset_run(runs_dir, gamma=0.9, actor_hidden=(32, 32), reward_floor=-5.0)
    assert str(changes_in_words(changed, usual)) == "Actor layers 32, 32, γ 0.9, Reward floor -5"
    more = preset_run(runs_dir, gamma=0.9, tau=0.1, policy_delay=3, critic_lr=1e-4)
    assert str(changes_in_words(more, usual)).endswith("1 more")
    # A missing preset: nothing can be said, and nothing is made up.
    gone = preset_run(runs_dir, preset="deleted", gamma=0.9)
    assert str(changes_in_words(gone, usual)) == ""


def test_the_tooltip_names_changed_settings_in_the_language_and_the_run_keeps_its_name(
    runs_dir: Path, stretched: None
) -> None:
    found = summarise(preset_run(runs_dir, actor_hidden=(), normalize_observations=True))
    assert "Actor layers none, Normalise observations on" in found.description
    row = RunRow(path=found.run, stamp=(), summary=found)
    (told,) = (part for part in about(row).split("<br>") if "Changed" in part)
    assert set(INSIDE.sub("", told)) <= set(" ,")


def test_what_differs_stands_first(qtbot, browser, runs_dir: Path) -> None:
    plain, named = preset_run(runs_dir, seed=1, gamma=0.9), preset_run(runs_dir, seed=2)
    make_run(runs_dir, name="mine", seed=3)
    read_again(qtbot, browser)
    rows = browser.model.rows
    assert lines_of(rows[plain.path]) == ("seed 1 · TD3 · γ 0.9", ENV)
    assert lines_of(rows[named.path]) == ("seed 2 · TD3", ENV)
    assert any(lines_of(row)[0] == "mine" for row in rows.values())


def test_runs_of_the_same_settings_are_told_apart_where_the_list_is_narrow(
    qtbot, browser, runs_dir: Path
) -> None:
    run = make_run(runs_dir, created="2025-03-04T05:06:07+00:00")
    read_again(qtbot, browser)
    row = browser.model.rows[run.path]
    browser.resize(1300, 400)
    qtbot.waitUntil(lambda: not told_below(row, hidden_columns(browser.view)))
    browser.resize(420, 400)
    qtbot.waitUntil(lambda: bool(told_below(row, hidden_columns(browser.view))))
    assert told_below(row, hidden_columns(browser.view)).startswith("2025-03-04")
    assert "last " in told_below(row, hidden_columns(browser.view))
    assert about(row).count(ENV) == 2, "environment and the name of the folder"


def test_evaluations_are_drawn_for_the_runs_in_view(qtbot, browser, runs_dir: Path) -> None:
    run = make_run(runs_dir, reached=1000)
    read_again(qtbot, browser)
    cell = browser.proxy.index(0, RunColumn.CURVE)
    area = browser.view.visualRect(cell)
    assert area.width() > 40
    wanted = QColor(load_theme("light").curve_eval)

    def drawn() -> bool:
        image = browser.view.viewport().grab(area).toImage()
        colours = (
            image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())
        )
        return any(
            abs(c.green() - wanted.green()) + abs(c.red() - wanted.red()) < 40 for c in colours
        )

    qtbot.waitUntil(drawn, timeout=20_000)
    assert read_means(run.path, lambda: False) == pytest.approx(
        [return_at(step) + 50 for step in range(250, 1001, 250)]
    )
    choose(browser, run)
    browser.view.shutdown()


def test_one_evaluation_that_failed_is_seen_in_the_curve_of_a_long_run(tmp_path: Path) -> None:
    lines = [f"{step},{-900 if step == 555 else 100}" for step in range(1, 1001)]
    (tmp_path / "evaluations.csv").write_text("\n".join(["env_steps,mean", *lines]) + "\n")
    drawn = read_means(tmp_path, lambda: False)
    assert (min(drawn), max(drawn)) == (-900, 100)
    assert len(drawn) <= 60


def test_the_curve_of_a_renamed_run_is_not_read_again(qtbot, runs_dir: Path) -> None:
    run, parent = make_run(runs_dir, reached=1000), QObject()
    model, curves = RunTreeModel(load_theme("light"), parent), Sparklines(parent)
    scan(runs_dir, {}, model.take, lambda: False)
    with qtbot.waitSignal(curves.changed):
        curves.values(model.rows[run.path])
    qtbot.waitUntil(lambda: not any(task.busy for task in curves.findChildren(BackgroundTask)))
    model.show_label(run.path, RunLabel(name="renamed"))
    assert len(curves.values(model.rows[run.path])) == 4
    assert model.rows[run.path].title == "Pendulum-v1 · renamed"
    assert not any(timer.isActive() for timer in curves.findChildren(QTimer))


@pytest.mark.parametrize(("width", "seen"), [(300, {RunColumn.BEST}), (700, {RunColumn.CURVE})])
def test_a_narrow_list_keeps_the_names(qtbot, browser, runs_dir: Path, width, seen) -> None:
    make_run(runs_dir)
    read_again(qtbot, browser)
    browser.resize(width, 300)
    view = browser.view
    qtbot.waitUntil(lambda: view.viewport().width() < width)
    assert view.columnWidth(RunColumn.RUN) >= 150
    assert not any(view.isColumnHidden(column) for column in seen)
    # Its word goes before its icon.
    assert view.columnWidth(RunColumn.STATE) >= 30
    if width == 300:
        assert not browser.view.horizontalScrollBar().isVisible()
        assert browser.proxy.index(0, RunColumn.STATE).data(Qt.ItemDataRole.ToolTipRole)


def test_a_column_that_was_widened_by_hand_comes_back_only_where_it_fits(
    qtbot, browser, runs_dir: Path
) -> None:
    make_run(runs_dir)
    read_again(qtbot, browser)
    view = browser.view
    browser.resize(1600, 300)
    view.setColumnWidth(RunColumn.CURVE, 300)
    for width in (300, *range(500, 1600, 50)):
        browser.resize(width, 300)
        qtbot.waitUntil(lambda width=width: width - 100 < view.viewport().width() < width)
        assert view.columnWidth(RunColumn.RUN) >= 150
        assert view.header().length() <= view.viewport().width()
    assert view.columnWidth(RunColumn.CURVE) == 300


def test_where_the_list_is_narrow_the_start_of_a_run_is_whole_and_the_end_of_the_line_is_cut(
    qtbot, browser, runs_dir: Path
) -> None:
    created, name = "2025-03-04T05:06:07+00:00", f"first{'.' * 300}last"
    run = make_run(runs_dir, name=name, created=created)
    read_again(qtbot, browser)
    browser.resize(420, 400)
    cell, view = browser.model.find(run.path), browser.view
    qtbot.waitUntil(lambda: RunColumn.STARTED in hidden_columns(view))
    metrics = view.fontMetrics()
    width = metrics.horizontalAdvance(f"{started(created)} · last")
    above, below = shown_lines(cell, view, metrics, width)
    assert above.startswith("first")
    assert above.endswith("last")
    assert below.startswith(started(created))
    assert below.endswith("…")


def test_a_run_with_live_changes_says_so_to_eyes_and_ears(qtbot, browser, runs_dir: Path) -> None:
    tuned, once, plain = (make_run(runs_dir, name=name) for name in ("tuned", "once", "plain"))
    change = {"step": 300, "field": "tau", "old": 0.005, "new": 0.01, "time": "now"}
    pause = {"step": 400, "event": "pause", "time": "now"}
    for run, entries in ((tuned, (change, pause, change)), (once, (change,)), (plain, (pause,))):
        text = "".join(json.dumps(entry) + "\n" for entry in entries)
        run.journal_file.write_text(text)
    read_again(qtbot, browser)
    rows = browser.model.rows
    for run, said in ((tuned, "2 live changes"), (once, "1 live change"), (plain, "")):
        row, cell = rows[run.path], browser.model.find(run.path)
        spoken = cell.data(Qt.ItemDataRole.AccessibleTextRole)
        assert row.summary.live_changes == int(said[:1] or 0)
        for text in (about(row), spoken):
            assert ("live change" in text) == bool(said)
            assert said in text
        assert lines_of(row)[1].startswith(f"Δ{said[0]} · " if said else "seed")
    browser.search.setText("live change")
    assert browser.proxy.count_found() == 2
