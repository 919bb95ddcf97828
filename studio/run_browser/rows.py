"""What is known of one run, and the news of a folder of runs."""

from dataclasses import dataclass
from pathlib import Path

from td3core.runs.listing import RunSummary

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
