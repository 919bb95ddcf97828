"""Unexpected errors are shown, can be copied, and cost no run."""

import sys
import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest
from PySide6.QtCore import QTimer, QtMsgType, qCritical, qInstallMessageHandler
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton

from studio.session.controller import SessionState
from studio.window.crash_reporter import CrashDialog, CrashReporter
from td3core.protocol.events import Ended, Saved
from tests.studio.window.test_main_job import click, start_pendulum


@pytest.fixture
def hook(window, monkeypatch) -> Iterator[CrashReporter]:
    """The hook, installed as in the application, and removed again."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    made = CrashReporter(window, window.controller, partial(window.log.add, "error"))
    before = qInstallMessageHandler(None)
    made.install()
    yield made
    qInstallMessageHandler(before)


def dialogs(window) -> list[CrashDialog]:
    return [each for each in window.findChildren(CrashDialog) if each.isVisible()]


def broken() -> None:
    raise ValueError("the plot thickened")


@pytest.mark.usefixtures("hook")
@pytest.mark.slow
def test_a_fault_in_a_slot_is_shown_can_be_copied_and_saves_the_run(qtbot, window, find, capsys):
    listener = start_pendulum(qtbot, window, find)
    QTimer.singleShot(0, broken)
    qtbot.waitUntil(lambda: len(dialogs(window)) == 1, timeout=10_000)
    qtbot.waitUntil(
        lambda: any(s.path.name.startswith("step_") for s in listener.all(Saved)), timeout=20_000
    )
    (dialog,) = dialogs(window)
    details = dialog.findChild(QPlainTextEdit, "crash_details").toPlainText()
    assert "Traceback" in details
    assert "the plot thickened" in details
    click(qtbot, dialog.findChild(QPushButton, "crash_copy_button"))
    assert QGuiApplication.clipboard().text() == details
    assert dialog.isVisible()
    assert "the plot thickened" in capsys.readouterr().err
    assert "the plot thickened" in find("log_view").toPlainText()
    assert window.controller.state is SessionState.RUNNING


@pytest.mark.usefixtures("hook")
def test_a_fault_that_repeats_shows_one_dialog_until_that_is_closed(qtbot, window):
    for _ in range(3):
        QTimer.singleShot(0, broken)
    qtbot.waitUntil(lambda: window.log.toPlainText().count("thickened") == 3, timeout=10_000)
    (dialog,) = dialogs(window)
    dialog.close()
    qtbot.waitUntil(lambda: not window.findChildren(CrashDialog), timeout=10_000)
    QTimer.singleShot(0, broken)
    qtbot.waitUntil(lambda: len(dialogs(window)) == 1, timeout=10_000)


@pytest.mark.usefixtures("hook")
def test_a_fault_in_another_thread_is_shown_by_the_windows_own(qtbot, window):
    thread = threading.Thread(target=broken, name="helper")
    thread.start()
    thread.join()
    qtbot.waitUntil(lambda: len(dialogs(window)) == 1, timeout=10_000)
    details = dialogs(window)[0].findChild(QPlainTextEdit, "crash_details").toPlainText()
    assert details.startswith("In the thread helper")


@pytest.mark.usefixtures("hook")
def test_a_critical_message_of_qt_is_shown(qtbot, window):
    qCritical("no more fonts")
    qtbot.waitUntil(lambda: len(dialogs(window)) == 1, timeout=10_000)
    assert "no more fonts" in window.log.toPlainText()


@pytest.mark.slow
def test_before_qt_ends_the_process_the_run_is_saved(qtbot, window, find, hook):
    listener = start_pendulum(qtbot, window, find)
    qtbot.waitUntil(lambda: bool(window.model.record.progress.env_steps), timeout=20_000)
    run = window.model.record.run
    begun = time.monotonic()
    hook.on_qt_message(QtMsgType.QtFatalMsg, None, "the display has gone")
    assert time.monotonic() - begun < 5, "it waited longer than the run took to save"
    # Not a turn of the event loop since.
    assert (run / "checkpoints" / "last.safetensors").exists()
    assert (run / "ending.json").exists()
    qtbot.waitUntil(lambda: bool(listener.all(Ended)), timeout=10_000)


@pytest.mark.parametrize("running", [True, False])
def test_only_with_a_run_going_on_is_it_said_to_be_safe(qtbot, running: bool) -> None:
    dialog = CrashDialog("ValueError: odd", "details", running=running)
    qtbot.addWidget(dialog)
    text = dialog.findChild(QLabel).text()
    assert "ValueError: odd" in text
    assert ("run in progress" in text) == running
