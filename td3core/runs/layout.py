"""Paths of the files in a run's folder."""

import re
from collections.abc import Iterable
from pathlib import Path

from td3core.checkpoint import SUFFIX
from td3core.errors import RequestError

DESCRIPTION = "run.toml"
"""A folder that holds this file is a run."""
JOURNAL = "journal.jsonl"
REPLAY = "replay.f32"
CHECKPOINTS = "checkpoints"
BEST, LAST = f"best{SUFFIX}", f"last{SUFFIX}"
_NAME_WITH_STEP = re.compile(r"[a-z]+_([0-9]{1,15})")
"""Limits the digits: Python refuses to parse integers with thousands of them."""


def step_checkpoint(run: Path, env_steps: int) -> Path:
    """Return the path of a run's checkpoint after ``env_steps`` steps."""
    return run / CHECKPOINTS / f"step_{env_steps:09d}{SUFFIX}"


def step_in_name(checkpoint: Path) -> int | None:
    """Return the step in a checkpoint's name; None without one, as when a user renamed it."""
    found = _NAME_WITH_STEP.fullmatch(checkpoint.stem)
    return int(found[1]) if found else None


def by_step(checkpoints: Iterable[Path]) -> list[Path]:
    """Return checkpoints in the order of the steps in their names, those without a step last."""

    # Sorting by name would not do: from a billion steps on, names have more than nine digits.
    def place(path: Path) -> tuple[bool, int, str]:
        step = step_in_name(path)
        return step is None, step or 0, path.name

    return sorted(checkpoints, key=place)


def run_of(checkpoint: Path) -> Path | None:
    """Return the run that a checkpoint belongs to; None for a file outside a run."""
    return checkpoint.parent.parent if checkpoint.parent.name == CHECKPOINTS else None


def distinct(runs: Iterable[Path]) -> list[Path]:
    """Return each run once, by the first of its paths; links and ``..`` give it several."""
    found: dict[Path, Path] = {}
    for run in runs:
        found.setdefault(run.resolve(), run)
    return list(found.values())


def buffer_file_of(checkpoint: Path) -> Path:
    """Return the path of the replay buffer of a checkpoint's run; the file exists if it was kept.

    Raises:
        RequestError: the checkpoint belongs to no run.
    """
    run = run_of(checkpoint.resolve())
    if run is None:
        raise RequestError("{file} belongs to no run.", file=checkpoint.name)
    return run / REPLAY
