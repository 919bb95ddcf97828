"""Tracks the user's own modules, so that they are imported again after their files change."""

import contextlib
import importlib
import importlib.util
import os
import site
import sys
import sysconfig
import threading
from collections.abc import Iterable, Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import PurePath
from types import ModuleType
from typing import NamedTuple

from td3core.errors import RequestError

# Folders whose modules are not the user's, even if inside one of the user's folders: this program,
# when run from source, the standard library and installed packages.
_PROGRAM = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
_OTHERS = (
    *(os.path.join(_PROGRAM, package) for package in ("td3core", "studio")),  # noqa: PTH118
    *sysconfig.get_paths().values(),
    site.getusersitepackages(),
)
_INSTALLED = {"site-packages", "dist-packages"}


class ImportedCode:
    """The modules of the user's code: those in given folders, and their imports from there.

    Packages installed below such a folder are excluded, as are modules imported before.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folders: set[str] = set()
        self._before: frozenset[str] = frozenset()
        self._seen: set[str] = set()
        self._files: dict[str, _FileState] = {}

    @contextlib.contextmanager
    def importing(self, folders: Iterable[str]) -> Iterator[None]:
        """Record the imports from these folders, and the state of their files."""
        with self._lock:
            new = set(folders) - self._folders
            if new and not self._folders:
                self._before = frozenset(sys.modules)
            if new:
                self._folders |= new
                self._seen.clear()
        try:
            yield
        finally:
            # Even after a failure: modules imported before it stay loaded.
            self._note()

    def drop_changed(self, needed: Iterable[str]) -> frozenset[str]:
        """Drop all these modules if one of their files has changed; return their names.

        Changed extension modules stay loaded if the next import does not need them.

        Args:
            needed: Folders of the modules to be imported next.

        Raises:
            RequestError: a changed module in these folders is compiled; nothing was dropped.
        """
        # Python caches directory listings by modification time.
        importlib.invalidate_caches()
        folders = list(needed)
        with self._lock:
            changed = {name: file for name, file in self._files.items() if file.changed}
            kept = {name: file for name, file in changed.items() if file.compiled}
            for name, file in sorted(kept.items()):
                if any(_is_users(file.path, folder) for folder in folders):
                    raise RequestError(
                        "{module} is compiled and has changed ({path}); it cannot be loaded again:"
                        " restart the studio.",
                        module=name,
                        path=file.path,
                    )
            if changed.keys() == kept.keys():
                return frozenset()
            dropped = frozenset(self._files.keys() - kept.keys())
            for name in dropped:
                _drop(name)
            for name in changed.keys() - kept.keys():
                changed[name].drop_bytecode()
            self._folders.clear()
            self._seen.clear()
            self._files = kept
        return dropped

    def _note(self) -> None:
        with self._lock:
            if not self._folders:
                return
            new = sys.modules.keys() - self._seen - self._before
            self._seen |= new
            # Skip the thousands of modules outside these folders quickly.
            below = tuple(os.path.join(folder, "") for folder in self._folders)  # noqa: PTH118
            # An extension module cannot be reloaded, even if its file has changed.
            for name in new - {each for each, file in self._files.items() if file.compiled}:
                path = _file_of(sys.modules.get(name))
                if path.startswith(below) and any(_is_users(path, each) for each in self._folders):
                    self._files[name] = _FileState.of(path)


class _FileState(NamedTuple):
    """File attributes that reveal a write or a replacement."""

    path: str
    modified_ns: int = 0
    size: int = -1
    inode: int = 0

    @classmethod
    def of(cls, path: str) -> "_FileState":
        """Read the state of a file; a missing file has a state as well."""
        try:
            found = os.stat(path)  # noqa: PTH116
        except OSError:
            return cls(path)
        return cls(path, found.st_mtime_ns, found.st_size, found.st_ino)

    @property
    def changed(self) -> bool:
        """Whether the file has been written to or replaced since."""
        return self.of(self.path) != self

    @property
    def compiled(self) -> bool:
        """Whether it is an extension module, which Python can load only once."""
        return self.path.endswith(tuple(EXTENSION_SUFFIXES))

    def drop_bytecode(self) -> None:
        """Remove its bytecode: Python compares only the size and the time in whole seconds."""
        with contextlib.suppress(OSError, NotImplementedError):
            os.remove(importlib.util.cache_from_source(self.path))  # noqa: PTH107


def _file_of(module: ModuleType | None) -> str:
    """Return the file of a module, or the folder of a package without one."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str):
        file = next(iter(getattr(module, "__path__", ())), "")
    return os.path.abspath(file) if isinstance(file, str) and file else ""  # noqa: PTH100


def _is_users(path: str, folder: str) -> bool:
    """Return whether a file is in or below a folder, with nothing installed in between."""
    if not _below(path, folder) or _INSTALLED.intersection(
        [os.path.basename(folder), *PurePath(path[len(folder) :]).parts]  # noqa: PTH119
    ):
        return False
    return not any(_below(each, folder, itself=True) and _below(path, each) for each in _OTHERS)


def _below(path: str, folder: str, *, itself: bool = False) -> bool:
    return path.startswith(os.path.join(folder, "")) or (itself and path == folder)  # noqa: PTH118


def _drop(name: str) -> None:
    module = sys.modules.pop(name, None)
    parent, _, last = name.rpartition(".")
    if module is not None and getattr(sys.modules.get(parent), last, None) is module:
        delattr(sys.modules[parent], last)
