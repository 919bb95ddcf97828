"""Reads a run from its files, in the background: curves, changes and how it ended."""

from dataclasses import dataclass
from pathlib import Path

from studio.session.agents import SavedAgents, read_agents
from studio.session.curves import RunCurves
from studio.session.record import RunRecord
from studio.tasks.background_task import Stopped
from td3core.analysis.advice import Rule
from td3core.checkpoint import read_header
from td3core.errors import RequestError
from td3core.protocol.run_status import RunStatus
from td3core.runs.directory import RunDirectory
from td3core.runs.layout import run_of
from td3core.runs.reader import RunReader


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHistory:
    """A run as its files describe it."""

    record: RunRecord
    agents: SavedAgents
    reader: RunReader | None = None
    """Returns later events, if another process trains the run; else None."""
    reopened: bool = False
    """True for the run of the last session, opened without a request: it must not replace what the
    user has chosen or entered meanwhile."""

    @property
    def live(self) -> bool:
        """True if another process was training the run when it was read."""
        return self.reader is not None


def read_history(path: Path, stopped: Stopped, rules: tuple[Rule, ...] | None = None) -> RunHistory:
    """Read a run, and the curves of the runs it was branched from.

    Args:
        path: the run's folder.
        stopped: polled; True ends the reading early.
        rules: the rules its health is judged by; None for the bundled ones.

    Raises:
        RequestError: it is not a run, or its description is damaged.
    """
    reader, record = RunReader(path), RunRecord() if rules is None else RunRecord(rules=rules)
    for ancestor, last_step in lineage(reader.directory):
        _add_curves(record.parent_curves, ancestor.path, stopped, last_step)
    for event in reader.drain(stopped):
        record.take(event)
    # These describe the process that last trained the run.
    record.device, record.time_left = "", None
    live = reader.state is RunStatus.RUNNING
    agents = read_agents(reader.directory)
    return RunHistory(record=record, agents=agents, reader=reader if live else None)


def read_parent_curves(checkpoint: Path, stopped: Stopped) -> RunCurves:
    """Read the curves before a checkpoint: those of its run and of the run's ancestors.

    Empty if the checkpoint is not in a run.

    Raises:
        RequestError: the checkpoint cannot be read.
    """
    reached, curves = read_header(checkpoint).counters.env_steps, RunCurves()
    path = run_of(checkpoint)
    if path is None:
        return curves
    try:
        run = RunDirectory.open(path)
    except RequestError:
        return curves
    for ancestor, last_step in (*lineage(run), (run, reached)):
        _add_curves(curves, ancestor.path, stopped, min(last_step, reached))
    return curves


def _add_curves(curves: RunCurves, path: Path, stopped: Stopped, last_step: int) -> None:
    for event in RunReader(path).drain(stopped):
        curves.add(event, last_step)


def lineage(run: RunDirectory) -> list[tuple[RunDirectory, int]]:
    """Return a run's ancestors that still exist, oldest first, each with the last step shared."""
    found: list[tuple[RunDirectory, int]] = []
    seen = {run.path}
    limit = float("inf")
    while run.parent is not None and (path := run.path.with_name(run.parent.run)) not in seen:
        seen.add(path)
        limit = min(limit, run.parent.env_steps)
        try:
            run = RunDirectory.open(path)
        except RequestError:
            break
        found.append((run, int(limit)))
    return found[::-1]
