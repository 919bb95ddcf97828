"""Where the files of a run lie in its folder."""

from pathlib import Path

from td3core.checkpoint import SUFFIX
from td3core.errors import RequestError

DESCRIPTION = "run.toml"
"""What makes a folder a run."""
JOURNAL = "journal.jsonl"
REPLAY = "replay.f32"
CHECKPOINTS = "checkpoints"
BEST, LAST = f"best{SUFFIX}", f"last{SUFFIX}"


def step_checkpoint(run: Path, env_steps: int) -> Path:
    """Return the path of a run's checkpoint after ``env_steps`` steps."""
    return run / CHECKPOINTS / f"step_{env_steps:09d}{SUFFIX}"


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
