"""Questions to the user: what Enter and Escape answer."""

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from studio.window.close_question import ask_to_end, ask_what_to_do


@pytest.mark.parametrize(("can_leave", "enter"), [(True, "keep"), (False, "cancel")])
def test_neither_enter_nor_escape_ends_a_run(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, can_leave: bool, enter: str
) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)

    def answered(press: Callable[[QMessageBox], object]) -> str:
        monkeypatch.setattr(QMessageBox, "exec", press)
        return ask_what_to_do(parent, can_leave=can_leave)

    assert answered(lambda box: box.defaultButton().click()) == enter
    assert answered(lambda box: box.reject()) == "cancel"
    stop = "close_question_stop"
    assert answered(lambda box: box.findChild(QPushButton, stop).click()) == "stop"


def test_neither_enter_nor_escape_ends_a_task(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)

    def answered(press: Callable[[QMessageBox], object]) -> str:
        monkeypatch.setattr(QMessageBox, "exec", press)
        return ask_to_end(parent, ["Report"])

    assert answered(lambda box: box.defaultButton().click()) == "cancel"
    assert answered(lambda box: box.reject()) == "cancel"
    assert answered(lambda box: box.findChild(QPushButton, "close_question_stop").click()) == "stop"
