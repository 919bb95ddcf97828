"""Guarantees for users without a mouse."""

import re
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QWidget

from studio.help.shortcuts import ShortcutsDialog
from studio.plots.legend import Legend
from tests.studio.fake_runs import make_run
from tests.studio.window.test_details import open_run

pytestmark = pytest.mark.shared_window


def tab_stops(window, count: int) -> list[str]:
    """Return the names of the widgets that Tab passes from the window's first one on."""
    each, found = window, list[str]()
    for _ in range(count):
        each = each.nextInFocusChain()
        if each.focusPolicy() & Qt.FocusPolicy.TabFocus and each.isVisible():
            found.append(each.objectName())
    return found


@pytest.mark.own_window
def test_tab_follows_what_is_seen(window) -> None:
    stops = tab_stops(window, 2000)
    names = ("train_button", "env_combo", "seed_spin", "seeds_edit", "steps_spin", "slider_tau")
    places = [stops.index(name) for name in names]
    assert places == sorted(places)
    assert stops.index("slider_tau") < stops.index("start_train_button")


@pytest.mark.own_window
@pytest.mark.slow
def test_legends_and_a_comparison_come_after_the_panels_on_the_left(
    qtbot, window, find, runs_dir
) -> None:
    runs = [make_run(runs_dir, seed=seed) for seed in range(2)]
    open_run(qtbot, window, runs[0])
    legend = window.plots.card("plot_return").findChild(Legend)
    qtbot.waitUntil(lambda: bool(legend.names))
    legend.setObjectName("legend")
    stops = tab_stops(window, 3000)
    assert stops.index("slider_tau") < stops.index("plots_x_combo") < stops.index("legend")
    assert stops.index("legend") < stops.index("plot_return") < stops.index("replay_view")
    find("env_combo").setFocus()
    for _ in range(2):
        window.toolbar.action("next_panel").trigger()
    assert window.focusWidget() is find("plots_x_combo")
    with qtbot.waitSignal(window.comparison.session.opened, timeout=20_000):
        window.comparison.session.compare([run.path for run in runs])
    qtbot.waitUntil(lambda: not window.comparison.plots.redraw_pending)
    stops = tab_stops(window, 3000)
    assert stops.index("slider_tau") < stops.index("compare_group_combo")
    assert stops.index("compare_q_combo") < stops.index("compare_q") < stops.index("replay_view")


@pytest.mark.own_window
@pytest.mark.slow
def test_tab_passes_every_panel_and_leaves_it(qtbot, window, runs_dir) -> None:
    open_run(qtbot, window, make_run(runs_dir))
    window.activateWindow()
    passed = list[QWidget]()
    for spec in window.panels.specs:
        window.docks.open(spec.name)
        dock = window.docks.dock(spec.name)
        qtbot.waitUntil(lambda name=spec.name: window.docks.is_seen(name))
        for part in dock.findChildren(QWidget):
            tabbed = part.focusPolicy() & Qt.FocusPolicy.TabFocus
            if tabbed and part.isVisible() and part.isEnabled():
                part.setFocus()
                break
        while dock.isAncestorOf(window.focusWidget()):
            passed.append(window.focusWidget())
            assert len(passed) == len(set(passed)), passed[-1].objectName()
            qtbot.keyClick(passed[-1], Qt.Key.Key_Tab)
    names = {part.objectName() for part in passed}
    assert {"runs_view", "sweep_trials", "health_table", "log_view"} <= names


def test_share_comes_before_the_menu_on_its_right(window) -> None:
    stops = tab_stops(window, 3000)
    assert stops.index("replay_share_button") + 1 == stops.index("replay_menu_button")


def test_f6_goes_from_panel_to_panel_and_back(window, find) -> None:
    docks = [window.docks.dock(name) for name in ("setup", "live")]
    parts = [*docks, window.centralWidget(), window.docks.dock("replay")]
    action = window.toolbar.action
    find("env_combo").setFocus()
    for part in (*parts[1:], parts[0]):
        action("next_panel").trigger()
        assert part.isAncestorOf(window.focusWidget()), part.objectName()
    action("previous_panel").trigger()
    assert parts[-1].isAncestorOf(window.focusWidget())
    assert action("next_panel").shortcut().toString() == "F6"


