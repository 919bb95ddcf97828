"""Rows of tabs that Qt makes for panels in one place."""

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QTabBar


class LayoutRequests(QObject):
    """Counts how often a widget is laid out."""

    def __init__(self, widget: QObject) -> None:
        super().__init__(widget)
        self.count = 0
        widget.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:  # noqa: N802
        self.count += event.type() == QEvent.Type.LayoutRequest
        return False


def test_a_row_that_is_left_with_one_tab_does_not_lie_over_the_toolbar(qtbot, window) -> None:
    # As Qt leaves one where a remembered arrangement has a single panel in a place of its own.
    lone = QTabBar(window)
    lone.addTab("Instruments")
    lone.setGeometry(0, 0, 100, 30)
    lone.show()
    window.docks.open("log")
    qtbot.waitUntil(lambda: not lone.geometry().intersects(window.rect()))


def test_a_window_that_nobody_touches_comes_to_rest(qtbot, window) -> None:
    requests = LayoutRequests(window)
    window.docks.open("log")
    qtbot.waitUntil(lambda: requests.count > 0)

    def is_at_rest() -> bool:
        before = requests.count
        for _ in range(20):
            # Each turn does the work requested by the previous one.
            qtbot.wait(1)
        return requests.count == before

    qtbot.waitUntil(is_at_rest, timeout=10_000)
