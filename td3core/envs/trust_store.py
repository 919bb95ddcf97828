"""Remembers the code that the user has allowed, in a small file of the user's own.

Where that file cannot be written, an answer still holds in the process that asked, and in those it
starts (:mod:`td3core.system.allowed_code`).
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import platformdirs

from td3core.errors import RequestError, file_reason
from td3core.system.allowed_code import Entry, LocatedModule
from td3core.system.files import make_folder, write_atomically
from td3core.system.regular_files import read_text

_VARIABLE = "TD3_STUDIO_TRUST"
_KEY = "trusted"


def trust_file() -> Path:
    """Return the file: ``TD3_STUDIO_TRUST`` if set, else in the user's configuration folder."""
    chosen = os.environ.get(_VARIABLE)
    if chosen:
        return Path(chosen).absolute()
    return platformdirs.user_config_path("td3-studio", False) / "trusted.json"


def remembered() -> frozenset[Entry]:
    """Return what the user has allowed for good; nothing if the file is missing or damaged."""
    try:
        found = json.loads(read_text(trust_file()))[_KEY]
        return frozenset(_entry(each) for each in found)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return frozenset()


def remember(*modules: LocatedModule) -> None:
    """Allow modules for good, each from the folder it lies in now.

    Raises:
        RequestError: the file cannot be written.
    """
    before = remembered()
    after = before.union(module.entry for module in modules)
    if after != before:
        _write(after)


def forget(name: str) -> bool:
    """Ask again about a module, wherever it lies; return whether it was allowed.

    Raises:
        RequestError: the file cannot be written.
    """
    before = remembered()
    after = frozenset(each for each in before if each[0] != name)
    if after != before:
        _write(after)
    return after != before


def _entry(entry: Any) -> Entry:
    name, folder = entry["module"], entry["folder"]
    if not (isinstance(name, str) and isinstance(folder, str)):
        raise TypeError("module and folder are texts")
    return name, folder


def _write(allowed: Iterable[Entry]) -> None:
    path = trust_file()
    entries = [{"module": name, "folder": folder} for name, folder in sorted(allowed)]
    try:
        make_folder(path.parent)
        write_atomically(path, json.dumps({_KEY: entries}, indent=1).encode())
    except (OSError, ValueError) as problem:
        reason = file_reason(problem)
        raise RequestError(
            "{path} cannot be written, so the answer was not remembered: {reason}.",
            path=str(path),
            reason=reason,
        ) from problem
