"""Recently opened files are offered again after a restart; missing ones are greyed out."""

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from studio.app import build_window
from studio.window.main_window import MainWindow
from tests.studio.fake_runs import make_run


def offered(window: MainWindow) -> list[QAction]:
    return [each for each in window.recent.menu.actions() if not each.isSeparator()][2:]


@pytest.mark.slow
def test_recent_runs_are_offered_after_a_restart_and_missing_ones_greyed(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    assert offered(window) == []
    runs = [make_run(tmp_path / "runs", seed=seed) for seed in (1, 2)]
    for run in runs:
        window.opener.open([run.path])
        qtbot.waitUntil(lambda run=run: window.model.record.run == run.path, timeout=20_000)
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
    qtbot.waitUntil(lambda: again.model.record.run == runs[1].path, timeout=20_000)
    again.close()
    again.deleteLater()


@pytest.mark.slow
def test_recent_runs_and_their_agents_are_called_by_their_given_names(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    run = make_run(tmp_path / "runs", name="calm sea")
    agent = run.path / "checkpoints" / "best.safetensors"
    agent.parent.mkdir(exist_ok=True)
    agent.write_bytes(b"")
    for path in (agent, run.path):
        window.recent.add(path)
    window.runs.refresh()

    def texts() -> list[str]:
        return [action.text() for action in offered(window)]

    qtbot.waitUntil(
        lambda: texts() == ["Pendulum-v1 · calm sea", "Pendulum-v1 · calm sea: best"],
        timeout=20_000,
    )
    model = window.runs.model
    qtbot.waitUntil(lambda: model.find(run.path.absolute()).isValid(), timeout=20_000)
    model.setData(model.find(run.path.absolute()), "rough sea")
    qtbot.waitUntil(
        lambda: texts() == ["Pendulum-v1 · rough sea", "Pendulum-v1 · rough sea: best"],
        timeout=20_000,
    )


def test_the_menu_of_a_plot_ends_with_that_of_its_export_button(window: MainWindow) -> None:
    card = window.plots.card("plot_return")
    card.plot.customContextMenuRequested.emit(QPoint(50, 50))
    menu = card.findChild(QMenu, "plot_return_menu")
    assert menu.isVisible()
    texts = [action.text() for action in menu.actions()]
    assert texts == [
        *("Also show", "Logarithmic scale", "Limits of the y axis…", ""),
        *("Export PNG…", "Export SVG…", "Export CSV…"),
    ]
    menu.close()
