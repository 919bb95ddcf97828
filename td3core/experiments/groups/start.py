"""Plans a group: checks its settings, shares the machine among its runs, writes its file."""

from collections.abc import Callable
from dataclasses import replace

from td3core.config import check_together
from td3core.envs.check.rehearsal import rehearse
from td3core.envs.make import check_env
from td3core.experiments.groups.allocation import Allocation, allocate, bytes_of_run
from td3core.experiments.groups.group import Group, NewGroup, create_group
from td3core.runs.directory import note_module_folder
from td3core.system import numerics
from td3core.text import Text


def _never() -> bool:
    return False


def plan_group(new: NewGroup, stopped: Callable[[], bool] = _never) -> tuple[Group, Allocation]:
    """Make a new group, and decide how many of its runs train at once.

    Threads and numerics class are part of its settings, because results depend on them. ``stopped``
    is polled while its environment is made in another process.

    Raises:
        RequestError: the settings are refused, or the folder cannot be written.
        StoppedError: ``stopped`` returned True.
    """
    check_together(new.config, new.tunables)
    if new.checkpoint is not None:
        note_module_folder(new.checkpoint)
    allocation = _allocate(new, new.jobs, stopped)
    name = numerics.resolve_for_children(new.config.numerics)
    config = replace(new.config, threads=allocation.threads, numerics=name)
    return create_group(replace(new, config=config)), allocation


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
    return _allocate(group, group.jobs if jobs is None else jobs, stopped)


def _allocate(group: NewGroup | Group, jobs: int | None, stopped: Callable[[], bool]) -> Allocation:
    config = group.config
    rehearse([config.choice], stopped=stopped)
    info = check_env(config.choice)
    needed = bytes_of_run(config, group.tunables, info)
    return allocate(len(group.seeds), needed, jobs, config.threads)
