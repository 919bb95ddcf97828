"""A widget is refreshed while it can be seen, and catches up when it comes into sight."""

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from studio.widgets.sight import Sight

WAIT_MS = 20_000


def test_requests_for_a_refresh_are_answered_once_and_in_sight_only(qtbot: QtBot) -> None:
    widget, seen = QWidget(), list[bool]()
    qtbot.addWidget(widget)
    sight = Sight(widget, 10)
    sight.due.connect(lambda: seen.append(sight.seen))
    sight.ask()
    assert not sight.delay.isActive()
    widget.show()
    qtbot.waitUntil(lambda: seen == [True], timeout=WAIT_MS)
    for _ in range(3):
        sight.ask()
    qtbot.waitUntil(lambda: not sight.delay.isActive(), timeout=WAIT_MS)
    assert seen == [True, True]
    sight.ask()
    with qtbot.waitSignal(sight.changed, timeout=WAIT_MS):
        widget.hide()
    qtbot.waitUntil(lambda: not sight.delay.isActive(), timeout=WAIT_MS)
    assert seen == [True, True]
    widget.show()
    qtbot.waitUntil(lambda: seen == [True, True, True], timeout=WAIT_MS)
