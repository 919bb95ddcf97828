"""Rows of tabs that Qt makes for panels in one place."""

from PySide6.QtWidgets import QTabBar


def test_a_row_that_is_left_with_one_tab_does_not_lie_over_the_toolbar(qtbot, window) -> None:
    # As Qt leaves one where a remembered arrangement has a single panel in a place of its own.
    lone = QTabBar(window)
    lone.addTab("Instruments")
    lone.setGeometry(0, 0, 100, 30)
    lone.show()
    window.docks.open("log")
    qtbot.waitUntil(lambda: not lone.isVisible())
