"""The form shows the disk space of a run before it takes it."""

import threading

import pytest
from PySide6.QtWidgets import QApplication

from studio import formatting
from td3core.runs import disk_usage

pytestmark = pytest.mark.shared_window


def text(find) -> str:
    """Return the displayed line, with plain spaces; empty if it is hidden."""
    line = find("setup_disk")
    return line.text().replace("\N{NO-BREAK SPACE}", " ") if line.isVisible() else ""


def test_the_form_says_what_a_run_will_take(find):
    find("env_combo").setCurrentText("Pendulum-v1")
    find("steps_spin").setValue(100_000)
    find("field_buffer_size").setValue(50_000)
    find("field_checkpoint_interval").setValue(10_000)
    # 3 + 3 observations, one action, reward and end, 4 bytes each, and 20 000 rows to spare.
    assert f"replay buffer {formatting.format_size(70_000 * 36)}" in text(find)
    assert "12 checkpoints" in text(find)
    find("field_keep_every").setValue(5)
    assert "4 checkpoints" in text(find)
    find("field_keep_replay").setChecked(False)
    assert "replay buffer 0," in text(find)


def test_little_room_is_said_in_the_colour_of_warnings(qtbot, find, monkeypatch):
    monkeypatch.setattr(disk_usage, "free_bytes", lambda _: 1_000_000)
    find("env_combo").setCurrentText("Pendulum-v1")
    find("steps_spin").setValue(100_001)
    qtbot.waitUntil(lambda: "Only 1 MB" in text(find))
    assert find("setup_disk").property("role") == "warn"
    monkeypatch.setattr(disk_usage, "free_bytes", lambda _: 10**15)
    find("steps_spin").setValue(100_002)
    qtbot.waitUntil(lambda: "Only" not in text(find))
    assert find("setup_disk").property("role") == "muted"


def test_room_that_is_read_late_does_not_bring_back_a_hidden_line(qtbot, find, monkeypatch):
    asked, answer = threading.Event(), threading.Event()

    def late(_: object) -> int:
        asked.set()
        answer.wait(10)
        return 1

    monkeypatch.setattr(disk_usage, "free_bytes", late)
    find("env_combo").setCurrentText("Pendulum-v1")
    assert asked.wait(10)
    find("env_combo").setCurrentText("Nobody-knows-v0")
    answer.set()
    qtbot.waitUntil(lambda: "free-space" not in [each.name for each in threading.enumerate()])
    QApplication.processEvents()
    assert text(find) == ""


@pytest.mark.parametrize("env", ["", "Nobody-knows-v0"])
def test_of_an_environment_that_is_not_known_nothing_is_said(find, env):
    find("env_combo").setCurrentText(env)
    assert text(find) == ""
    find("env_combo").setCurrentText("BipedalWalker-v3")
    assert "On disk" in text(find)
