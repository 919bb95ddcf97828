"""A group: runs that differ only in their seeds, and the small file that describes them.

``RUNS/groups/NAME/group.json`` holds the settings and the seeds. Which runs belong to it is in each
run's ``run.toml``, so nothing has to be written to two places at once.
"""

import json
import re
import shutil
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from td3core.config import RunConfig, Tunables, pinned, recorded_settings, to_dict
from td3core.config.run_config import HIGHEST_SEED
from td3core.errors import RequestError, file_reason, newer, unreadable
from td3core.experiments.groups.seeds import MOST_SEEDS
from td3core.runs.layout import DESCRIPTION
from td3core.runs.listing import (
    RunSummary,
    UnreadableRun,
    list_runs,
    summarise,
    unreadable_runs,
)
from td3core.runs.lock import RunLock, holder
from td3core.system.files import new_folder, slug, write_atomically
from td3core.system.regular_files import DAMAGE, read_text
from td3core.system.timestamp import now
from td3core.text import SettingName

_NAME = re.compile(r"(?P<env>.+)_[^_]+_s(?P<seed>\d+)_(?P<begun>\d{8}-\d{6}).*")
"""The name of a run's folder."""
_BEGUN = re.compile(r"\d{8}-\d{6}")
_GROUP = re.compile(r'^group = "(?P<name>.*)"$', re.MULTILINE)
_SEED = re.compile(r"^seed = (?P<seed>\d+)$", re.MULTILINE)

FOLDER, FILE = "groups", "group.json"
SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NewGroup:
    """The request for a new group."""

    runs_dir: Path
    seeds: tuple[int, ...]
    config: RunConfig
    tunables: Tunables
    jobs: int | None = None
    checkpoint: Path | None = None
    """The checkpoint its runs branch from; None if they start from scratch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The description of a group."""

    runs_dir: Path
    name: str
    seeds: tuple[int, ...]
    config: RunConfig
    """The settings of all its runs, except the seed."""
    tunables: Tunables
    jobs: int | None = None
    """Number of runs that the user wants to train at once."""
    created: str = ""
    checkpoint: Path | None = None
    """The checkpoint its runs branch from; None if they start from scratch."""

    @property
    def path(self) -> Path:
        """The group's folder."""
        return self.runs_dir / FOLDER / self.name

    def config_of(self, seed: int) -> RunConfig:
        """Return the settings of one of its runs."""
        return replace(self.config, seed=seed)

    def with_steps(self, steps: int) -> "Group":
        """Return the group with a new length of its runs; schedules keep their values at each step.

        Raises:
            RequestError: one of its runs is beyond that step.
        """
        if steps == self.config.steps:
            return self
        furthest = max(self.runs().values(), key=lambda run: run.env_steps, default=None)
        if furthest is not None and steps < furthest.env_steps:
            raise RequestError(
                "{key} cannot be {steps}: {run} is at step {reached}.",
                key=SettingName("steps"),
                steps=steps,
                run=furthest.run.name,
                reached=furthest.env_steps,
            )
        tunables = pinned(self.tunables, self.config.steps)
        return replace(self, config=replace(self.config, steps=steps), tunables=tunables)

    def save(self) -> None:
        """Write the group's file.

        Raises:
            RequestError: the folder cannot be written.
        """
        content = {
            "schema": SCHEMA,
            "created": self.created,
            "seeds": self.seeds,
            "jobs": self.jobs,
            "config": to_dict(self.config),
            "tunables": to_dict(self.tunables),
        }
        if self.checkpoint is not None:
            content["checkpoint"] = str(self.checkpoint)
        try:
            write_atomically(self.path / FILE, json.dumps(content, indent=1).encode())
        except OSError as problem:
            raise _unwritable(self.runs_dir, problem) from problem

    def discard(self) -> None:
        """Delete the folder of a group that has no runs."""
        if not self.runs() and not self.unreadable_runs():
            shutil.rmtree(self.path, ignore_errors=True)

    def runs(self) -> dict[int, RunSummary]:
        """Return its existing runs by seed; the newest if a seed has several."""
        found: dict[int, RunSummary] = {}
        for run in list_runs(self.runs_dir):
            if run.group == self.name and run.config.seed not in found:
                found[run.config.seed] = summarise(run)
        return {seed: found[seed] for seed in self.seeds if seed in found}

    def unreadable_runs(self) -> dict[int, UnreadableRun]:
        """Return its runs that cannot be opened, and those that may be its own, by seed."""
        found = {}
        for run in unreadable_runs(self.runs_dir):
            seed = self._seed_of(run.run)
            if seed in self.seeds:
                found[seed] = run
        return found

    def _seed_of(self, run: Path) -> int | None:
        """Return the seed of an unreadable run; None if it is certainly no run of the group."""
        name = _NAME.fullmatch(run.name)
        seed = int(name["seed"]) if name else None
        try:
            text = read_text(run / DESCRIPTION)
        except (OSError, UnicodeDecodeError):
            text = ""
        if line := _SEED.search(text):
            seed = int(line["seed"])
        if group := _GROUP.search(text):
            return seed if group["name"] == self.name else None
        # The group would be named above this.
        if "[config]" in text or name is None:
            return None
        begun = _BEGUN.search(self.name)
        earlier = begun is not None and name["begun"] < begun[0]
        return None if earlier or name["env"] != slug(self.config.env) else seed

    def is_training(self) -> bool:
        """Return whether a process trains it, or is about to."""
        return holder(self.path) is not None

    def locked(self) -> RunLock:
        """Return a context manager that keeps other processes from training the group."""
        return RunLock(self.path)


