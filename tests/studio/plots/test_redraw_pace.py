"""New data is drawn less often where drawing takes long; what the user moves to, at once."""

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.plots import grid
from studio.window.main_window import MainWindow


def waits(window: MainWindow, qtbot: QtBot) -> int:
    """Redraw, and return how long the next redraw of new data waits, in milliseconds."""
    qtbot.waitUntil(lambda: not window.plots.redraw_pending)
    QApplication.processEvents()
    window.plots.redraw_later()
    return window.plots.findChild(QTimer).interval()


@pytest.mark.parametrize(("seconds", "least", "most"), [(0.0, 100, 100), (10.0, 500, 500)])
def test_the_pause_follows_what_drawing_costs(
    window: MainWindow,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    least: int,
    most: int,
) -> None:
    spent = [0.0]

    def thread_time() -> float:
        spent[0] += seconds
        return spent[0]

    monkeypatch.setattr("time.thread_time", thread_time)
    window.plots.redraw_later()
    assert least <= waits(window, qtbot) <= most
    window.plots.card(window.plots.large).view_changed.emit()
    timer = window.plots.findChild(QTimer)
    assert timer.remainingTime() <= grid.REDRAW_MS
