"""Numbers typed into the forms: the values trained with, and texts that stay marked as wrong."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QLineEdit

from tests.studio.window.test_main_job import click
from tests.support.events import started

pytestmark = pytest.mark.shared_window


def type_over(qtbot, box, text: str) -> None:
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, text)
    qtbot.keyClick(box, Qt.Key.Key_Tab)


@pytest.mark.parametrize("text", ["1e6", "1 000 000", "1,000,000", "1000000"])
def test_a_number_of_steps_is_trained_as_it_was_typed(
    qtbot, window, find, monkeypatch, text: str
) -> None:
    started = []
    monkeypatch.setattr(window.many, "start", started.append)
    find("env_combo").setCurrentText("Pendulum-v1")
    type_over(qtbot, find("steps_spin"), text)
    type_over(qtbot, find("spin_exploration_noise"), "0,01")
    click(qtbot, find("train_button"))
    (run,) = started
    assert (run.config.steps, run.tunables.exploration_noise) == (1_000_000, 0.01)


@pytest.mark.parametrize("way", ["mouse", "keys"])
def test_what_is_still_being_typed_counts_when_train_is_pressed(
    qtbot, window, find, monkeypatch, way: str
) -> None:
    started = []
    monkeypatch.setattr(window.many, "start", started.append)
    find("env_combo").setCurrentText("Pendulum-v1")
    window.activateWindow()
    for name, text in (("steps_spin", "7e3"), ("spin_tau", "0,03")):
        box = find(name)
        box.setFocus()
        box.selectAll()
        qtbot.keyClicks(box, text)
        if way == "mouse":
            click(qtbot, find("train_button"))
        else:
            window.toolbar.action("train").trigger()
        assert box.hasFocus()
    steps = [run.config.steps for run in started]
    assert steps == [7_000, 7_000]
    assert started[-1].tunables.tau == 0.03
    box.selectAll()
    qtbot.keyClicks(box, "wrong")
    click(qtbot, find("train_button"))
    assert len(started) == 2
    assert "wrong is not a number" in window.banner.text


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("steps_spin", "2e4x", "not a number"),
        ("steps_spin", "10 20", "not a number"),
        ("steps_spin", "0.5", "not a whole number"),
        ("spin_tau", "7", "above the largest allowed value, 1"),
        ("spin_batch_size", "12,5", "not a"),
    ],
)
def test_a_wrong_number_stays_marked_with_its_reason_and_starts_nothing(
    qtbot, window, find, monkeypatch, name: str, text: str, reason: str
) -> None:
    started = []
    monkeypatch.setattr(window.many, "start", started.append)
    find("env_combo").setCurrentText("Pendulum-v1")
    box = find(name)
    before = box.value()
    type_over(qtbot, box, text)
    assert (box.text(), box.value()) == (text, before)
    assert reason in box.accessibleDescription()
    bad = QColor(window.theme.bad).name()
    edge = box.grab().toImage()
    assert edge.pixelColor(edge.width() // 2, 0).name() == bad
    click(qtbot, find("train_button"))
    assert started == []
    assert text in window.banner.text
    assert reason in window.banner.text
    assert box.text() == text
    # Another value makes it right again.
    type_over(qtbot, box, str(before))
    click(qtbot, find("train_button"))
    assert len(started) == 1
    assert not window.banner.isVisible()


@pytest.mark.parametrize("action", ["train", "queue"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("steps_spin", "0"), ("spin_tau", "7"), ("field_buffer_size", "x")),
        *(("field_actor_hidden", "256, x"), ("seeds_edit", "1,1")),
    ],
)
def test_the_field_of_a_value_that_is_refused_is_shown_with_its_text_selected(
    qtbot, window, find, monkeypatch, action: str, name: str, text: str
) -> None:
    started = []
    monkeypatch.setattr(window.many, "start" if action == "train" else "add", started.append)
    field = find(name)
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, text)
    qtbot.keyClick(field, Qt.Key.Key_Return)
    window.setup.focus_steps()
    if name == "steps_spin":
        find("seed_spin").setFocus()
    window.activateWindow()
    window.toolbar.action(action).trigger()
    assert started == []
    assert window.focusWidget() is field
    assert field.isVisible()
    edit = field if isinstance(field, QLineEdit) else field.lineEdit()
    assert edit.selectedText() == text


@pytest.mark.parametrize(("panel", "name"), [("live", "spin_tau"), ("setup", "steps_spin")])
def test_the_panel_of_a_value_that_is_refused_is_opened(
    qtbot, window, find, monkeypatch, panel: str, name: str
) -> None:
    monkeypatch.setattr(window.many, "start", lambda _: pytest.fail("it started"))
    find("env_combo").setCurrentText("Pendulum-v1")
    type_over(qtbot, find(name), "wrong")
    window.docks.close(panel)
    assert not window.docks.is_seen(panel)
    window.activateWindow()
    window.toolbar.action("train").trigger()
    assert "wrong is not a" in window.banner.text
    assert window.docks.is_seen(panel)
    assert window.focusWidget() is find(name)


@pytest.mark.parametrize("action", ["train", "queue"])
def test_settings_that_do_not_go_together_are_refused_in_the_form(
    window, find, monkeypatch, action: str
) -> None:
    started = []
    monkeypatch.setattr(window.many, "start" if action == "train" else "add", started.append)
    find("env_combo").setCurrentText("Pendulum-v1")
    find("field_buffer_size").setValue(50)
    window.toolbar.action(action).trigger()
    assert started == []
    assert window.banner.text == "Batch size 256 is larger than Replay buffer 50."
    assert window.focusWidget() is find("spin_batch_size")


def test_a_run_begins_in_the_whole_window_whatever_is_being_typed(qtbot, window, find) -> None:
    config, tunables = window.setup.settings(window.live.tunables())
    run = Path("of-the-queue")
    type_over(qtbot, find("spin_tau"), "abc")
    window.model.handle(started(config, replace(tunables, gamma=0.5), run=run))
    assert window.replay.checkpoints.current_run == run.absolute()
    assert window.live.tunables() == replace(tunables, gamma=0.5)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        *((0.000908546, "0.0009085"), (1.2345678e-05, "1.235e-05"), (0.00345678, "0.0034568")),
        *((0.99999, "0.99999"), (0.123456, "0.123456"), (0.05, "0.05")),
    ],
)
def test_a_number_fits_its_live_box_and_keeps_its_digits(
    window, find, value: float, shown: str
) -> None:
    box = find("spin_actor_lr")
    box.setValue(value)
    line = box.lineEdit()
    margins = line.textMargins()
    # A line edit keeps two pixels on either side of its text.
    room = line.contentsRect().width() - margins.left() - margins.right() - 4
    assert line.text() == shown
    assert line.fontMetrics().horizontalAdvance(shown) <= room
    box.interpretText()
    assert box.value() == value
