"""Facts for the start page: the latest runs, and the duration of a first training here."""

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studio.tasks.background_task import Stopped
from td3core.config import RunConfig, Tunables
from td3core.config.presets import compose, preset_of
from td3core.envs.catalogue import FIRST_ENV
from td3core.protocol.run_status import RunStatus
from td3core.runs.directory import RunDirectory
from td3core.runs.listing import RunSummary, summarise
from td3core.runs.naming import Usual
from td3core.runs.recent import newest_runs, was_trained_here

_LOOKED_AT = 30
_RECENT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class StartFacts:
    """The latest runs of a folder."""

    recent: tuple[RunSummary, ...] = ()
    unfinished: RunSummary | None = None
    """The latest run that was stopped or interrupted before its last step."""
    first_s: float | None = None
    """Seconds that an earlier run of the first environment took on this machine."""


def read_facts(runs_dir: Path, stopped: Stopped) -> StartFacts:
    """Read the latest runs of a folder."""
    found: list[tuple[RunDirectory, RunSummary]] = []
    usual: Usual = {}
    for run in newest_runs(runs_dir, _LOOKED_AT):
        if stopped():
            break
        # A folder may change or disappear while it is read.
        with contextlib.suppress(OSError):
            found.append((run, summarise(run, usual)))
    return StartFacts(
        recent=tuple(summary for _, summary in found[:_RECENT]),
        unfinished=next((each for run, each in found if _can_continue(run, each)), None),
        first_s=next((s for s in (_seconds(run, each) for run, each in found) if s), None),
    )


def _can_continue(run: RunDirectory, summary: RunSummary) -> bool:
    # A failed run would most likely fail again.
    left = summary.state in (RunStatus.STOPPED, RunStatus.INTERRUPTED)
    return left and summary.env_steps < summary.steps and run.last.exists()


def _seconds(run: RunDirectory, summary: RunSummary) -> float | None:
    """Return the duration of a whole first training at this run's speed; None for other runs."""
    config, tunables = compose(FIRST_ENV, [], {})
    whole = summary.state is RunStatus.FINISHED and 2 * summary.env_steps >= config.steps
    # Compared by settings: an earlier version had another preset of this name.
    same = _shaping(run.config, run.first_tunables) == _shaping(config, tunables)
    if not (whole and same and summary.parent is None):
        return None
    if not (summary.wall_s > 0 and was_trained_here(run)):
        return None
    return summary.wall_s / summary.env_steps * config.steps


def _shaping(config: RunConfig, tunables: Tunables) -> dict[str, Any]:
    """Return the settings of a preset, except length, numerics and engine, which differ by run."""
    values = preset_of(config.preset, config, tunables).values
    return {k: v for k, v in values.items() if k not in ("steps", "numerics", "engine")}
