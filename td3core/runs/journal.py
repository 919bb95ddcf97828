"""The journal of a run: the user's actions on it while it trained, with their times.

One JSON object a line. A live change has ``step``, ``field``, ``old``, ``new`` and ``time``;
any other entry has ``step``, ``event`` (a :class:`~td3core.protocol.events.JournalEvent`), ``time``
and optionally ``message`` and ``text`` (see ``messages.py``). A change at step k takes effect
before step k + 1. Settings and journal together determine a run: the same changes at the same
steps reproduce it.

Scheduled changes are in the journal from the start, before the first step. They have an ``origin``,
``schedule``, instead of a ``time``. Where a resume changes the length of the run, schedules over
shares of it are rewritten as steps: such a change has the origin ``length``.
"""

import contextlib
import errno
import json
import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from td3core import config
from td3core.config import Tunables, given, specs, with_values
from td3core.errors import RequestError, file_reason
from td3core.protocol.events import JournalEvent
from td3core.system.files import write_atomically
from td3core.system.regular_files import open_regular, read_bytes, read_text, require_own

Entry = dict[str, Any]
"""A line of a journal."""

MOST_BYTES = 64 * 2**20
"""Larger than any real journal."""

SAME_GESTURE_S = 1.5
"""Changes of a setting within this time count as one, as while its slider is dragged."""

_SCHEDULE, _LENGTH = "schedule", "length"


@dataclass(frozen=True, slots=True)
class Change:
    """A live setting took another value after this step."""

    env_steps: int
    name: str
    new: Any


def read(path: Path) -> list[Entry]:
    """Return the lines of a journal without damaged ones; none if there is no file."""
    try:
        return _entries(path)
    except OSError:
        return []


def read_whole(path: Path) -> list[Entry]:
    """Return the lines of a journal whose changes will be replayed; none if there is no file.

    Raises:
        RequestError: it cannot be read completely, or is a link.
    """
    try:
        require_own(path)
        return _entries(path)
    except OSError as problem:
        raise RequestError(
            "The journal of {run} cannot be read: {reason}.",
            run=path.parent.name,
            reason=file_reason(problem),
        ) from problem


def require_readable(path: Path) -> None:
    """Refuse a journal that cannot be read completely: its changes could not be replayed.

    Raises:
        OSError: it cannot be read, is no regular file or is too long; a missing one is fine.
    """
    if not os.path.lexists(path):
        return
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > MOST_BYTES:
            raise OSError(errno.EFBIG, f"{path.name} is larger than {MOST_BYTES // 2**20} MiB")


def _entries(path: Path) -> list[Entry]:
    require_readable(path)
    text = read_text(path, MOST_BYTES, "replace") if path.exists() else ""
    # Parsing a line that cannot be an entry may take long.
    entries = (parse(line) for line in text.split("\n") if '"step"' in line)
    return [entry for entry in entries if entry is not None]


def changes_of(entries: Iterable[Entry]) -> list[Change]:
    """Return the live changes among the lines of a journal, by step."""
    found = [Change(e["step"], e["field"], e["new"]) for e in entries if "field" in e]
    return sorted(found, key=lambda change: change.env_steps)


def changes_to_repeat(path: Path) -> list[Change]:
    """Return the live changes of a journal that another run repeats, by step.

    Rewritten schedules are none of them: a new run has a length of its own.

    Raises:
        RequestError: as :func:`read_whole`.
    """
    return changes_of(e for e in read_whole(path) if e.get("origin") != _LENGTH)


def gestures_of(entries: Iterable[Entry]) -> list[Change]:
    """Return :func:`changes_of`; of the many changes of one drag of a slider, only the last."""
    found: list[Change] = []
    places: dict[str, tuple[int, float]] = {}
    for entry in entries:
        for change in changes_of([entry]):
            time = seconds_of(str(entry.get("time", "")))
            place, before = places.get(change.name, (len(found), math.nan))
            if not 0 <= time - before < SAME_GESTURE_S:
                place = len(found)
            found[place:] = [change, *found[place + 1 :]]
            places[change.name] = place, time
    return sorted(found, key=lambda change: change.env_steps)


