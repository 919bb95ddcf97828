"""The most recently started runs, without reading all others; for start pages."""

import contextlib
from pathlib import Path

from td3core.errors import RequestError
from td3core.runs.directory import RunDirectory
from td3core.runs.layout import DESCRIPTION
from td3core.runs.listing import open_once, run_folders
from td3core.runs.new_run import machine
from td3core.system.regular_files import parse_toml, read_text


def newest_runs(runs_dir: Path, count: int) -> list[RunDirectory]:
    """Return the readable runs among the ``count`` most recently started, newest first."""
    found = []
    with contextlib.suppress(RequestError):
        for path in run_folders(runs_dir)[:count]:
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
