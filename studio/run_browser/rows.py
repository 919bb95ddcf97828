"""Facts about the runs of a folder; for a long list they are cached for the next start.

The cache file is in the user's cache folder: if it is missing or damaged, the runs are read again.
"""

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import platformdirs

from td3core.protocol.run_status import RunStatus
from td3core.runs.listing import RunSummary
from td3core.runs.metadata import Parent
from td3core.system.files import make_folder, write_atomically
from td3core.system.regular_files import DAMAGE, read_text
from td3core.text import from_plain, plain

SCHEMA = 5
LEAST_RUNS = 200
"""Shorter lists are not cached: they are read in a moment."""
_MOST_BYTES = 256 * 2**20

Stamp = tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run of the list: its facts, or why it cannot be read."""

    path: Path
    stamp: Stamp
    """Modification times of its files when it was read; None for those that it does not have."""
    summary: RunSummary | None = None
    problem: str = ""

    @property
    def group(self) -> str:
        """Its group of seeds; empty without one."""
        return self.summary.group if self.summary else ""

    @property
    def curves_only(self) -> bool:
        """Whether it was imported without an agent."""
        return self.summary is not None and self.summary.curves_only

    @property
    def title(self) -> str:
        """The run's name outside the list; the name of its folder if it is damaged."""
        return self.summary.full_title if self.summary else self.path.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Changes in a folder. Only the last report is ``complete`` and names the ``gone`` runs."""

    rows: tuple[RunRow, ...] = ()
    gone: frozenset[Path] = frozenset()
    complete: bool = False


def load(folder: Path) -> dict[Path, RunRow]:
    """Return the cached facts about a folder's runs; empty if there are none."""
    try:
        found = json.loads(read_text(_file(folder), _MOST_BYTES))
        if found["schema"] != SCHEMA or found["folder"] != str(folder):
            return {}
        rows = [_row(folder, each) for each in found["rows"]]
    except DAMAGE:
        return {}
    return {row.path: row for row in rows}


def save(folder: Path, rows: Mapping[Path, RunRow]) -> None:
    """Cache the facts about a folder's runs, if there are at least :data:`LEAST_RUNS`."""
    if len(rows) < LEAST_RUNS:
        return
    known = [_values(row) for row in rows.values() if row.summary is not None]
    text = json.dumps({"schema": SCHEMA, "folder": str(folder), "rows": known})
    with contextlib.suppress(OSError):
        make_folder(_file(folder).parent)
        write_atomically(_file(folder), text.encode())


def _file(folder: Path) -> Path:
    key = hashlib.sha256(str(folder).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return platformdirs.user_cache_path("td3-studio", False) / "lists" / f"{key}.json"


def _values(row: RunRow) -> dict[str, Any]:
    assert row.summary is not None
    texts = {"message": plain(row.summary.message), "changed": plain(row.summary.changed)}
    summary = asdict(row.summary) | {"run": row.path.name} | texts
    return {"stamp": row.stamp, "summary": summary}


def _row(folder: Path, values: dict[str, Any]) -> RunRow:
    """Return a row from its cached values.

    Raises:
        ValueError, TypeError, KeyError: they are damaged.
    """
    summary = dict(values["summary"])
    path = folder / summary["run"]
    parent = summary["parent"]
    summary |= {
        "run": path,
        "state": RunStatus(summary["state"]),
        "parent": Parent(**parent) if parent else None,
        "message": from_plain(summary["message"]),
        "changed": from_plain(summary["changed"]),
    }
    return RunRow(path=path, stamp=tuple(values["stamp"]), summary=RunSummary(**summary))
