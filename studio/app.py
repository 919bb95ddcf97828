"""Starts the application: theme, crash hook, window."""

import gc
import signal
import sys
from functools import partial
from importlib.resources import files
from pathlib import Path

from PySide6.QtCore import QSettings, QTimer
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from studio.session.worker import load_engine_in_background
from studio.theme.theme import load_theme, system_theme
from studio.window.crash_reporter import CrashReporter
from studio.window.main_window import MainWindow
from td3core.runs.new_run import default_runs_dir

SWITCH_INTERVAL_S = 0.0005
"""Threads take turns this often instead of every 5 ms. Without it the pure Python of the warm-up
and of the environments keeps the window waiting for up to 300 ms."""


def build_window(runs_dir: Path) -> MainWindow:
    """Build the whole window without showing it. Needs a QApplication."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    settings = QSettings(
        QSettings.Format.IniFormat, QSettings.Scope.UserScope, "td3-studio", "td3-studio"
    )
    name = str(settings.value("theme", "")) or system_theme(app)
    theme = load_theme(name if name in ("light", "dark") else "light")
    return MainWindow(runs_dir, settings, theme)


def run(runs_dir: Path | None = None) -> int:
    """Open the window and return the exit status once it is closed."""
    if sys.platform == "win32":
        # There torch's libraries cannot be loaded any more once Qt's are (torch issue 166628).
        load_engine_in_background().join()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    app = QApplication(sys.argv[:1])
    app.setApplicationName("TD3 Studio")
    app.setDesktopFileName("td3-studio")
    app.setWindowIcon(QIcon(str(files("resources") / "icons" / "td3-studio.svg")))
    window = build_window(runs_dir or default_runs_dir())
    CrashReporter(window, window.controller, partial(window.log.add, "error")).install()
    window.show()
    turns = _let_signals_in(window)
    QTimer.singleShot(0, _collect_again)
    # After the first picture: loading torch takes a second of the interpreter's time.
    QTimer.singleShot(200, load_engine_in_background)
    status = app.exec()
    turns.stop()
    return status


def _collect_again() -> None:
    """Collect rubbish from now on, but not among what the launch has made."""
    gc.freeze()
    gc.enable()


def _let_signals_in(window: MainWindow) -> QTimer:
    """Make Ctrl-C and the system's request to end save the run and close the window."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: window.leave())
    # Python runs its handlers between two of its own instructions; Qt alone never has one.
    turns = QTimer()
    turns.timeout.connect(lambda: None)
    turns.start(200)
    return turns
