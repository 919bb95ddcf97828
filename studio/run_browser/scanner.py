"""Finds the runs of a folder in the background, reading only changed ones again."""

import os
import time
from collections.abc import Mapping
from pathlib import Path

from studio.run_browser.rows import Found, RunRow, load, save
from studio.tasks.background_task import Report, Stopped
from studio.widgets.setting_names import in_labels
from td3core.errors import RequestError, message_of
from td3core.protocol.run_status import RunStatus
from td3core.runs.layout import CHECKPOINTS, DESCRIPTION
from td3core.runs.listing import open_once, run_folders, summarise
from td3core.runs.naming import Usual

_FIRST_BATCH_S = 0.1
_MANY_READ = 50
"""Number of newly read runs above which it pays to cache the list for the next start."""
# Replacing a file (final state, note) changes the folder's time; a growing table only its own.
_WATCHED = ("", DESCRIPTION, CHECKPOINTS, "training.csv", "episodes.csv", "evaluations.csv")


def scan(
    folder: Path,
    known: Mapping[Path, RunRow],
    report: Report,
    stopped: Stopped,
) -> None:
    """Report, as :class:`Found`, the changes in a folder of runs since the known state.

    The newest folders come first, a few at a time, so that a long list can be used while it grows.

    Raises:
        RequestError: the folder cannot be read.
    """
    paths = run_folders(folder)
    kept = known or load(folder)
    rows = dict(known)
    waiting: list[RunRow] = []
    read = 0
    usual: Usual = {}
    reported_at, patience = time.monotonic(), _FIRST_BATCH_S
    for path in paths:
        if stopped():
            return
        row = _changed(path, kept.get(path), usual) or kept[path]
        read += row is not kept.get(path)
        if row is not known.get(path):
            waiting.append(row)
            rows[path] = row
        if waiting and time.monotonic() - reported_at >= patience:
            report(Found(rows=tuple(waiting)))
            # After each report, the whole growing list is laid out again.
            waiting, reported_at, patience = [], time.monotonic(), 3 * patience
    gone = frozenset(known.keys() - set(paths))
    report(Found(rows=tuple(waiting), gone=gone, complete=True))
    if read > _MANY_READ:
        save(folder, {path: row for path, row in rows.items() if path not in gone})


def _changed(path: Path, known: RunRow | None, usual: Usual) -> RunRow | None:
    """Read a run again if it has changed, or may have without a trace; None if unchanged."""
    stamp = tuple(_time_of(os.path.join(path, name)) for name in _WATCHED)  # noqa: PTH118
    # The death of a process changes no file.
    running = known and known.summary and known.summary.state is RunStatus.RUNNING
    if known is not None and known.stamp == stamp and not running:
        return None
    try:
        row = RunRow(path=path, stamp=stamp, summary=summarise(open_once(path), usual))
    except (RequestError, OSError) as problem:
        # A folder may also change or disappear while it is read.
        row = RunRow(path=path, stamp=stamp, problem=in_labels(message_of(problem)))
    return row if row != known else None


def _time_of(path: str) -> int | None:
    """Return the modification time of a file; None without one."""
    # Called thousands of times for a long list; creating a Path would cost more than stat.
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116
    except OSError:
        return None
