"""The checkpoints that a run has on disk."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from td3core.errors import RequestError
from td3core.protocol.events import JournalEvent
from td3core.runs.directory import RunDirectory
from td3core.runs.disk_usage import used_bytes
from td3core.runs.listing import list_runs
from td3core.system.files import stamp

Stamp = tuple[int, int]
"""Modification time in nanoseconds, and size: these differ between versions of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedAgents:
    """The saved agents of a run, found without opening a file."""

    run: Path
    stamps: Mapping[Path, Stamp]
    """Stamp of each checkpoint: by step, then the best and the last one."""
    means: Mapping[int, float]
    """Mean return of each evaluation, by step."""
    favourite: Path | None
    """The best agent, else the last one."""
    run_bytes: int
    """Disk space of the whole run in bytes."""
    manual: frozenset[int] = frozenset()
    """Steps at which the user saved an agent."""
    branched: frozenset[int] = frozenset()
    """Steps of the agents that other runs branched from."""


def read_agents(run: RunDirectory) -> SavedAgents:
    """List the checkpoints of a run."""
    stamps: dict[Path, Stamp] = {}
    for path in run.saved():
        changed = stamp(path)
        if changed is not None:  # Else it was deleted meanwhile.
            stamps[path] = changed
    return SavedAgents(
        run=run.path,
        stamps=stamps,
        means=dict(run.evaluations()),
        favourite=next((path for path in (run.best, run.last) if path in stamps), None),
        run_bytes=used_bytes(run.path),
        manual=frozenset(_saved_by_hand(run)),
        branched=frozenset(_branched(run)),
    )


def _saved_by_hand(run: RunDirectory) -> Iterator[int]:
    for entry in run.journal():
        step = entry.get("step")
        if entry.get("event") == JournalEvent.SAVE and isinstance(step, int):
            yield step


def _branched(run: RunDirectory) -> Iterator[int]:
    try:
        others = list(list_runs(run.path.parent))
    except RequestError:
        return
    for other in others:
        if other.parent is not None and other.parent.run == run.path.name:
            yield other.parent.env_steps
