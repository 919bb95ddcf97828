"""Records every access of the main thread to a folder: the window's must make none."""

import builtins
import io
import os
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_FUNCTIONS = (
    *((builtins, "open"), (io, "open")),
    *((os, name) for name in ("open", "stat", "lstat", "access", "statvfs", "scandir", "listdir")),
    *((os, name) for name in ("mkdir", "rmdir", "unlink", "remove", "rename", "replace", "link")),
)
"""Functions behind all of Python's file access, including pathlib's and shutil's."""


class DiskGuard:
    """Watches a folder from :meth:`watch` on."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = os.fspath(folder.absolute())
        self._watching = False
        self.found: list[str] = []
        """The accesses, and where they came from."""
        for module, name in _FUNCTIONS:
            if hasattr(module, name):
                monkeypatch.setattr(module, name, self._noting(name, getattr(module, name)))

    def watch(self) -> None:
        """Record the main thread's accesses from now on."""
        self._watching = True

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let the test itself access the folder."""
        before, self._watching = self._watching, False
        yield
        self._watching = before

    def _noting(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **kwargs: Any) -> Any:
            if self._watching and args and threading.current_thread() is threading.main_thread():
                self._note(name, args[0])
            return function(*args, **kwargs)

        return noted

    def _note(self, name: str, path: Any) -> None:
        if not isinstance(path, str | os.PathLike):
            return
        text = str(Path(path).absolute())
        if text == self._folder or text.startswith(self._folder + os.sep):
            frames = traceback.extract_stack()[:-2]
            ours = [f"{f.filename}:{f.lineno} {f.name}" for f in frames if "studio" in f.filename]
            self.found.append(f"{name}({text}) in {' < '.join(reversed(ours[-6:]))}")