@pytest.mark.own_window
@pytest.mark.slow
def test_f6_goes_on_from_a_floating_panel(qtbot, window, find) -> None:
    window.docks.open("log")
    floating = window.docks.dock("log")
    floating.setFloating(True)
    qtbot.waitUntil(lambda: window.docks.is_seen("log"))
    docks = [window.docks.dock(name) for name in ("setup", "live", "replay", "log")]
    parts = [*docks, window.centralWidget()]
    window.activateWindow()
    find("env_combo").setFocus()
    qtbot.waitUntil(find("env_combo").hasFocus)
    for action in ("next_panel", "previous_panel"):
        reached = []
        for _ in parts:
            before = QApplication.focusWidget()
            window.toolbar.action(action).trigger()
            qtbot.waitUntil(lambda before=before: QApplication.focusWidget() not in (None, before))
            focus = QApplication.focusWidget()
            reached += [part for part in parts if part.isAncestorOf(focus)]
            if reached[-1] is floating:
                assert window.panel_keys.page() == ("index.md",)
        assert {id(part) for part in reached} == {id(part) for part in parts}
        assert docks[0].isAncestorOf(QApplication.focusWidget())


def test_a_held_key_repeats_only_what_goes_step_by_step(window) -> None:
    repeated = {
        action.objectName()
        for action in window.findChildren(QAction)
        if action.autoRepeat() and not action.shortcut().isEmpty()
    }
    steps = ("undo", "redo", "next_panel", "previous_panel")
    assert repeated == {f"{name}_action" for name in steps}


def test_escape_closes_a_message(qtbot, window, find) -> None:
    window.banner.show_message("info", "All is well.")
    find("seed_spin").setFocus()
    qtbot.keyClick(find("seed_spin"), Qt.Key.Key_Escape)
    assert not window.banner.isVisible()


def test_help_opens_at_what_has_the_focus(window, find) -> None:
    from studio.help.viewer import HelpViewer

    for focused, page in (
        ("slider_tau", "live-settings.md"),
        ("env_combo", "environments.md"),
        ("steps_spin", "training.md"),
        ("seeds_edit", "many-runs.md"),
        ("train_button", "training.md"),
        ("queue_button", "many-runs.md"),
        ("help_button", "index.md"),
    ):
        find(focused).setFocus()
        window.toolbar.action("help").trigger()
        viewer = window.findChild(HelpViewer)
        assert viewer.view.page.name == page
        viewer.close()


def test_every_key_of_the_window_is_listed_and_in_the_manual(window, root: Path) -> None:
    window.toolbar.action("keys").trigger()
    (dialog,) = window.findChildren(ShortcutsDialog)
    everywhere = dialog.table.topLevelItem(0)
    rows = [everywhere.child(at) for at in range(everywhere.childCount())]
    listed = {row.text(0): row.text(1) for row in rows}
    assert len(listed) == len(rows), "each once"
    assert listed["Ctrl+T"] == "Start a new run with the settings in Setup"
    assert listed["Ctrl+O"] == "Open agent or run…"
    assert listed["Ctrl+Shift+O"] == "Import from other programs…"
    assert listed["Ctrl+Shift+M"] == "Compare agents…"
    assert {f"Ctrl+Shift+{key}" for key in "FGPEX"} <= listed.keys()
    # Del works in the list of runs only.
    assert "Del" not in listed
    pages = (root / "resources" / "manual").glob("*.md")
    manual = " ".join(page.read_text("utf-8") for page in pages)
    named = {key for key in listed if re.search(rf"(?<![\w+]){re.escape(key)}(?![\w+])", manual)}
    assert listed.keys() - named == set()
    dialog.close()


@pytest.mark.own_window
def test_ctrl_q_closes_the_window(window) -> None:
    action = window.toolbar.action("quit")
    assert action.shortcut().toString() == "Ctrl+Q"
    action.trigger()
    assert not window.isVisible()
