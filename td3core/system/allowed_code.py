"""Allow-list of third-party modules that this process may import.

An environment named ``package.module:Class`` is code, and the file that names it may be untrusted.
The list is checked before every such import, and is empty at first. :mod:`td3core.envs.trust` and
the modules that ask the user add what the user typed, confirmed or stored; a child process gets the
list in its first message. Neither a run's folder nor an environment variable adds entries.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

Entry = tuple[str, str]
"""The name of a module, and the folder from which it may be imported."""

_allowed: set[Entry] = set()


@dataclass(frozen=True, slots=True, order=True)
class LocatedModule:
    """A module, and the file that would be executed if it were imported now."""

    name: str
    path: str
    """With all symbolic links resolved; for a module without a file a name such as ``built-in``."""

    @property
    def folder(self) -> str:
        """The folder of the file."""
        return str(PurePath(self.path).parent)

    @property
    def entry(self) -> Entry:
        """The entry that allows this module in its current folder only."""
        return self.name, self.folder


def allow(entries: Iterable[Entry]) -> None:
    """Let this process and its future children import these modules; from any thread."""
    _allowed.update(entries)


def replace(entries: Iterable[Entry]) -> None:
    """Allow these modules and no others."""
    _allowed.clear()
    _allowed.update(entries)


def is_allowed(module: LocatedModule) -> bool:
    """Return whether a module may be imported from its current folder."""
    return module.entry in _allowed


def snapshot() -> frozenset[Entry]:
    """Return the current list, for another process."""
    return frozenset(_allowed)


def first_message() -> bytes:
    """Return the list as a line for a new process's standard input."""
    return json.dumps(sorted(snapshot())).encode("ascii") + b"\n"


def receive() -> None:
    """Read the list from the first line of standard input; unchanged if the parent is gone.

    The rest of standard input is left unread.
    """
    line = bytearray()
    while (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    if byte:
        replace((name, folder) for name, folder in json.loads(line))
