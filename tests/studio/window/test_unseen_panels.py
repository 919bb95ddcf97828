"""A panel behind the tab of another one does no work for a picture that nobody sees."""

from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from studio.health.health_panel import HealthPanel
from studio.widgets.sight import Shown, shown_of
from studio.window.main_window import MainWindow
from tests.studio.fake_runs import make_run

pytestmark = pytest.mark.shared_window

WAIT_MS = 20_000


def show(qtbot: QtBot, window: MainWindow, name: str) -> QWidget:
    window.docks.open(name)
    panel = window.panels.named(name)
    qtbot.waitUntil(lambda: shown_of(panel) is Shown.SEEN, timeout=WAIT_MS)
    return panel


def cover(qtbot: QtBot, window: MainWindow, name: str) -> None:
    """Put the log in front of a panel."""
    docks, panel = window.docks, window.panels.named(name)
    window.tabifyDockWidget(docks.dock(name), docks.dock("log"))
    docks.open("log")
    qtbot.waitUntil(lambda: shown_of(panel) is Shown.BEHIND, timeout=WAIT_MS)
    assert panel.isVisible(), "to Qt, it is"


def timer(panel: QWidget, name: str) -> QTimer:
    found = panel.findChild(QTimer, name)
    assert isinstance(found, QTimer)
    return found


def test_the_algorithm_asks_for_no_updates_behind_a_tab(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(window.controller, "trace", asked.append)
    show(qtbot, window, "algorithm")
    qtbot.waitUntil(lambda: asked == [True], timeout=WAIT_MS)
    cover(qtbot, window, "algorithm")
    qtbot.waitUntil(lambda: asked == [True, False], timeout=WAIT_MS)
    window.docks.open("algorithm")
    qtbot.waitUntil(lambda: asked == [True, False, True], timeout=WAIT_MS)
    window.docks.close("algorithm")
    qtbot.waitUntil(lambda: asked[-1] is False, timeout=WAIT_MS)


def test_the_health_reads_nothing_behind_a_tab_and_catches_up(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = show(qtbot, window, "health")
    assert isinstance(panel, HealthPanel)
    cover(qtbot, window, "health")
    shown: list[object] = []
    monkeypatch.setattr(panel.table, "show", lambda *found: shown.append(found))
    refresh = timer(panel, "refresh_timer")
    refresh.stop()
    window.model.curves_changed.emit()
    assert not refresh.isActive()
    panel.refresh()
    assert not shown
    window.docks.open("health")
    qtbot.waitUntil(lambda: bool(shown), timeout=WAIT_MS)


def test_the_list_of_runs_scans_nothing_behind_a_tab_and_catches_up(
    qtbot: QtBot, window: MainWindow, runs_dir: Path
) -> None:
    show(qtbot, window, "runs")
    cover(qtbot, window, "runs")
    scan = timer(window.runs, "scan_timer")
    scan.stop()
    qtbot.waitUntil(lambda: not window.runs.reading, timeout=WAIT_MS)
    run = make_run(runs_dir)
    window.runs.refresh_soon()
    assert not scan.isActive()
    window.docks.open("runs")
    qtbot.waitUntil(lambda: run.path in window.runs.model.rows, timeout=WAIT_MS)


def test_the_list_of_runs_is_read_again_while_a_sweep_or_a_paired_test_trains(
    qtbot: QtBot, window: MainWindow, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    show(qtbot, window, "runs")
    rescan = timer(window.runs, "rescan_timer")
    qtbot.waitUntil(lambda: not window.runs.reading, timeout=WAIT_MS)
    assert not rescan.isActive()
    paired_tests = window.health.paired_tests
    with monkeypatch.context() as patched:
        patched.setattr(type(paired_tests), "trains", property(lambda _: True))
        paired_tests.busy_changed.emit(True)
        qtbot.waitUntil(rescan.isActive, timeout=WAIT_MS)
        run = make_run(runs_dir)
        qtbot.waitUntil(lambda: run.path in window.runs.model.rows, timeout=WAIT_MS)
    paired_tests.busy_changed.emit(False)
    qtbot.waitUntil(lambda: not window.runs.reading and not rescan.isActive(), timeout=WAIT_MS)


@pytest.mark.parametrize("way", ["covered", "closed"])
def test_the_sweeps_are_looked_for_only_while_they_can_be_seen(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    panel = show(qtbot, window, "sweeps")
    look = timer(panel, "look_timer")
    qtbot.waitUntil(look.isActive, timeout=WAIT_MS)
    # Nor does the end of a sweep find the panel looking for ever.
    monkeypatch.setattr(type(panel), "busy", property(lambda _: True))
    if way == "covered":
        cover(qtbot, window, "sweeps")
    else:
        window.docks.close("sweeps")
    qtbot.waitUntil(lambda: not look.isActive(), timeout=WAIT_MS)
    window.docks.open("sweeps")
    qtbot.waitUntil(look.isActive, timeout=WAIT_MS)
