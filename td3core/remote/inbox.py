"""The folder ``requests`` of a run or group: requests of other processes, one file each.

A request is a file ``<time>-<random>.json`` that appears by a rename, so it is always complete. It
holds ``{"ask": WHAT}`` and, if WHAT takes values, ``"values": {NAME: VALUE}``: the live changes of
``tune``, or the seed of a run of the group. Only the user who runs the process can make requests:
files and folder must be owned by that user and not be writable by others.
"""

import json
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from td3core.config import Tunables, specs
from td3core.errors import RequestError, brief, file_reason, unknown_name
from td3core.protocol.steering import Verb
from td3core.system.files import write_atomically
from td3core.system.regular_files import DAMAGE, read_bytes
from td3core.text import NO_TEXT, Text

REQUESTS = "requests"
TUNE = "tune"
NAME = re.compile(r"\d{1,20}-[0-9a-f]{8,32}\.json", re.ASCII)
_MOST_BYTES = 16 * 1024
_MOST_AT_ONCE = 32
_MOST_STALE = 10_000
_LEFT_OVER = Text("The run ended or was interrupted before it took the request.")
_NOT_OWN = Text("The request was not made by the run's user, or others may write to it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxRequest:
    """One request; ``problem`` is the reason if it cannot be done."""

    name: str
    """Its file name without the suffix."""
    ask: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    problem: Text = NO_TEXT


class Inbox:
    """Reads the requests to one run or group. Without new ones, a check only lists a folder."""

    def __init__(self, owner: Path, asks: Mapping[str, Callable[[Any], None] | None]) -> None:
        """``owner``: the folder of the run or group.

        ``asks``: the allowed requests, each with a function that checks its values and raises
        ``RequestError``, or None if it takes no values.
        """
        self._folder, self._asks = owner / REQUESTS, asks
        self._stuck: set[str] = set()
        """Names of refused requests that cannot be deleted; they are not read again."""
        self.problem: Text | None = None
        """Why requests are ignored, if they are."""

    def open(self) -> list[InboxRequest]:
        """Make the folder if it is missing, and refuse requests made to an earlier process."""
        self._make()
        return [
            InboxRequest(name=request.name, problem=_LEFT_OVER)
            for request in self.take(most=_MOST_STALE)
        ]

    def take(self, most: int = _MOST_AT_ONCE) -> list[InboxRequest]:
        """Return the new requests, oldest first; each is returned once."""
        try:
            names = os.listdir(self._folder)  # noqa: PTH208 - a tenth of the cost
        except FileNotFoundError:
            self._make()
            return []
        except OSError:
            return []
        new = sorted(name for name in names if name not in self._stuck and NAME.fullmatch(name))
        # Checked only now: without requests, this call must cost next to nothing.
        if not new or not self._is_safe():
            return []
        self._stuck.intersection_update(names)
        return [self._take(name) for name in new[:most]]

    def _take(self, name: str) -> InboxRequest:
        """Read a request and delete its file: its sender can no longer withdraw it."""
        request = self._read(name)
        try:
            (self._folder / name).unlink()
        except OSError as problem:
            # Perhaps a folder, or just withdrawn.
            self._stuck.add(name)
            undeleted = Text(
                "The request cannot be deleted: {reason}.", reason=file_reason(problem)
            )
            return InboxRequest(name=request.name, problem=request.problem or undeleted)
        return request

    def _make(self) -> None:
        try:
            self._folder.mkdir(0o700)
        except OSError:
            return  # It exists, or nothing can be written; then no one can make requests either.

    def _is_safe(self) -> bool:
        """Return whether only this process's user can have written to the folder."""
        try:
            about = self._folder.lstat()
        except OSError:
            return False
        if stat.S_ISDIR(about.st_mode) and _is_own(about):
            self.problem = None
            return True
        self.problem = Text(
            "Requests in {path} are ignored: only the run's user may own it and write to it.",
            path=self._folder,
        )
        return False

    def _read(self, name: str) -> InboxRequest:
        path, request = self._folder / name, name.removesuffix(".json")
        try:
            about = path.lstat()
            if not stat.S_ISREG(about.st_mode):
                return InboxRequest(
                    name=request, problem=Text("The request is not a regular file.")
                )
            if not _is_own(about):
                return InboxRequest(name=request, problem=_NOT_OWN)
            return self._parse(request, json.loads(read_bytes(path, _MOST_BYTES)))
        except RequestError as problem:
            return InboxRequest(name=request, problem=problem.message)
        except DAMAGE as problem:
            unread = Text("The request cannot be read: {reason}.", reason=file_reason(problem))
            return InboxRequest(name=request, problem=unread)

    def _parse(self, name: str, found: Any) -> InboxRequest:
        """Check everything that does not depend on the state of the run or group.

        Raises:
            RequestError: it is no request, or a value is not allowed.
        """
        if not isinstance(found, dict):
            raise RequestError("A request is a JSON object.")
        ask, values = found.get("ask"), found.get("values")
        if not isinstance(ask, str) or ask not in self._asks:
            raise unknown_name("There is no request called {name}.", ask, tuple(self._asks))
        check = self._asks[ask]
        unknown = sorted(found.keys() - {"ask", "values"})
        if unknown or ("values" in found and check is None):
            raise RequestError(
                "A request to {ask} has no field {name}.",
                ask=ask,
                name=brief(repr(unknown[0] if unknown else "values")),
            )
        if check is not None:
            check(values)
        return InboxRequest(name=name, ask=ask, values=values or {})


def _is_own(about: os.stat_result) -> bool:
    if os.name != "posix":
        return True
    return about.st_uid == os.geteuid() and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def put(owner: Path, ask: str, values: Mapping[str, Any] | None = None) -> str:
    """Make a request to a run or group; return the name of its file without the suffix.

    Raises:
        OSError: it cannot be written, or there is no folder for requests.
    """
    name = f"{time.time_ns():020d}-{secrets.token_hex(8)}"
    content = {"ask": ask} if values is None else {"ask": ask, "values": dict(values)}
    # Regardless of the umask: a request that others could have altered is refused.
    write_atomically(
        owner / REQUESTS / f"{name}.json", json.dumps(content).encode(), durable=False, mode=0o600
    )
    return name


def check_values(values: Any) -> None:
    """Check live changes.

    Raises:
        RequestError: there are none, a name is no live setting, or a value is not allowed.
    """
    if not isinstance(values, Mapping):
        raise RequestError("Name at least one live setting and its value.")
    for name in values:
        require_live(name)
    Tunables(**values)


def require_live(name: str) -> None:
    """Refuse a name that is not a live setting.

    Raises:
        RequestError: with the most similar names.
    """
    live = [known for known, _ in specs(Tunables)]
    if name not in live:
        raise unknown_name("There is no live setting called {name}.", name, live)


ASKS_OF_A_RUN: Mapping[str, Callable[[Any], None] | None] = {
    TUNE: check_values,
    Verb.PAUSE: None,
    Verb.UNPAUSE: None,
    # Means UNPAUSE to a run, and is what other programs write (see steer.py).
    Verb.RESUME: None,
    Verb.SAVE: None,
    Verb.STOP: None,
}
"""The requests that a run accepts, as :class:`Inbox` takes them."""
