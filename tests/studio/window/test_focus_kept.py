"""The keyboard focus is somewhere, whatever a run locks."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.session.controller import SessionState
from studio.window.main_window import MainWindow
from tests.studio.fake_runs import make_run


@pytest.mark.parametrize("field", ["steps_spin", "env_combo"])
@pytest.mark.slow
def test_a_run_started_from_a_field_leaves_the_focus_in_setup(
    qtbot, window, find, field: str
) -> None:
    find("env_combo").setCurrentText("Pendulum-v1")
    window.activateWindow()
    find(field).setFocus()
    qtbot.waitUntil(find(field).hasFocus)
    qtbot.keyClick(window, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: window.controller.state is SessionState.RUNNING, timeout=30_000)
    assert QApplication.focusWidget().text() == "Prepare the next run"
    window.controller.stop()
    qtbot.waitUntil(lambda: window.controller.state is SessionState.IDLE, timeout=30_000)
    assert QApplication.focusWidget() is find("steps_spin")


def close_by_key(qtbot: QtBot, window: MainWindow) -> None:
    qtbot.keyClick(window, Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)


def close_by_menu(_qtbot: QtBot, window: MainWindow) -> None:
    window.docks.dock("runs").toggleViewAction().trigger()


def close_by_title(_qtbot: QtBot, window: MainWindow) -> None:
    window.docks.dock("runs").close()


@pytest.mark.shared_window
@pytest.mark.parametrize("close", [close_by_key, close_by_menu, close_by_title])
def test_a_panel_closed_with_the_focus_in_it_does_not_pass_it_to_train(
    qtbot: QtBot,
    window: MainWindow,
    runs_dir: Path,
    close: Callable[[QtBot, MainWindow], None],
) -> None:
    run = make_run(runs_dir)
    window.runs.refresh()
    qtbot.waitUntil(lambda: run.path in window.runs.model.rows)
    window.show_runs()
    qtbot.waitUntil(window.runs.view.hasFocus)
    qtbot.waitUntil(lambda: window.docks.is_seen("runs"))
    close(qtbot, window)
    assert not window.runs.isVisible()
    # Qt gives it to the first button of the toolbar, which Space would press.
    assert QApplication.focusWidget() is window


@pytest.mark.slow
def test_panels_that_only_move_keep_the_focus(qtbot: QtBot, window: MainWindow, find) -> None:
    find("slider_tau").setFocus()
    qtbot.waitUntil(find("slider_tau").hasFocus)
    for width, folded in ((700, True), (1280, False)):
        window.resize(width, 800)
        qtbot.waitUntil(lambda folded=folded: window.docks.fold.folded is folded)
        qtbot.waitUntil(find("slider_tau").hasFocus)
