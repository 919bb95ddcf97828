"""The mouse in a plot."""

import pyqtgraph as pg
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication


def turn_wheel(
    plot: pg.GraphicsView,
    keys: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
    at: QPoint | None = None,
) -> None:
    """Turn the wheel by one notch, by default in the middle."""
    at = at or plot.viewport().rect().center()
    wheel = QWheelEvent(
        QPointF(at),
        QPointF(plot.viewport().mapToGlobal(at)),
        QPoint(),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        keys,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(plot.viewport(), wheel)


def double_click(plot: pg.GraphicsView) -> None:
    """Click twice in the middle."""
    middle = plot.viewport().rect().center()
    QTest.mouseClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    QTest.mouseDClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    QTest.mouseRelease(plot.viewport(), Qt.MouseButton.LeftButton, pos=middle)
