"""What was opened lately is offered again after a restart; what is gone is greyed out."""

import shutil
from pathlib import Path

from PySide6.QtCore import QPoint
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from studio.app import build_window
from studio.window.main_window import MainWindow
from tests.studio.fake_runs import make_run


def offered(window: MainWindow) -> list[QAction]:
    return [each for each in window.recent.menu.actions() if not each.isSeparator()][1:]


def test_recent_runs_are_offered_after_a_restart_and_missing_ones_greyed(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    assert offered(window) == []
    runs = [make_run(tmp_path / "runs", seed=seed) for seed in (1, 2)]
    for run in runs:
        window.opener.open([run.path])
        qtbot.waitUntil(lambda run=run: window.model.run == run.path, timeout=20_000)
    window.close()
    shutil.rmtree(runs[0].path)
    again = build_window(tmp_path / "runs")
    first, second = offered(again)
    assert [runs[1].path.name, runs[0].path.name] == [first.text(), second.text()]
    again.recent.menu.aboutToShow.emit()
    qtbot.waitUntil(lambda: not second.isEnabled(), timeout=20_000)
    assert first.isEnabled()
    assert "missing" in second.text()
    first.trigger()
    qtbot.waitUntil(lambda: again.model.run == runs[1].path, timeout=20_000)
    again.close()
    again.deleteLater()


def test_the_menu_of_a_plot_is_that_of_its_export_button(window: MainWindow) -> None:
    card = window.plots.card("plot_return")
    menu = window.findChild(QToolButton, "plot_return_export").menu()
    card.plot.customContextMenuRequested.emit(QPoint(50, 50))
    assert menu.isVisible()
    texts = [action.text() for action in menu.actions()]
    assert texts == ["Export PNG…", "Export SVG…", "Export CSV…"]
    menu.close()
