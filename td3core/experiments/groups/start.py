"""Plans a group: checks its settings, shares the machine among its runs, writes its file."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from td3core.config import RunConfig, Tunables, check_together
from td3core.envs.check.rehearsal import rehearse
from td3core.envs.make import check_env
from td3core.experiments.groups.allocation import Allocation, allocate, bytes_of_run
from td3core.experiments.groups.group import Group, create_group
from td3core.runs.directory import note_module_folder
from td3core.system import numerics
from td3core.text import Text


def _never() -> bool:
    return False


def plan_group(
    runs_dir: Path,
    seeds: tuple[int, ...],
    config: RunConfig,
    tunables: Tunables,
    jobs: int | None = None,
    stopped: Callable[[], bool] = _never,
    checkpoint: Path | None = None,
) -> tuple[Group, Allocation]:
    """Make a new group, and decide how many of its runs train at once.

    Threads and numerics class are part of its settings, because results depend on them. Its runs
    branch from ``checkpoint``, if there is one. ``stopped`` is polled while its environment is made
    in another process.

    Raises:
        RequestError: the settings are refused, or the folder cannot be written.
        StoppedError: ``stopped`` returned True.
    """
    check_together(config, tunables)
    if checkpoint is not None:
        note_module_folder(checkpoint)
    allocation = _allocate(len(seeds), config, tunables, jobs, stopped)
    name = numerics.resolve_for_children(config.numerics)
    config = replace(config, threads=allocation.threads, numerics=name)
    return create_group(runs_dir, seeds, config, tunables, jobs, checkpoint), allocation


def on_this_machine(group: Group) -> tuple[Group, Text | None]:
    """Return a group with the numerics class for new runs on this machine, and a notice, if any.

    Runs that have begun resume in their own class, or report that they cannot.
    """
    wanted = group.config.numerics
    earlier = "" if wanted == numerics.AUTO else wanted
    here = (numerics.current(), *numerics.available())
    name, sentence = numerics.shared_class(numerics.AUTO, earlier, [here])
    return replace(group, config=replace(group.config, numerics=name)), sentence


def allocation_of(
    group: Group,
    jobs: int | None = None,
    stopped: Callable[[], bool] = _never,
) -> Allocation:
    """Decide how many runs of a group train at once, with the number of threads they began with.

    ``jobs`` replaces the number that the user wanted at its start; ``stopped`` is as in
    :func:`plan_group`.

    Raises:
        RequestError: its environment cannot be used, or ``jobs`` is out of range.
        StoppedError: ``stopped`` returned True.
    """
    jobs = group.jobs if jobs is None else jobs
    return _allocate(len(group.seeds), group.config, group.tunables, jobs, stopped)


def _allocate(
    runs: int,
    config: RunConfig,
    tunables: Tunables,
    jobs: int | None,
    stopped: Callable[[], bool],
) -> Allocation:
    rehearse([config.choice], stopped=stopped)
    info = check_env(config.choice)
    needed = bytes_of_run(config, tunables, info)
    return allocate(runs, needed, jobs, config.threads)
