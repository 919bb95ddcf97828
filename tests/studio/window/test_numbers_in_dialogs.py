"""A dialog goes on with the number that is displayed in it, or says why it cannot."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QLocale, Qt
from PySide6.QtWidgets import QAbstractSpinBox, QDialog, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from studio.health.paired_test_dialog import PairedTestDialog
from studio.instruments.sweep import SweepInstrument
from studio.launch.dialogs import MoreStepsDialog, RepeatDialog
from studio.widgets.forms import ProblemLabel
from studio.widgets.number_box import NumberBox
from td3core.analysis.advice import SettingChange
from td3core.runs.journal import Change
from td3core.runs.listing import summarise
from tests.studio.fake_runs import make_run


def more_steps(folder: Path, parent: QWidget) -> QDialog:
    return MoreStepsDialog(summarise(make_run(folder)), parent)


def repeat(folder: Path, parent: QWidget) -> QDialog:
    change = Change(env_steps=100, name="tau", new=0.01)
    return RepeatDialog(make_run(folder), [change], "my run", parent)


def paired_test(_: Path, parent: QWidget) -> QDialog:
    tried = SettingChange(setting="tau", old=1.0, new=0.005)
    return PairedTestDialog(tried, 500, 200_000, parent, steps_per_s=100.0, free_cores=1)


@pytest.fixture
def parent(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    return made


@pytest.mark.parametrize("way", ["enter", "button"])
@pytest.mark.parametrize(
    ("make", "name", "text", "reason", "right"),
    [
        (more_steps, "more_steps_spin", "5", "below the smallest allowed value", "1e6"),
        (more_steps, "more_steps_spin", "2k", "not a number", "1 000 000"),
        (repeat, "repeat_seed_spin", "-1", "below the smallest allowed value", "1000000"),
        (paired_test, "trial_steps", "5.5", "not a whole number", "1,000,000"),
        (paired_test, "trial_pairs", "0", "below the smallest allowed value", "2"),
    ],
)
def test_a_dialog_stays_open_and_says_why_until_its_number_is_allowed(
    qtbot: QtBot,
    parent: QWidget,
    tmp_path: Path,
    make: Callable[[Path, QWidget], QDialog],
    name: str,
    text: str,
    reason: str,
    right: str,
    way: str,
) -> None:
    dialog = make(tmp_path, parent)
    qtbot.addWidget(dialog)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    dialog.show()
    dialog.activateWindow()
    qtbot.waitUntil(lambda: dialog.focusWidget() is not None)
    box, problem = dialog.findChild(QAbstractSpinBox, name), dialog.findChild(ProblemLabel)
    box.setFocus()
    button = next(each for each in dialog.findChildren(QPushButton) if each.isDefault())
    assert isinstance(box, NumberBox)

    def enter(typed: str) -> None:
        box.setFocus()
        box.selectAll()
        qtbot.keyClicks(box, typed)
        if way == "enter":
            qtbot.keyClick(box, Qt.Key.Key_Return)
        else:
            qtbot.mouseClick(button, Qt.MouseButton.LeftButton)

    enter(text)
    assert dialog.isVisible()
    assert reason in problem.text()
    assert problem.isVisible()
    assert problem.height() >= problem.heightForWidth(problem.width())
    assert box.lineEdit().selectedText() == text
    enter(right)
    assert dialog.result() == QDialog.DialogCode.Accepted
    assert box.entered() == (2 if right == "2" else 1_000_000)


@pytest.fixture
def german() -> Iterator[None]:
    before = QLocale()
    QLocale.setDefault(QLocale(QLocale.Language.German, QLocale.Country.Germany))
    yield
    QLocale.setDefault(before)


def test_a_number_has_the_same_separators_in_the_field_as_in_the_text_below_it(
    qtbot: QtBot, parent: QWidget, tmp_path: Path, german: None
) -> None:
    dialog = paired_test(tmp_path, parent)
    assert isinstance(dialog, PairedTestDialog)
    assert dialog.steps.text() == "20,000"
    assert "20,000" in dialog.cost.text()
    dialog.show()
    dialog.steps.selectAll()
    qtbot.keyClicks(dialog.steps, "1e4")
    dialog.steps.interpretText()
    assert (dialog.steps.value(), dialog.steps.text()) == (10_000, "10,000")


def test_an_arrow_key_reaches_every_dimension_of_an_action(qtbot: QtBot) -> None:
    sweep = SweepInstrument()
    qtbot.addWidget(sweep)
    assert isinstance(sweep.dimension, NumberBox)
    sweep.dimension.setMaximum(500)
    sweep.dimension.setValue(200)
    qtbot.keyClick(sweep.dimension, Qt.Key.Key_Up)
    assert sweep.dimension.value() == 201
