"""The mouse over a widget."""

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget


def turn_wheel(
    widget: QWidget,
    notches: int = 1,
    *,
    keys: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
    at: QPoint | None = None,
) -> None:
    """Turn the wheel over a widget, by default its middle; away from the user if positive."""
    at = at or widget.rect().center()
    event = QWheelEvent(
        QPointF(at),
        QPointF(widget.mapToGlobal(at)),
        QPoint(),
        QPoint(0, 120 * notches),
        Qt.MouseButton.NoButton,
        keys,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(widget, event)


def double_click(widget: QWidget) -> None:
    """Click twice in the middle of a widget."""
    middle = widget.rect().center()
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton, pos=middle)
    QTest.mouseDClick(widget, Qt.MouseButton.LeftButton, pos=middle)
    QTest.mouseRelease(widget, Qt.MouseButton.LeftButton, pos=middle)
