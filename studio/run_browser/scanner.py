"""Which runs a folder holds, read in the background; only what has changed is read again."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from studio.run_browser.differences import Usual, changed_settings
from studio.tasks.background_task import Report, Stopped
from td3core.errors import RequestError
from td3core.runs.listing import RunSummary, open_once, summarise
from td3core.runs.metadata import RunStatus

_FIRST_BATCH_S = 0.1
# A record that is replaced, as endings and notes are, changes its folder; a table only itself.
_WATCHED = ("", "run.toml", "checkpoints", "training.csv", "episodes.csv", "evaluations.csv")

Stamp = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run of the list: what is known of it, or why it cannot be read."""

    path: Path
    stamp: Stamp
    """Times of change of its files when it was read."""
    summary: RunSummary | None = None
    problem: str = ""
    changed: str = ""
    """The settings that differ from its preset's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """News of a folder. Those that are ``gone`` come with the last, ``complete`` one."""

    rows: tuple[RunRow, ...] = ()
    gone: frozenset[Path] = frozenset()
    complete: bool = False


def scan(
    folder: Path,
    known: Mapping[Path, RunRow],
    report: Report,
    stopped: Stopped,
) -> None:
    """Report, as :class:`Found`, what differs in a folder of runs from what is known of it.

    The newest folders come first, a few at a time, so that a long list can be used while it grows.
    """
    paths = _folders(folder)
    waiting: list[RunRow] = []
    usual: Usual = {}
    reported_at, patience = time.monotonic(), _FIRST_BATCH_S
    for path in paths:
        if stopped():
            return
        row = _changed(path, known.get(path), usual)
        if row is not None:
            waiting.append(row)
        if waiting and time.monotonic() - reported_at >= patience:
            report(Found(rows=tuple(waiting)))
            # Each report lays out the whole list again, and it grows.
            waiting, reported_at, patience = [], time.monotonic(), 3 * patience
    gone = frozenset(known.keys() - set(paths))
    report(Found(rows=tuple(waiting), gone=gone, complete=True))


def _folders(folder: Path) -> list[Path]:
    """Return the folders that hold a ``run.toml``, those changed last first."""
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                stamp = _time_of(Path(entry.path, "run.toml"))
                if stamp:
                    found.append((stamp, Path(entry.path)))
    except OSError:
        return []  # Nothing was ever trained here, or the disk has gone.
    return [path for _, path in sorted(found, reverse=True)]


def _changed(path: Path, known: RunRow | None, usual: Usual) -> RunRow | None:
    """Read a run again if something of it has changed since, or may have without a trace."""
    stamp = tuple(_time_of(path / name) for name in _WATCHED)
    # That a process has died changes no file.
    running = known and known.summary and known.summary.state is RunStatus.RUNNING
    if known is not None and known.stamp == stamp and not running:
        return None
    try:
        run = open_once(path)
        changed = changed_settings(run, usual)
        row = RunRow(path=path, stamp=stamp, summary=summarise(run), changed=changed)
    except (RequestError, OSError) as problem:
        # A folder may also change or go while it is read.
        row = RunRow(path=path, stamp=stamp, problem=str(problem))
    return row if row != known else None


def _time_of(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
