"""What a run goes on from, and what it needs for that."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from td3core import checkpoint
from td3core.checkpoint import Checkpoint
from td3core.checkpoint.resumable import require_resumable
from td3core.config import RunConfig
from td3core.envs.info import EnvInfo
from td3core.errors import RequestError, brief
from td3core.runs import journal
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import Change

FIXED_BY_CHECKPOINT = (
    *("env", "seed", "env_args", "num_envs", "actor_hidden", "critic_hidden", "twin_critics"),
    *("actor_activation", "critic_activation", "normalize_observations", "buffer_size"),
)
"""Settings that what a checkpoint holds depends on."""


def choose_checkpoint(run: RunDirectory) -> tuple[Checkpoint | None, tuple[str, ...]]:
    """Return the newest checkpoint that a run can go on from, and what is to be said of others.

    ``None`` is a run that was interrupted before its first one: it begins anew, with the same seed
    and so with the same steps.

    Raises:
        RequestError: there are checkpoints, but not one of them will do.
    """
    steps = [path for path in run.saved() if path not in (run.best, run.last)]
    candidates = [path for path in (run.last, *reversed(steps), run.best) if path.exists()]
    refusals: list[str] = []
    for path in candidates:
        try:
            saved = load_complete(path)
            for name in differing(saved.header.config, run.config):
                raise RequestError(
                    f"{name} is {brief(getattr(run.config, name), 60)} in run.toml, but"
                    f" {brief(getattr(saved.header.config, name), 60)} in {path.name}."
                )
            return saved, tuple(refusals)
        except RequestError as problem:
            refusals.append(str(problem))
    if refusals:
        raise RequestError(f"{run.path.name} cannot go on: {' '.join(refusals)}")
    if run.parent is not None:
        raise RequestError(
            f"{run.path.name} was interrupted before it had taken over {run.parent.checkpoint} of"
            f" {run.parent.run}; branch from that again."
        )
    return None, ()


def differing(one: RunConfig, other: RunConfig) -> Iterable[str]:
    """Return those of ``FIXED_BY_CHECKPOINT`` in which two configurations differ."""
    return [name for name in FIXED_BY_CHECKPOINT if getattr(one, name) != getattr(other, name)]


def load_complete(path: Path) -> Checkpoint:
    """Read a checkpoint that holds everything a run needs to go on.

    Raises:
        RequestError: it cannot be read, holds only the networks, or makes no sense.
    """
    saved = checkpoint.load(path)
    require_resumable(saved)
    return saved


def with_total_steps(
    run: RunDirectory, saved: Checkpoint | None, steps: int | None
) -> RunDirectory:
    """Return the run with another number of steps, if one is given.

    Raises:
        RequestError: the run has come to its last step already.
    """
    config = run.config if steps is None else replace(run.config, steps=steps)
    total = config.steps
    reached = saved.header.counters.env_steps if saved else 0
    ending = run.ending()
    # One that was killed in its last evaluation has come to its last step, but not to its end.
    finished = ending is not None and ending.stopped == "finished"
    # Several environments together come to a step beyond the last one.
    if steps is not None and steps < reached:
        raise RequestError(f"steps cannot be {steps}: {run.path.name} has come to step {reached}.")
    if reached >= total and (finished or reached - run.config.num_envs >= total):
        raise RequestError(
            f"{run.path.name} has come to step {reached} of {total}; to go on, give it more steps."
        )
    return run.with_config(config)


def pending_changes(run: RunDirectory, saved: Checkpoint | None) -> list[Change]:
    """Return the live changes on record that the checkpoint does not know of yet."""
    changes = journal.changes_of(run.journal())
    if saved is None:
        return changes
    counters = saved.header.counters
    here = [change for change in changes if change.env_steps == counters.env_steps]
    later = [change for change in changes if change.env_steps > counters.env_steps]
    return here[counters.changes :] + later


def resume_point(saved: Checkpoint) -> tuple[int, bool]:
    """Return the step of a checkpoint, and whether it holds updates that no row is made of yet."""
    return saved.header.counters.env_steps, bool(saved.tensors["tally.counts"].any())


def require_same_sizes(saved: Checkpoint, info: EnvInfo) -> None:
    """Refuse an environment that is not the one the agent learnt in.

    Raises:
        RequestError: sizes or bounds differ.
    """
    then = saved.header.env
    for name in ("obs_dim", "act_dim", "action_low", "action_high"):
        before, now = getattr(then, name), getattr(info, name)
        if before != now:
            raise RequestError(
                f"{info.env_id} is not what it was when {saved.header.path.name} was saved:"
                f" its {name} was {before} and is {now}."
            )
