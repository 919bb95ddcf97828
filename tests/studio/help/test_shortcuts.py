"""The list of keys and mouse actions can be read to the end of every line."""

import pytest
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from studio.help.shortcuts import ShortcutsDialog


@pytest.mark.parametrize("points", [9, 14])
def test_no_line_of_the_shortcuts_is_cut(qtbot: QtBot, qapp: QApplication, points: int) -> None:
    before = qapp.font()
    font = QFont(before)
    font.setPointSizeF(points)
    qapp.setFont(font)
    window = QWidget()
    qtbot.addWidget(window)
    dialog = ShortcutsDialog([("Ctrl+T", "Start a new run, " * 5)], window)
    dialog.show()
    table = dialog.table
    for column in range(table.columnCount()):
        assert table.columnWidth(column) >= table.sizeHintForColumn(column)
    # Side by side if the screen is wide enough for them, else by scrolling.
    missing = table.header().length() - table.viewport().width()
    assert missing <= table.horizontalScrollBar().maximum()
    assert missing <= 0 or dialog.width() == dialog.screen().availableGeometry().width()
    dialog.close()
    qapp.setFont(before)
