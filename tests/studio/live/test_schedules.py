"""A live setting that follows a schedule: its row draws it, a hand ends it, undo brings it back."""

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QLineEdit, QMenu, QWidget

from studio.live.live_panel import LivePanel
from studio.live.schedule_dialog import ScheduleDialog
from studio.theme.theme import load_theme
from td3core.config import Tunables, at_step, changes, given, spec
from td3core.config.tunables import NO_FLOOR
from tests.studio.live.requests import Requests

TAU = "0.02@20000, 0.005@40000"
STEPS = 100_000


@pytest.fixture
def panel(qtbot, requests: Requests) -> LivePanel:
    made = LivePanel(requests)
    qtbot.addWidget(made)
    made.set_theme(load_theme("light"))
    made.set_steps(STEPS)
    made.show_defaults(Tunables(tau=TAU))  # type: ignore[arg-type]
    made.set_steered(True)
    made.show()
    return made


def test_the_row_draws_its_schedule_and_follows_the_run(panel, look, requests) -> None:
    curve = look("schedule_tau")
    assert curve.isVisible()
    assert curve.accessibleName() == f"Schedule: {TAU}"
    assert not look("schedule_gamma").isVisible()
    before = curve.grab().toImage()
    panel.follow(30_000, STEPS)
    assert look("spin_tau").value() == pytest.approx(0.0125)
    assert curve.grab().toImage() != before
    # To follow is no change, and asks nothing of the run.
    look("slider_gamma").setValue(100)
    look("slider_gamma").sliderReleased.emit()
    assert given(requests.made[-1], "tau") == TAU
    assert len(requests.made) == 1


def test_what_is_typed_into_a_number_that_follows_a_schedule_stays(
    qtbot, panel, look, requests
) -> None:
    panel.activateWindow()
    box = look("spin_tau")
    box.setFocus()
    box.selectAll()
    for at, key in enumerate("0.35"):
        panel.follow(25_000 + at, STEPS)
        qtbot.keyClick(box, key)
    panel.follow(26_000, STEPS)
    assert box.text() == "0.35"
    assert look("slider_tau").value() > 0
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert given(requests.made[-1], "tau") == 0.35
    assert not look("schedule_tau").isVisible()


def test_wrong_text_in_a_number_that_follows_a_schedule_stays_marked(qtbot, panel, look) -> None:
    panel.activateWindow()
    box = look("spin_tau")
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, "a lot")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    panel.follow(25_000, STEPS)
    assert box.text() == "a lot"
    assert "a lot" in box.accessibleDescription()
    box.clear()
    qtbot.keyClicks(box, "0.01")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert box.accessibleDescription() == ""


def test_a_request_says_what_was_shown_so_that_only_the_change_is_made(
    panel, look, requests
) -> None:
    panel.follow(25_000, STEPS)
    look("spin_gamma").setValue(0.5)
    assert [name for name, _, _ in changes(requests.before, requests.made[-1])] == ["gamma"]


def test_a_slider_moved_by_hand_ends_its_schedule_and_undo_brings_it_back(
    panel, look, requests
) -> None:
    panel.follow(25_000, STEPS)
    look("spin_tau").setValue(0.3)
    assert not look("schedule_tau").isVisible()
    assert given(requests.made[-1], "tau") == 0.3
    assert look("last_change").text() == "Last change: τ schedule → 0.3"
    panel.acknowledge(requests.acknowledged(at_step(requests.made[-1], 25_000, STEPS), 25_000))
    panel.follow(30_000, STEPS)
    assert look("spin_tau").value() == 0.3
    panel.undo()
    assert look("schedule_tau").isVisible()
    assert given(requests.made[-1], "tau") == TAU
    assert look("spin_tau").value() == pytest.approx(0.0125)
    panel.redo()
    assert given(requests.made[-1], "tau") == 0.3


def test_the_reset_button_restores_the_schedule(panel, look, requests) -> None:
    reset = look("reset_tau")
    assert not reset.isEnabled()
    panel.follow(30_000, STEPS)
    assert not reset.isEnabled()
    look("spin_tau").setValue(0.3)
    reset.click()
    assert given(requests.made[-1], "tau") == TAU
    assert not reset.isEnabled()


def test_a_schedule_is_entered_in_a_dialog_that_says_what_is_wrong(panel, look, requests) -> None:
    seen: list[str] = []

    def enter() -> None:
        dialog = QApplication.activeModalWidget()
        assert isinstance(dialog, ScheduleDialog)
        ok = dialog.findChild(QDialogButtonBox).button(QDialogButtonBox.StandardButton.Ok)
        text = dialog.findChild(QLineEdit, "schedule_text")
        seen.append(text.text())
        text.setText("0.9@0, 7@10")
        assert not ok.isEnabled()
        seen.append(dialog.findChild(QWidget, "schedule_problem").text())
        text.setText("0.9@0, 0.99@100%")
        assert ok.isEnabled()
        ok.click()

    QTimer.singleShot(0, enter)
    panel.row("gamma").schedule_wanted.emit()
    assert seen == ["0.99@0", "Discount cannot be 7.0; it must be a number from 0 to 1."]
    assert given(requests.made[-1], "gamma") == "0.9@0, 0.99@100%"
    assert look("schedule_gamma").isVisible()


@pytest.mark.parametrize(
    ("name", "value", "begin"),
    [
        ("reward_floor", NO_FLOOR, "off@0"),
        ("reward_floor", -5.0, "-5.0@0"),
        ("batch_size", 1024, "1024@0"),
    ],
)
def test_a_schedule_begins_with_the_value_in_a_form_that_is_read(
    qtbot, stretched, name: str, value: float, begin: str
) -> None:
    tunables, parent = Tunables(**{name: value}), QWidget()
    dialog = ScheduleDialog(name, spec(Tunables, name), tunables, 0, 1000, parent)
    qtbot.addWidget(parent)
    assert dialog.schedule == begin
    assert dialog.findChild(QWidget, "schedule_problem").text() == ""


def test_a_row_offers_a_schedule_or_its_end(qtbot, panel, look, requests) -> None:
    def actions(name: str) -> list:
        row = panel.row(name)
        row.contextMenuEvent(_menu_event(row))
        (menu,) = row.findChildren(QMenu)
        return menu.actions()

    (offer,) = actions("gamma")
    assert offer.text() == "Follow a schedule…"
    change, end = actions("tau")
    assert (change.text(), end.text()) == ("Change schedule…", "End schedule here")
    panel.follow(30_000, STEPS)
    end.trigger()
    assert given(requests.made[-1], "tau") == pytest.approx(0.0125)


def _menu_event(row: QWidget):
    from PySide6.QtGui import QContextMenuEvent

    place = row.rect().center()
    return QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, row.mapToGlobal(place))
