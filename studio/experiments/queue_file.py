"""The runs that wait, as a file in the folder of runs: they outlive the window."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studio.formatting import format_count
from td3core.config import RunConfig, Tunables, make_settings, to_dict
from td3core.errors import RequestError, file_reason
from td3core.experiments.groups.seeds import format_seeds, parse_seeds
from td3core.system.files import make_folder, write_atomically
from td3core.system.regular_files import read_text

NAME = "queue.json"
SCHEMA = 1
_DAMAGE = (
    *(OSError, KeyError, TypeError, AttributeError),
    *(ValueError, OverflowError, RecursionError),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedRun:
    """A run that waits, a group if it has ``seeds``, or a branch if it has a ``checkpoint``."""

    config: RunConfig
    tunables: Tunables
    seeds: tuple[int, ...] = ()
    checkpoint: Path | None = None

    @property
    def text(self) -> str:
        """Two lines for a list."""
        seeds = f"seeds {format_seeds(self.seeds)}" if self.seeds else f"seed {self.config.seed}"
        if self.seeds == tuple(range(len(self.seeds))) and self.seeds:
            seeds = f"{len(self.seeds)} seeds"
        preset = "" if self.config.preset == self.config.env else self.config.preset
        if self.checkpoint is not None:
            seeds = f"branch from {self.checkpoint.stem}"
        parts = (preset, seeds, f"{format_count(self.config.steps)} steps")
        return f"{self.config.env}\n" + " · ".join(part for part in parts if part)


def write_queue(runs_dir: Path, runs: Sequence[QueuedRun]) -> None:
    """Write the queue.

    Raises:
        OSError: the folder cannot be written; an earlier queue is untouched.
    """
    found = [
        {
            "config": to_dict(run.config),
            "tunables": to_dict(run.tunables),
            "seeds": format_seeds(run.seeds),
            "checkpoint": str(run.checkpoint or ""),
        }
        for run in runs
    ]
    path = runs_dir / NAME
    if found or path.exists():
        make_folder(runs_dir)
        write_atomically(path, json.dumps({"schema": SCHEMA, "runs": found}).encode())


def read_queue(runs_dir: Path) -> tuple[QueuedRun, ...]:
    """Return the queue; empty if there is none.

    Raises:
        RequestError: its file is damaged.
    """
    try:
        found = json.loads(read_text(runs_dir / NAME))
        if int(found["schema"]) > SCHEMA:
            raise RequestError("it was written by a newer TD3 Studio")
        return tuple(_read(each) for each in found["runs"])
    except FileNotFoundError:
        return ()
    except _DAMAGE as problem:
        raise RequestError(
            "The queue in {file} cannot be read: {reason}.", file=NAME, reason=file_reason(problem)
        ) from problem


def _read(found: Any) -> QueuedRun:
    config, tunables = make_settings({**found["config"], **found["tunables"]})
    seeds = parse_seeds(found["seeds"]) if found["seeds"] else ()
    checkpoint = Path(found["checkpoint"]) if found.get("checkpoint") else None
    return QueuedRun(config=config, tunables=tunables, seeds=seeds, checkpoint=checkpoint)
