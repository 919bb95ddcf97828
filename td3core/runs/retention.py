"""Which step checkpoints are kept."""

from collections.abc import Iterable
from pathlib import Path

from td3core.config import RunConfig
from td3core.protocol.events import JournalEvent
from td3core.runs.directory import RunDirectory
from td3core.runs.layout import step_in_name


def keeps_all(config: RunConfig) -> bool:
    """Return whether every checkpoint is kept."""
    return config.keep_every == 1


def may_keep(config: RunConfig, env_steps: int) -> bool:
    """Return whether a checkpoint of this step may be kept."""
    evaluated = config.keep_best and config.eval_interval
    return bool(evaluated) or _has_its_turn(config, env_steps)


def expired_checkpoints(run: RunDirectory, requested: Iterable[int] = ()) -> list[Path]:
    """Return the step checkpoints that the settings do not keep, oldest first.

    ``requested`` are steps at which the user saved, besides those in the journal. A checkpoint
    whose evaluation may be pending is kept until the result is known.
    """
    config = run.config
    steps = {step_in_name(path): path for path in run.step_files()}
    steps.pop(None, None)
    means = run.evaluations() if config.keep_best else []
    judged = max((step for step, _ in means), default=-1)
    ranked = sorted((each for each in means if each[0] in steps), key=lambda each: -each[1])
    staying = {step for step, _ in ranked[: config.keep_best]} | _requested_in(run) | set(requested)
    waits = config.keep_best and config.eval_interval
    return [
        path
        for step, path in steps.items()
        if step is not None
        and step not in staying
        and not _has_its_turn(config, step)
        and not (waits and step > judged)
    ]


def _has_its_turn(config: RunConfig, env_steps: int) -> bool:
    """Return whether this is a ``keep_every``-th checkpoint.

    With several environments, its step may slightly exceed a multiple of the interval.
    """
    if not config.keep_every or not config.checkpoint_interval:
        return False
    return env_steps // config.checkpoint_interval % config.keep_every == 0


def _requested_in(run: RunDirectory) -> set[int]:
    """Return the steps at which the user saved."""
    return {entry["step"] for entry in run.journal() if entry.get("event") == JournalEvent.SAVE}
