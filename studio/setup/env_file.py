"""The user's own environment, chosen by its file."""

import ast
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QFileDialog, QToolButton

from studio.tasks.background_task import BackgroundTask
from studio.theme.theme import Theme
from studio.widgets.controls import describe
from td3core.errors import RequestError, unreadable
from td3core.system.import_path import search_last
from td3core.system.regular_files import read_text
from td3core.text import tr


class EnvFile(NamedTuple):
    """The contents of a Python file: its folder, and the classes it defines."""

    folder: str
    """Folder from which the module is imported."""
    module: str
    classes: tuple[str, ...]
    """Classes that look like environments."""


class BrowseButton(QToolButton):
    """Asks for a file and announces the environments in it."""

    chosen = Signal(list)
    """The environments in the file, as ``module:Class``; its folder is on the import path now."""
    refused = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        describe(
            self,
            "env_browse_button",
            tr("Browse"),
            tr("Choose the file of an environment of yours"),
        )
        self.setProperty("role", "small")
        self.setProperty("icon_px", 18)
        self._reader = BackgroundTask("read-env-file", self)
        self._reader.failed.connect(self.refused)
        self.clicked.connect(self._ask)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self.setIcon(theme.icon("folder-open-outline", theme.muted))

    @Slot()
    def _ask(self) -> None:
        name, _ = QFileDialog.getOpenFileName(
            self, tr("Choose an environment"), "", tr("Python (*.py)")
        )
        if name:
            self._reader.read(lambda _: read_env_file(Path(name)), self._choose)

    def _choose(self, found: EnvFile) -> None:
        search_last(found.folder)
        self.chosen.emit([f"{found.module}:{each}" for each in found.classes])


def read_env_file(path: Path) -> EnvFile:
    """Find the environments in a file without running it.

    Raises:
        RequestError: it is not a Python file, or defines no environment.
    """
    path = path.absolute()
    try:
        tree = ast.parse(read_text(path))
    except (OSError, ValueError, SyntaxError) as problem:
        raise unreadable(Path(path.name), problem) from problem
    names = [] if path.stem == "__init__" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    classes: list[str] = []
    for node in ast.walk(tree):
        bases = {_last_name(base) for base in node.bases} if isinstance(node, ast.ClassDef) else ()
        if any(base.endswith("Env") or base in classes for base in bases):
            assert isinstance(node, ast.ClassDef)
            classes.append(node.name)
    if not classes:
        raise RequestError("{file} defines no class derived from gymnasium.Env.", file=path.name)
    return EnvFile(str(folder), ".".join(names), tuple(classes))


def _last_name(base: ast.expr) -> str:
    return ast.unparse(base).partition("[")[0].rpartition(".")[2]