def seconds_of(time: str) -> float:
    """Return a time of the journal in seconds since 1970; NaN if empty."""
    try:
        return datetime.fromisoformat(time).timestamp()
    except (ValueError, OverflowError):
        return math.nan


def scheduled(changes: Iterable[Change], tunables: Tunables, num_envs: int) -> list[Entry]:
    """Return the first lines of a run's journal, for scheduled live changes.

    ``tunables`` are its initial live settings. Its ``num_envs`` environments are stepped together,
    and a change is recorded at the step at which it takes effect.
    """
    entries: list[Entry] = []
    for change in sorted(changes, key=lambda change: change.env_steps):
        step = -(-change.env_steps // num_envs) * num_envs
        old, tunables = tunables, with_values(tunables, {change.name: change.new})
        before, after = (given(each, change.name) for each in (old, tunables))
        # A noise that has decayed starts again, also at the value it began with.
        decays = tunables.exploration_noise_decay < 1.0
        if before != after or (change.name == "exploration_noise" and decays):
            entry = {"step": step, "field": change.name, "old": before, "new": after}
            entries.append(entry | {"origin": _SCHEDULE})
    return entries


def import_of(entries: Iterable[Entry]) -> Entry | None:
    """Return the line of the import that made the run; ``None`` if it was trained here."""
    return next((e for e in entries if e.get("event") == JournalEvent.IMPORT), None)


def is_scheduled(entry: Entry) -> bool:
    """Return whether a change was scheduled at the start of the run; it may still be pending."""
    return entry.get("origin") == _SCHEDULE


def converted(entry: Entry) -> Entry:
    """Return a line whose change only rewrites a schedule, because the run's length changed."""
    return entry | {"origin": _LENGTH}


def made_by(entries: Iterable[Entry], reached: int) -> list[Entry]:
    """Return the live changes made in the steps until ``reached``.

    Left out are changes planned for later steps, and rewritten schedules.
    """
    return [
        entry
        for entry in entries
        if "field" in entry
        and entry.get("origin") != _LENGTH
        and (entry["step"] < reached or not is_scheduled(entry))
    ]


def pinned(entry: Entry, steps: int) -> Entry:
    """Return a line in whose schedules shares of ``steps`` are converted to step numbers."""
    found = {}
    for key in ("old", "new"):
        # The new value of a parsed line is valid; the old one may be of an earlier version.
        with contextlib.suppress(RequestError, KeyError, TypeError):
            tunables = Tunables(**{entry["field"]: entry[key]})
            if tunables.schedules:
                found[key] = given(config.pinned(tunables, steps), entry["field"])
    return entry | found


def text_of(entries: Iterable[Entry]) -> str:
    """Return the lines of a journal as text."""
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def mend(path: Path) -> None:
    """Drop an incomplete last line left by a crash: the next entry must start on a line of its own.

    Raises:
        OSError: the file cannot be read or written.
    """
    require_readable(path)
    data = read_bytes(path, MOST_BYTES) if path.exists() else b""
    if data and not data.endswith(b"\n"):
        write_atomically(path, data[: data.rfind(b"\n") + 1])


def strike_out(path: Path, struck: Callable[[Entry], bool]) -> None:
    """Drop the lines for which ``struck`` is True: these changes will not be made.

    Raises:
        OSError: the file cannot be read or written; it is unchanged.
    """
    kept = [entry for entry in _entries(path) if not struck(entry)]
    write_atomically(path, text_of(kept).encode())


def parse(line: str) -> Entry | None:
    """Return the entry of a line; ``None`` if it is not a valid entry."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or type(entry.get("step")) is not int or entry["step"] < 0:
        return None
    if "field" not in entry:
        return entry if isinstance(entry.get("event"), str) else None
    try:
        if entry["field"] not in dict(specs(Tunables)):
            return None
        Tunables(**{entry["field"]: entry["new"]})
    except (RequestError, KeyError, TypeError):
        return None
    return entry
