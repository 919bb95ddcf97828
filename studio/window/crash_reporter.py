"""Handles unexpected errors: saves the run and shows the error."""

import logging
import sys
import threading
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

from PySide6.QtCore import (
    QMessageLogContext,
    QObject,
    Qt,
    QtMsgType,
    Signal,
    Slot,
    qInstallMessageHandler,
)
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QPlainTextEdit,
    QWidget,
)

from studio.session.controller import RunController
from studio.widgets.forms import make_dialog_column, resize_within_screen
from td3core.text import Text, tr

log = logging.getLogger(__name__)

_SIZE = (560, 360)
_SAVE_TIMEOUT_MS = 10_000
_UNEXPECTED = Text("TD3 Studio ran into an unexpected error.")
_RUN_CONTINUES = Text(
    "TD3 Studio ran into an unexpected error. The run in progress continues; a checkpoint is being"
    " saved."
)


class CrashDialog(QDialog):
    """A sentence, and details to copy into a bug report."""

    def __init__(
        self, sentence: str, details: str, parent: QWidget | None = None, *, running: bool = False
    ) -> None:
        super().__init__(parent)
        self.setObjectName("crash_dialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Something went wrong"))
        resize_within_screen(self, *_SIZE)
        self._details = details
        about = QLabel(f"{_RUN_CONTINUES if running else _UNEXPECTED}\n\n{sentence}")
        about.setTextFormat(Qt.TextFormat.PlainText)
        about.setWordWrap(True)
        about.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        text = QPlainTextEdit(details)
        text.setObjectName("crash_details")
        text.setAccessibleName(tr("Details"))
        text.setReadOnly(True)
        text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        copy = buttons.addButton(tr("Copy details"), QDialogButtonBox.ButtonRole.ActionRole)
        copy.setObjectName("crash_copy_button")
        copy.clicked.connect(self._copy)
        buttons.rejected.connect(self.reject)
        layout = make_dialog_column(self)
        layout.addWidget(about)
        layout.addWidget(text, 1)
        layout.addWidget(buttons)
        buttons.button(QDialogButtonBox.StandardButton.Close).setDefault(True)

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._details)


class CrashReporter(QObject):
    """Shows errors in the window. Errors of other threads are passed to the GUI thread."""

    _happened = Signal(str, str)

    def __init__(
        self, window: QWidget, controller: RunController, log_error: Callable[[str], None]
    ) -> None:
        super().__init__(window)
        self._window, self._controller, self._log_error = window, controller, log_error
        self._dialog: CrashDialog | None = None
        self._happened.connect(self._show)

    def install(self) -> None:
        """Receive all uncaught exceptions, of any thread, and Qt's messages."""
        sys.excepthook = self
        threading.excepthook = self.in_thread
        qInstallMessageHandler(self.on_qt_message)

    def __call__(
        self, kind: type[BaseException], problem: BaseException, trace: TracebackType | None
    ) -> None:
        """Handle an exception, as ``sys.excepthook``."""
        if issubclass(kind, KeyboardInterrupt):
            self._window.close()
            return
        self._report(problem, "".join(traceback.format_exception(kind, problem, trace)))

    def in_thread(self, args: Any) -> None:
        """Handle an exception of a thread, as ``threading.excepthook``."""
        if args.exc_type is SystemExit or args.exc_value is None:
            return
        name = args.thread.name if args.thread is not None else "a thread"
        trace = traceback.format_exception(args.exc_type, args.exc_value, args.exc_traceback)
        self._report(args.exc_value, f"In the thread {name}:\n{''.join(trace)}")

    def _report(self, problem: BaseException, details: str) -> None:
        log.error("unhandled exception\n%s", details)
        sys.stderr.write(details)
        self._happened.emit(f"{type(problem).__name__}: {problem}", details)

    def on_qt_message(self, kind: QtMsgType, _: QMessageLogContext, text: str) -> None:
        """Handle a message of Qt."""
        sys.stderr.write(f"Qt: {text}\n")
        if kind is QtMsgType.QtFatalMsg:
            # Qt ends the process when this returns.
            self._controller.end_now(_SAVE_TIMEOUT_MS)
        elif kind is QtMsgType.QtCriticalMsg:
            self._happened.emit(f"Qt: {text}", text)

    @Slot(str, str)
    def _show(self, sentence: str, details: str) -> None:
        self._controller.save()
        self._log_error(sentence)
        # A repeated error must not open one dialog after another.
        if self._dialog is None:
            running = self._controller.busy
            self._dialog = CrashDialog(sentence, details, self._window, running=running)
            self._dialog.destroyed.connect(self._on_dialog_closed)
            self._dialog.show()

    @Slot()
    def _on_dialog_closed(self) -> None:
        self._dialog = None
