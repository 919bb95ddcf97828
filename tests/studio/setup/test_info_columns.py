"""The numbers of an environment's info are found by examining it, and chosen from a list."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLineEdit, QPushButton

from studio.setup.info_field import InfoField
from studio.window.main_window import MainWindow
from td3core.config.info_columns import MOST
from td3core.text import Text

PATIENCE_MS = 120_000


@pytest.fixture
def field(qtbot) -> InfoField:
    edit = QLineEdit()
    made = InfoField(edit, edit.text, edit.setText)
    made.edit = edit
    qtbot.addWidget(made)
    made.show()
    yield made
    made.shutdown()


def names(field: InfoField) -> dict[str, bool]:
    items = [field.dialog.names.item(at) for at in range(field.dialog.names.count())]
    return {item.text(): item.checkState() == Qt.CheckState.Checked for item in items}


def tick(field: InfoField, name: str, on: bool = True) -> None:
    (item,) = field.dialog.names.findItems(name, Qt.MatchFlag.MatchExactly)
    item.setCheckState(Qt.CheckState.Checked if on else Qt.CheckState.Unchecked)


def test_what_is_ticked_is_entered_and_what_was_entered_is_ticked(field: InfoField) -> None:
    asked = []
    field.use_query(lambda query, _refuse: asked.append(query))
    field.edit.setText("late, speed")
    field.button.click()
    (query,) = asked
    assert names(field) == {"late": True, "speed": True}
    query.answered.emit({"info": ["height", "speed"]})
    # A name that random steps did not return is kept.
    assert names(field) == {"height": False, "speed": True, "late": True}
    tick(field, "height")
    tick(field, "late", on=False)
    field.dialog.accept()
    assert field.edit.text() == "height, speed"
    field.button.click()
    tick(field, "speed", on=False)
    field.dialog.reject()
    assert field.edit.text() == "height, speed"


def test_no_more_can_be_ticked_than_are_recorded(field: InfoField) -> None:
    field.use_query(lambda query, _refuse: query.answered.emit({"info": many}))
    many = [f"n{at}" for at in range(MOST + 2)]
    field.edit.setText(", ".join(many[:MOST]))
    field.button.click()
    last = field.dialog.names.item(MOST)
    assert not last.flags() & Qt.ItemFlag.ItemIsEnabled
    tick(field, "n0", on=False)
    assert last.flags() & Qt.ItemFlag.ItemIsEnabled


def test_why_there_are_no_names_is_said(field: InfoField) -> None:
    field.use_query(lambda _query, refuse: refuse(Text("No such environment.")))
    field.button.click()
    assert field.dialog.about.text() == "No such environment."
    field.use_query(lambda query, _refuse: query.answered.emit({"info": []}))
    field.button.click()
    assert "returned no numbers" in field.dialog.about.text()


@pytest.mark.slow
def test_the_numbers_of_reacher_are_offered_and_recorded_by_the_next_run(
    qtbot, window: MainWindow, find, runs_dir: Path
) -> None:
    find("env_combo").setCurrentText("Reacher-v5")
    find("advanced").expand()
    find("info_columns_button").click()
    dialog: QDialog = window.findChild(QDialog, "info_dialog")
    listed = dialog.names
    qtbot.waitUntil(
        lambda: bool(listed.findItems("reward_ctrl", Qt.MatchFlag.MatchExactly)),
        timeout=PATIENCE_MS,
    )
    (item,) = listed.findItems("reward_ctrl", Qt.MatchFlag.MatchExactly)
    item.setCheckState(Qt.CheckState.Checked)
    for button in dialog.findChildren(QPushButton):
        if button.isDefault():
            button.click()
    assert find("field_info_columns").text() == "reward_ctrl"
    config, _ = window.setup.settings(window.live.tunables())
    assert config.info_columns == "reward_ctrl"
    # It says nothing about another environment.
    find("env_combo").setCurrentText("Pendulum-v1")
    assert find("field_info_columns").text() == ""
