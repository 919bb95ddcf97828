"""Starts the application: theme, window and crash reporter."""

import gc
import locale
import signal
import sys
from collections.abc import Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path

from PySide6.QtCore import QLibraryInfo, QSettings, QTimer, QTranslator
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from studio.session.worker import load_engine_in_background
from studio.theme.theme import load_theme, system_theme, take_off_theme
from studio.window.crash_reporter import CrashReporter
from studio.window.main_window import MainWindow
from studio.window.preferences.storage_watch import StorageWatch
from td3core.runs.new_run import default_runs_dir
from td3core.system.openmp import shorten_waits
from td3core.system.signals import ending_signals
from td3core.text import ENGLISH, choose_language

SWITCH_INTERVAL_S = 0.0005
"""Interval at which Python switches threads. With the default of 5 ms, the warm-up and the
environments, which are pure Python, block the window for up to 300 ms."""

_LOOK_AGAIN_MS = 100

_NEUTRAL = ("LC_NUMERIC", "LC_TIME", "LC_MESSAGES")


def build_window(runs_dir: Path) -> MainWindow:
    """Build the whole window without showing it. Requires a QApplication."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    reset_c_locale()
    settings = QSettings(
        QSettings.Format.IniFormat, QSettings.Scope.UserScope, "td3-studio", "td3-studio"
    )
    take_off_theme(app)
    name = str(settings.value("theme", "")) or system_theme(app)
    theme = load_theme(name if name in ("light", "dark") else "light")
    window = MainWindow(runs_dir, settings, theme)
    storage = StorageWatch(settings, window)
    for tell in (window.banner.show_message, window.log.add):
        storage.failed.connect(tell)
    storage.look()
    return window


def reset_c_locale() -> None:
    """Undo what a QApplication does to the C library: numbers, dates and messages in its language.

    Texts follow the window's language, and C code reads numbers with a decimal point.
    """
    for name in _NEUTRAL:
        # Windows has no messages.
        if category := getattr(locale, name, None):
            locale.setlocale(category, "C")


def translate_qt(app: QApplication, language: str) -> QTranslator | None:
    """Translate Qt's own buttons and menus; return None if they stay English."""
    folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    translator = QTranslator(app)
    if language == ENGLISH or not translator.load(f"qtbase_{language}", folder):
        return None
    app.installTranslator(translator)
    return translator


def run(runs_dir: Path | None = None, paths: Sequence[Path] = ()) -> int:
    """Open the window and return the exit status once it is closed.

    ``paths`` are agents and runs to open in it.
    """
    if sys.platform == "win32":
        # On Windows torch cannot be loaded after Qt (torch issue 166628).
        load_engine_in_background().join()
    shorten_waits()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    app = QApplication(sys.argv[:1])
    app.setApplicationName("TD3 Studio")
    app.setDesktopFileName("td3-studio")
    translate_qt(app, choose_language())
    app.setWindowIcon(QIcon(str(files("resources") / "icons" / "td3-studio.svg")))
    window = build_window(runs_dir or default_runs_dir())
    CrashReporter(window, window.controller, partial(window.log.add, "error")).install()
    window.show()
    if paths:
        window.opener.open(paths)
    signal_timer = _handle_signals(window)
    QTimer.singleShot(0, _enable_gc)
    # After the window is drawn: loading torch holds the GIL for a second.
    QTimer.singleShot(200, partial(_load_engine, window))
    status = app.exec()
    signal_timer.stop()
    return status


def _load_engine(window: MainWindow) -> None:
    """Load torch in the background, then let an agent play: both at once would delay each other."""
    thread = load_engine_in_background()
    waiting = QTimer(window)
    waiting.setInterval(_LOOK_AGAIN_MS)

    def look() -> None:
        if not thread.is_alive():
            waiting.stop()
            window.replay.play_at_start()
            # While the window is idle: otherwise the user would wait for them when opening them.
            window.setup.make_all_fields()
            QTimer.singleShot(0, window, window.comparison.make_parts)

    waiting.timeout.connect(look)
    waiting.start()


def _enable_gc() -> None:
    """Enable garbage collection, but exempt everything created during the start."""
    gc.freeze()
    gc.enable()


def _handle_signals(window: MainWindow) -> QTimer:
    """Save the run and close the window on Ctrl-C, SIGTERM, and when the terminal is closed."""
    for number in ending_signals():
        signal.signal(number, lambda *_: window.save_and_close())
    # Python calls signal handlers only while it executes Python code, which an idle Qt event loop
    # never does.
    timer = QTimer()
    timer.timeout.connect(lambda: None)
    timer.start(200)
    return timer
