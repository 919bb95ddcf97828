"""Facts about one run for a report, read from its folder; missing ones are not guessed."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from td3core.analysis.results import RunResults, read_results, read_training
from td3core.arrays import Doubles
from td3core.checkpoint import read_header
from td3core.checkpoint.header import Header
from td3core.errors import RequestError, brief
from td3core.exporters.report.measured_plots import REPORTED
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import Entry, import_of
from td3core.runs.layout import DESCRIPTION
from td3core.runs.listing import RunSummary, summarise
from td3core.system.regular_files import exists, parse_toml, read_text

_MOST_ENTRIES, _LONGEST = 40, 120


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """One run of a report."""

    directory: RunDirectory
    results: RunResults
    training: Doubles
    """Shape (n, len(REPORTED))."""
    summary: RunSummary
    entries: tuple[Entry, ...]
    """Lines of its journal."""
    machine: Mapping[str, str] = field(default_factory=dict)
    """Empty if not on record."""
    versions: Mapping[str, str] = field(default_factory=dict)
    header: Header | None = None
    """Header of its newest checkpoint; None if no checkpoint can be read."""
    threshold: float | None = None
    """The return at which its environment counts as solved."""

    @property
    def imported(self) -> Entry | None:
        """The journal line of its import; None if it was trained by this program."""
        return import_of(self.entries)

    @property
    def path(self) -> Path:
        """The folder of the run."""
        return self.directory.path


def read_facts(path: Path, stopped: Callable[[], bool] = lambda: False) -> RunFacts:
    """Read a run; one that is still training is read up to its current step.

    Raises:
        RequestError: it is no run, or its description is damaged.
    """
    results = read_results(path, stopped)
    directory = RunDirectory.open(path)
    header = _header(directory)
    threshold = results.threshold
    if threshold is None and header is not None:
        threshold = header.env.reward_threshold
    entries = tuple(directory.journal())
    # The description of an import is about the machine that imported it.
    described = {} if import_of(entries) else _description(path)
    return RunFacts(
        directory=directory,
        results=results,
        training=read_training(path, stopped, REPORTED),
        summary=summarise(directory),
        entries=entries,
        machine=_words(described.get("machine")),
        versions=_words(described.get("versions")),
        header=header,
        threshold=threshold,
    )


def _header(run: RunDirectory) -> Header | None:
    for path in (run.last, run.best):
        with contextlib.suppress(RequestError):
            if exists(path):
                return read_header(path)
    return None


def _description(path: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError, RecursionError):
        return parse_toml(read_text(path / DESCRIPTION))
    return {}


def _words(found: Any) -> dict[str, str]:
    """Return a table of a run's description as short texts; empty if it is not a table."""
    if not isinstance(found, dict):
        return {}
    plain = {k: v for k, v in found.items() if isinstance(v, str | int | float)}
    few = list(plain.items())[:_MOST_ENTRIES]
    return {brief(name, _LONGEST): brief(value, _LONGEST) for name, value in few}
