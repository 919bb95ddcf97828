"""Where the files of a run lie in its folder."""

import re
from collections.abc import Iterable
from pathlib import Path

from td3core.checkpoint import SUFFIX
from td3core.errors import RequestError

DESCRIPTION = "run.toml"
"""What makes a folder a run."""
JOURNAL = "journal.jsonl"
REPLAY = "replay.f32"
CHECKPOINTS = "checkpoints"
BEST, LAST = f"best{SUFFIX}", f"last{SUFFIX}"
_NAME_WITH_STEP = re.compile(r"[a-z]+_([0-9]{1,15})")
"""Not any number of digits: Python refuses to parse integers with thousands of them."""


def step_checkpoint(run: Path, env_steps: int) -> Path:
    """Return the path of a run's checkpoint after ``env_steps`` steps."""
    return run / CHECKPOINTS / f"step_{env_steps:09d}{SUFFIX}"


def step_in_name(checkpoint: Path) -> int | None:
    """Return the step in a checkpoint's name; None if it has none, as after a person renamed it."""
    found = _NAME_WITH_STEP.fullmatch(checkpoint.stem)
    return int(found[1]) if found else None


def by_step(checkpoints: Iterable[Path]) -> list[Path]:
    """Return checkpoints in the order of the steps in their names, those without a step last."""

    # Names alone would not do: those of a billion steps and more have ten digits or eleven.
    def place(path: Path) -> tuple[bool, int, str]:
        step = step_in_name(path)
        return step is None, step or 0, path.name

    return sorted(checkpoints, key=place)


def run_of(checkpoint: Path) -> Path | None:
    """Return the run that a checkpoint belongs to; None for a file on its own."""
    return checkpoint.parent.parent if checkpoint.parent.name == CHECKPOINTS else None


def buffer_file_of(checkpoint: Path) -> Path:
    """Return where the replay buffer of a checkpoint's run lies, if it was kept.

    Raises:
        RequestError: it is a file on its own.
    """
    run = run_of(checkpoint.resolve())
    if run is None:
        raise RequestError("{file} belongs to no run.", file=checkpoint.name)
    return run / REPLAY
