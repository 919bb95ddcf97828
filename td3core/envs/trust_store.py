"""Remembers the code that the user has allowed, in a small file of the user's own.

Where that file cannot be written, an answer still holds for the processes that one starts.
"""

import json
import os
from pathlib import Path
from typing import Any

import platformdirs

from td3core.config.consent import NO_CONSENT, Consent, LocatedModule
from td3core.errors import RequestError
from td3core.system.files import make_folder, write_atomically
from td3core.system.regular_files import read_text

_VARIABLE = "TD3_STUDIO_TRUST"
_KEY = "trusted"
_HANDED_ON = "TD3_STUDIO_CONSENT"


def trust_file() -> Path:
    """Return the file: ``TD3_STUDIO_TRUST`` if set, else in the user's configuration folder."""
    chosen = os.environ.get(_VARIABLE)
    if chosen:
        return Path(chosen).absolute()
    return platformdirs.user_config_path("td3-studio", False) / "trusted.json"


def remembered() -> Consent:
    """Return what the user has allowed for good, or the process that has started this one.

    Nothing is allowed by a file that is missing or damaged.
    """
    return _on_file() | _parsed(os.environ.get(_HANDED_ON, ""))


def handed_on(consent: Consent) -> dict[str, str]:
    """Return the environment variables by which a child process remembers a consent."""
    return {_HANDED_ON: _written(consent)} if consent.allowed else {}


def remember(*modules: LocatedModule) -> None:
    """Allow modules for good, each from the folder it lies in now.

    Raises:
        RequestError: the file cannot be written.
    """
    before = _on_file()
    after = before.adding(modules)
    if after != before:
        _write(after)


def forget(name: str) -> bool:
    """Ask again about a module, wherever it lies; return whether it was allowed.

    Raises:
        RequestError: the file cannot be written.
    """
    before = _on_file()
    after = Consent(frozenset(each for each in before.allowed if each[0] != name))
    if after != before:
        _write(after)
    return after != before


def _on_file() -> Consent:
    try:
        return _parsed(read_text(trust_file()))
    except (OSError, ValueError):
        return NO_CONSENT


def _parsed(text: str) -> Consent:
    try:
        return Consent(frozenset(_entry(each) for each in json.loads(text)[_KEY]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return NO_CONSENT


def _written(consent: Consent) -> str:
    entries = [{"module": name, "folder": folder} for name, folder in sorted(consent.allowed)]
    return json.dumps({_KEY: entries}, indent=1)


def _entry(entry: Any) -> tuple[str, str]:
    name, folder = entry["module"], entry["folder"]
    if not (isinstance(name, str) and isinstance(folder, str)):
        raise TypeError("module and folder are texts")
    return name, folder


def _write(consent: Consent) -> None:
    path = trust_file()
    try:
        make_folder(path.parent)
        write_atomically(path, _written(consent).encode())
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise RequestError(
            "{path} cannot be written, so the answer was not remembered: {reason}.",
            path=str(path),
            reason=reason,
        ) from problem
