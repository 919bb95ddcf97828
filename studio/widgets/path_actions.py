"""Menu actions for a file or folder: open its folder, copy its path or a command for it."""

import os
import shlex
import subprocess
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication

from td3core.text import Text

PATH_ACTIONS = (
    ("folder", Text("Open folder"), "folder-outline", Text("Show it in the file manager")),
    ("path", Text("Copy path"), "content-copy", Text("Copy its path to the clipboard")),
    (
        "command",
        Text("Copy command"),
        "console-line",
        Text("Copy the command that uses it in a terminal"),
    ),
)
"""Name, text, icon and tip of each action."""


def open_path(path: Path) -> None:
    """Show a folder in the file manager, or open a file in its application."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))


def copy(text: str) -> None:
    """Put a text on the clipboard."""
    QGuiApplication.clipboard().setText(text)


def command(verb: str, path: Path, *, windows: bool = os.name == "nt") -> str:
    """Return a command of ``td3-studio``, quoted for the shell."""
    words = ["td3-studio", verb, str(path)]
    return subprocess.list2cmdline(words) if windows else shlex.join(words)
