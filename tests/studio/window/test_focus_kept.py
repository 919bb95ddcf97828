"""The keyboard focus is somewhere, whatever a run locks."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from studio.session.controller import SessionState


@pytest.mark.parametrize("field", ["steps_spin", "env_combo"])
def test_a_run_started_from_a_field_leaves_the_focus_in_setup(
    qtbot, window, find, field: str
) -> None:
    find("env_combo").setCurrentText("Pendulum-v1")
    window.activateWindow()
    find(field).setFocus()
    qtbot.waitUntil(find(field).hasFocus)
    qtbot.keyClick(window, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: window.controller.state is SessionState.RUNNING, timeout=30_000)
    assert QApplication.focusWidget().text() == "Prepare the next run"
    window.controller.stop()
    qtbot.waitUntil(lambda: window.controller.state is SessionState.IDLE, timeout=30_000)
    assert QApplication.focusWidget() is find("steps_spin")
