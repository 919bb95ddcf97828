"""A live change can be undone; undoing is a change of its own."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from studio.live import edit_history
from td3core.config import Tunables
from td3core.protocol.events import Tuned
from td3core.runs.journal import changes_of, read
from tests.studio.window.test_main_job import click, drag, start_pendulum

pytestmark = pytest.mark.shared_window


def settled(qtbot, window) -> None:
    qtbot.waitUntil(lambda: not window.live.pending, timeout=10_000)


@pytest.mark.own_window
@pytest.mark.slow
def test_changes_are_taken_back_one_by_one_and_journaled(qtbot, window, find):
    listener = start_pendulum(qtbot, window, find)
    first = window.live.tunables()
    undo = find("undo_button")
    assert not undo.isEnabled()
    drag(qtbot, find("slider_tau"), 0.9)
    settled(qtbot, window)
    tau = window.live.tunables().tau
    drag(qtbot, find("slider_policy_noise"), 0.7)
    settled(qtbot, window)
    assert undo.isEnabled()
    assert find("last_change").text().startswith("Last change: σ̃ 0.2 → ")
    click(qtbot, undo)
    settled(qtbot, window)
    assert window.live.tunables() == Tunables(
        **{name: getattr(first, name) for name in first.__slots__ if name != "tau"}, tau=tau
    )
    window.activateWindow()
    find("log_view").setFocus()
    qtbot.keyClick(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    settled(qtbot, window)
    assert window.live.tunables() == first
    assert not undo.isEnabled()
    assert listener.all(Tuned)[-1].tunables == first
    written = changes_of(read(window.model.record.run / "journal.jsonl"))
    assert [(each.name, each.new) for each in written[-2:]] == [
        ("policy_noise", 0.2),
        ("tau", 0.005),
    ]
    # Going back is not nothing: time has passed in between, and it has a mark of its own.
    assert window.model.record.journal.markers[-1].new == 0.005


def test_a_drag_is_taken_back_as_one(window, find):
    first = window.live.tunables()
    for position in range(200, 800, 50):
        find("slider_tau").setValue(position)
        find("slider_tau").sliderReleased.emit()
    window.live.undo()
    assert window.live.tunables() == first
    assert not window.live.can_undo


def test_two_changes_of_one_setting_with_time_between_them_are_two(window, find, monkeypatch):
    first = window.live.tunables()
    now = [0.0]
    monkeypatch.setattr(edit_history.time, "monotonic", lambda: now[0])
    for value in (0.1, 0.2):
        find("spin_tau").setValue(value)
        now[0] += 60
    window.live.undo()
    assert window.live.tunables().tau == 0.1
    window.live.undo()
    assert window.live.tunables() == first


@pytest.mark.own_window
@pytest.mark.slow
def test_what_the_run_refused_is_skipped(qtbot, window, find):
    find("env_combo").setCurrentText("Pendulum-v1")
    find("field_buffer_size").setValue(1000)
    start_pendulum(qtbot, window, find)
    find("spin_tau").setValue(0.1)
    settled(qtbot, window)
    find("spin_batch_size").setValue(2000)
    settled(qtbot, window)
    qtbot.waitUntil(lambda: find("spin_batch_size").value() != 2000, timeout=10_000)
    # Said above the plots: the panel may be closed, and the log usually is.
    assert window.banner.isVisible()
    assert window.banner.text == "Batch size 2000 is larger than Replay buffer 1000."
    click(qtbot, find("undo_button"))
    settled(qtbot, window)
    assert not window.banner.isVisible()
    assert find("spin_tau").value() == 0.005


def test_another_preset_has_nothing_to_take_back(window, find):
    find("spin_tau").setValue(0.1)
    assert window.live.can_undo
    find("env_combo").setCurrentText("Pendulum-v1")
    assert not window.live.can_undo


@pytest.mark.parametrize(("typed", "taken_back"), [("", True), ("7", False)])
def test_in_a_box_the_keys_take_back_what_is_being_typed_first(
    qtbot, window, find, typed, taken_back
):
    box = find("spin_tau")
    before = box.value()
    box.setValue(0.1)
    window.activateWindow()
    box.setFocus()
    box.lineEdit().end(False)
    qtbot.keyClicks(box, typed)
    qtbot.keyClick(box, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    QApplication.processEvents()
    assert box.value() == (before if taken_back else 0.1)
