"""The list of environments as a field."""

import shiboken6
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.setup.env_picker import EnvPicker


def test_a_field_that_goes_right_after_it_was_entered_is_not_asked_to_select(
    qtbot: QtBot, qapp: QApplication
) -> None:
    picker = EnvPicker()
    entered = QFocusEvent(QEvent.Type.FocusIn, Qt.FocusReason.TabFocusReason)
    qapp.sendEvent(picker, entered)
    shiboken6.delete(picker)
    with qtbot.captureExceptions() as exceptions:
        qapp.processEvents()
    assert not exceptions
