"""Plans a group: checks its settings, shares the machine among its runs, writes its file."""

from dataclasses import replace
from pathlib import Path

from td3core.config import RunConfig, Tunables, check_together
from td3core.config.consent import Consent
from td3core.envs.make import check_env
from td3core.experiments.groups.allocation import Allocation, allocate, bytes_of_run
from td3core.experiments.groups.group import Group, create_group


def plan_group(
    runs_dir: Path,
    seeds: tuple[int, ...],
    config: RunConfig,
    tunables: Tunables,
    consent: Consent,
    jobs: int | None = None,
) -> tuple[Group, Allocation]:
    """Make a new group, and decide how many of its runs train at once.

    The number of threads is part of its settings, because results depend on it.

    Raises:
        RequestError: the settings are refused, or the folder cannot be written.
    """
    check_together(config, tunables)
    allocation = _allocate(len(seeds), config, tunables, consent, jobs)
    config = replace(config, threads=allocation.threads)
    return create_group(runs_dir, seeds, config, tunables, jobs), allocation


def allocation_of(group: Group, consent: Consent, jobs: int | None = None) -> Allocation:
    """Decide how many runs of a group train at once, with as many threads as they began with.

    ``jobs`` replaces the number that the user wanted when it was started.

    Raises:
        RequestError: its environment cannot be used.
    """
    return _allocate(len(group.seeds), group.config, group.tunables, consent, jobs or group.jobs)


def _allocate(
    runs: int, config: RunConfig, tunables: Tunables, consent: Consent, jobs: int | None
) -> Allocation:
    info = check_env(config.choice.with_consent(consent))
    needed = bytes_of_run(config, tunables, info)
    return allocate(runs, needed, jobs, config.threads)
