"""Finds groups that train in other processes, and watches them through their folders."""

from dataclasses import replace
from pathlib import Path

from td3core.errors import RequestError
from td3core.experiments.groups.group import FILE, FOLDER, Group, open_group
from td3core.experiments.groups.seed_status import SeedState, SeedStatus, status_on_disk
from td3core.protocol.events import Phase
from td3core.runs.status import Status
from td3core.system.regular_files import glob


def training_groups(runs_dir: Path) -> list[Group]:
    """Return the groups in a folder of runs that are training now, in any process."""
    found = []
    for file in glob(runs_dir / FOLDER, f"*/{FILE}"):
        try:
            group = open_group(file.parent)
            if group.is_training():
                found.append(group)
        except RequestError:
            # Damaged, or of another version: the process that trains it can read it.
            continue
    return found


def watch(group: Group) -> tuple[SeedStatus, ...]:
    """Return the status of each run of a training group, from the files of the runs."""
    runs = group.runs()
    return tuple(
        _lively(status_on_disk(seed, group.config.steps, runs.get(seed))) for seed in group.seeds
    )


def _lively(status: SeedStatus) -> SeedStatus:
    """Add facts to the status of a training run that only its process knows."""
    if status.state is not SeedState.TRAINING or status.run is None:
        return status
    found = Status.read(status.run)
    if found is None:
        return status
    paused = found.phase is Phase.PAUSED
    return replace(
        status,
        state=SeedState.PAUSED if paused else SeedState.TRAINING,
        phase=str(found.phase),
        env_steps=max(status.env_steps, found.env_steps),
        steps_per_s=found.steps_per_s,
    )
