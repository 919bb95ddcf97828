"""The most recently started runs, without reading all others; for start pages."""

import contextlib
import os
from pathlib import Path

from td3core.errors import RequestError
from td3core.runs.directory import RunDirectory
from td3core.runs.layout import DESCRIPTION
from td3core.runs.listing import open_once
from td3core.runs.new_run import machine
from td3core.system.regular_files import parse_toml, read_text


def newest_runs(runs_dir: Path, count: int) -> list[RunDirectory]:
    """Return the readable runs among the ``count`` most recently started, newest first."""
    try:
        with os.scandir(runs_dir) as entries:
            dated = [(_started(path), path) for path in map(Path, entries)]
    except OSError:
        return []
    found = []
    for started, path in sorted(dated, reverse=True)[:count]:
        if started:
            with contextlib.suppress(RequestError):
                found.append(open_once(path))
    return sorted(found, key=lambda run: (run.created, run.path.name), reverse=True)


def was_trained_here(run: RunDirectory) -> bool:
    """Return whether a run was started on a machine like this one."""
    try:
        found = parse_toml(read_text(run.path / DESCRIPTION))
    except (OSError, ValueError):
        return False
    return bool(found.get("machine") == machine())


def _started(run: Path) -> int:
    """Return when a run's description was written; 0 without one."""
    try:
        return (run / DESCRIPTION).stat().st_mtime_ns
    except OSError:
        return 0
