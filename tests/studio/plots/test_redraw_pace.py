"""New data is drawn less often if drawing takes long; the user's moves are drawn at once."""

import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from studio.plots.grid import REDRAW_MS
from studio.window.main_window import MainWindow

pytestmark = pytest.mark.shared_window


@pytest.mark.parametrize(("seconds", "pause_ms"), [(0.0, REDRAW_MS), (0.005, 250), (10.0, 500)])
def test_the_pause_follows_what_drawing_costs(
    window: MainWindow,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    pause_ms: int,
) -> None:
    spent = [0.0]

    def thread_time() -> float:
        spent[0] += seconds
        return spent[0]

    monkeypatch.setattr("time.thread_time", thread_time)
    timer = window.plots.findChild(QTimer, "redraw_timer")
    timer.setInterval(321)
    window.plots.redraw_later()
    qtbot.waitUntil(lambda: timer.interval() == pause_ms)
    window.plots.redraw_later()
    window.plots.card(window.plots.large).view_changed.emit()
    assert timer.remainingTime() <= 1.1 * REDRAW_MS  # Qt may be 5 % late.


@pytest.mark.slow
def test_curves_take_the_colours_of_a_theme_at_once(window: MainWindow) -> None:
    timer = window.plots.findChild(QTimer, "redraw_timer")
    timer.start(100 * REDRAW_MS)
    window.switch_theme()
    assert timer.remainingTime() <= 1.1 * REDRAW_MS
