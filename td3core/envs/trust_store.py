"""Remembers the code that the user has allowed, in a small per-user file.

If that file cannot be written, an answer still holds in the process that asked, and in those it
starts (:mod:`td3core.system.allowed_code`).
"""

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import platformdirs
from filelock import FileLock

from td3core.errors import RequestError, file_reason
from td3core.system.allowed_code import Entry, LocatedModule
from td3core.system.files import make_folder, write_atomically
from td3core.system.regular_files import DAMAGE, MALFORMED, read_text

_VARIABLE = "TD3_STUDIO_TRUST"
_KEY = "trusted"
_PATIENCE_S = 5.0
"""In seconds: other processes lock the file only briefly."""


def trust_file() -> Path:
    """Return the file: ``TD3_STUDIO_TRUST`` if set, else in the user's configuration folder."""
    chosen = os.environ.get(_VARIABLE)
    if chosen:
        return Path(chosen).absolute()
    return platformdirs.user_config_path("td3-studio", False) / "trusted.json"


def remembered() -> frozenset[Entry]:
    """Return everything allowed permanently; empty if the file is missing or damaged."""
    try:
        return _read(trust_file())
    except DAMAGE:
        return frozenset()


def remember(*modules: LocatedModule) -> None:
    """Allow modules permanently, each from its present folder.

    Raises:
        RequestError: the file cannot be written.
    """
    _change(lambda before: before.union(module.entry for module in modules))


def forget(name: str) -> bool:
    """Withdraw consent to a module in any folder; return whether it was allowed.

    Raises:
        RequestError: the file cannot be written.
    """
    return _change(lambda before: frozenset(each for each in before if each[0] != name))


def _read(path: Path) -> frozenset[Entry]:
    """Return what a file allows.

    Raises:
        OSError: it cannot be read.
        Exception: one of :data:`~td3core.system.regular_files.MALFORMED`; it is damaged.
    """
    return frozenset(_entry(each) for each in json.loads(read_text(path))[_KEY])


def _entry(entry: Any) -> Entry:
    name, folder = entry["module"], entry["folder"]
    if not (isinstance(name, str) and isinstance(folder, str)):
        raise TypeError("module and folder are texts")
    return name, folder


def _change(change: Callable[[frozenset[Entry]], frozenset[Entry]]) -> bool:
    """Apply a change to the remembered modules; return whether anything changed.

    Raises:
        RequestError: the file cannot be written.
    """
    path, before = trust_file(), remembered()
    if change(before) == before:
        return False
    try:
        make_folder(path.parent)
        # Read again under the lock: another process may have added an answer.
        with FileLock(path.with_name(f"{path.name}.lock"), timeout=_PATIENCE_S):
            before = _read_or_set_aside(path)
            after = change(before)
            entries = [{"module": name, "folder": folder} for name, folder in sorted(after)]
            write_atomically(path, json.dumps({_KEY: entries}, indent=1).encode())
            return after != before
    except (OSError, ValueError) as problem:
        reason = file_reason(problem)
        raise RequestError(
            "{path} cannot be written, so the answer was not remembered: {reason}.",
            path=str(path),
            reason=reason,
        ) from problem


def _read_or_set_aside(path: Path) -> frozenset[Entry]:
    """Return what a file allows; a damaged one is renamed, to keep the answers in it.

    Raises:
        OSError: it cannot be read or renamed.
    """
    try:
        return _read(path)
    except FileNotFoundError:
        return frozenset()
    except MALFORMED:
        names = (path.with_name(f"{path.name}.damaged-{n}") for n in itertools.count(1))
        path.rename(next(each for each in names if not each.exists()))
        return frozenset()
