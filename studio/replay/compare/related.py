"""The agents of related runs: parents, branches, and other seeds of a group."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from studio.session.history import lineage
from studio.tasks.background_task import Stopped
from td3core.runs.directory import RunDirectory
from td3core.runs.listing import list_runs
from td3core.runs.naming import name_of
from td3core.system.regular_files import exists
from td3core.text import Text


class Related(NamedTuple):
    """A run, its relation to the current run, and its best and last agent, if any."""

    title: str
    agents: tuple[Path, ...]


def related_runs(path: Path, stopped: Stopped) -> list[Related]:
    """Return the runs related to a run, its parents first.

    Raises:
        RequestError: the folder is no run.
    """
    run = RunDirectory.open(path)
    parents = [ancestor for ancestor, _ in reversed(lineage(run))]
    found = [_related(Text("Parent"), parent) for parent in parents]
    known = {run.path, *(parent.path for parent in parents)}
    for role, other in _relatives(run):
        if stopped():
            break
        if other.path not in known:
            found.append(_related(role, other))
    return [each for each in found if each.agents]


def _relatives(run: RunDirectory) -> Iterator[tuple[Text, RunDirectory]]:
    for other in list_runs(run.path.parent):
        if other.parent is not None and other.parent.run == run.path.name:
            yield Text("Branch"), other
        elif run.group and other.group == run.group:
            yield Text("Seed {seed} of the group", seed=other.config.seed), other


def _related(role: Text, run: RunDirectory) -> Related:
    agents = tuple(path for path in (run.best, run.last) if exists(path))
    return Related(f"{role}: {name_of(run)}", agents)