def create_group(new: NewGroup) -> Group:
    """Make the folder of a new group and its file.

    Raises:
        RequestError: the folder cannot be written.
    """
    group = Group(
        runs_dir=new.runs_dir.absolute(),
        name="",
        seeds=new.seeds,
        config=replace(new.config, seed=new.seeds[0]),
        tunables=new.tunables,
        jobs=new.jobs,
        created=now(),
        checkpoint=None if new.checkpoint is None else new.checkpoint.absolute(),
    )
    try:
        group = replace(group, name=_new_name(group))
    except OSError as problem:
        raise _unwritable(group.runs_dir, problem) from problem
    group.save()
    return group


def open_group(path: Path) -> Group:
    """Read the group of a folder.

    Raises:
        RequestError: the folder holds no group, or the group's file is damaged.
    """
    path = path.absolute()
    try:
        found = json.loads(read_text(path / FILE))
        if int(found["schema"]) > SCHEMA:
            raise newer()
        config, tunables = recorded_settings(found)
        jobs = found["jobs"]
        return Group(
            runs_dir=path.parent.parent,
            name=path.name,
            seeds=_checked_seeds(found["seeds"]),
            config=config,
            tunables=tunables,
            jobs=None if jobs is None else int(jobs),
            created=str(found["created"]),
            checkpoint=Path(found["checkpoint"]) if found.get("checkpoint") else None,
        )
    except FileNotFoundError as problem:
        raise RequestError("{path} is not a group: it holds no group.json.", path=path) from problem
    except DAMAGE as problem:
        raise unreadable(Path(path.name, FILE), problem) from problem


def find_group(name: Path, runs_dir: Path) -> Group | None:
    """Return the group of this name in a folder of runs, or at this path; None without one."""
    named = runs_dir / FOLDER / name
    for path in (named, name):
        if (path / FILE).is_file():
            return open_group(path)
    return None


def _checked_seeds(found: Any) -> tuple[int, ...]:
    seeds = tuple(seed for seed in found if isinstance(seed, int) and 0 <= seed <= HIGHEST_SEED)
    if not 0 < len(seeds) == len(found) == len(set(seeds)) <= MOST_SEEDS:
        raise ValueError("its seeds are no list of different seeds")
    return seeds


def _new_name(group: Group) -> str:
    """Make a folder named after environment, number of seeds and local time; return its name."""
    env = slug(group.config.env)
    stem = f"{env}_{len(group.seeds)}seeds_{datetime.now():%Y%m%d-%H%M%S}"
    return new_folder(group.runs_dir / FOLDER, stem).name


def _unwritable(runs_dir: Path, problem: OSError) -> RequestError:
    return RequestError(
        "The runs folder {runs_dir} cannot be written: {reason}.",
        runs_dir=runs_dir,
        reason=file_reason(problem),
    )
