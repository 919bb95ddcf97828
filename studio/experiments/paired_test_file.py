"""A paired test as a file in the folder of runs: like its runs, it outlives the window.

``RUNS/trials/NAME.json`` exists from the request until the verdict is accepted or closed. The
window that owns it holds ``NAME.lock``: other windows of the folder leave it alone.
"""

import json
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from td3core.analysis.advice import SettingChange
from td3core.config import RunConfig, Tunables, recorded_settings, specs, to_dict
from td3core.errors import RequestError, newer
from td3core.experiments.groups.group import FOLDER, open_group
from td3core.experiments.groups.seed_status import SeedState
from td3core.experiments.groups.seeds import format_seeds, parse_seeds
from td3core.experiments.groups.watch import watch
from td3core.experiments.paired_tests import MOST_PAIRS, PairedTest, PairedTestArm
from td3core.system.files import make_folder, write_atomically
from td3core.system.regular_files import DAMAGE, glob, read_text, require_own

NAME = "trials"
"""The folder's name, from when these were called trials; a contract, like their file format."""
SCHEMA = 1
_ARMS = ("with_change", "without")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTest:
    """A paired test, its purpose, and its groups so far."""

    test: PairedTest
    run: Path
    """The run that the change was advised for."""
    series: str
    """Name of the comparison of its runs."""
    groups: tuple[str, ...] = ()
    """The names of the groups started: with the change first."""

    @property
    def change(self) -> SettingChange:
        """The change being tried."""
        (setting,) = self.test.values
        live = setting in dict(specs(Tunables))
        old, new = (
            getattr(arm.tunables if live else arm.config, setting)
            for arm in (self.test.without, self.test.with_change)
        )
        return SettingChange(setting=setting, old=old, new=new)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Progress of a paired test, from the files on disk."""

    kept: KeptTest
    """The paired test, with only those groups that still exist."""
    runs: tuple[dict[int, Path], ...]
    """Runs of each finished arm, by seed: with the change first."""
    finished: int
    """Total number of finished runs."""


class PairedTestFile:
    """The file of the paired test of one window. Every method reads or writes the disk."""

    def __init__(self, runs_dir: Path) -> None:
        self._folder = runs_dir.absolute() / NAME
        self._path: Path | None = None
        self._lock: FileLock | None = None

    def write(self, kept: KeptTest) -> None:
        """Store a paired test, replacing the previous one.

        Raises:
            OSError: the folder cannot be written.
        """
        if self._path is None:
            make_folder(self._folder)
            path = self._folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:6]}.json"
            if not self._claim(path):
                raise OSError("it is in use")
        assert self._path is not None
        write_atomically(self._path, json.dumps(_as_plain(kept), indent=1).encode())

    def find(self) -> KeptTest | None:
        """Return the newest paired test that no window owns, and take it over; None without one."""
        self.leave()
        for path in sorted(glob(self._folder, "*.json"), reverse=True):
            try:
                if self._claim(path):
                    return _read(json.loads(read_text(path)))
            except DAMAGE:
                # Written by a newer version, or not a paired test file.
                self.leave()
        return None

    def discard(self) -> None:
        """Delete the paired test; its runs stay."""
        path = self._path
        if path is not None:
            path.unlink(missing_ok=True)
            self.leave()
            path.with_suffix(".lock").unlink(missing_ok=True)

    def leave(self) -> None:
        """Release the paired test, so that another window can take it over."""
        if self._lock is not None:
            self._lock.release()
        self._path = self._lock = None

    def _claim(self, path: Path) -> bool:
        lock = path.with_suffix(".lock")
        require_own(lock)
        taken = FileLock(lock, thread_local=False)
        try:
            taken.acquire(blocking=False)
        except Timeout:
            return False
        self._path, self._lock = path, taken
        return True


def standing(runs_dir: Path, kept: KeptTest) -> Standing:
    """Return the progress of a paired test; a missing or unreadable group is started again."""
    groups, runs, finished = list[str](), list[dict[int, Path]](), 0
    for name in kept.groups:
        path = runs_dir / FOLDER / name
        try:
            group = open_group(path)
        except RequestError:
            # Deleted, or damaged.
            break
        groups.append(name)
        over = {
            status.seed: status.run
            for status in watch(group)
            if status.state is SeedState.FINISHED and status.run is not None
        }
        finished += len(over)
        if len(runs) == len(groups) - 1 and len(over) == len(kept.test.seeds):
            runs.append(over)
    return Standing(kept=replace(kept, groups=tuple(groups)), runs=tuple(runs), finished=finished)


def _as_plain(kept: KeptTest) -> dict[str, Any]:
    test = kept.test
    return {
        "schema": SCHEMA,
        "run": str(kept.run),
        "series": kept.series,
        "groups": kept.groups,
        "checkpoint": str(test.checkpoint),
        "setting": next(iter(test.values)),
        "steps": test.steps,
        "seeds": format_seeds(test.seeds),
        **{key: _arm_as_plain(getattr(test, key)) for key in _ARMS},
    }


def _arm_as_plain(arm: PairedTestArm) -> dict[str, Any]:
    return {"config": to_dict(arm.config), "tunables": to_dict(arm.tunables)}


def _read(found: Any) -> KeptTest:
    if int(found["schema"]) > SCHEMA:
        raise newer()
    seeds = parse_seeds(found["seeds"])
    if not 0 < len(seeds) <= MOST_PAIRS:
        raise ValueError("its seeds are no pairs")
    setting, arms = str(found["setting"]), [_read_arm(found[key]) for key in _ARMS]
    if setting not in dict(specs(Tunables)) | dict(specs(RunConfig)):
        raise ValueError("it tries no setting")
    with_change, without = arms
    values = {**to_dict(with_change.config), **to_dict(with_change.tunables)}
    test = PairedTest(
        checkpoint=Path(found["checkpoint"]),
        values={setting: values[setting]},
        steps=int(found["steps"]),
        seeds=seeds,
        with_change=with_change,
        without=without,
    )
    return KeptTest(
        test=test,
        run=Path(found["run"]),
        series=str(found["series"]),
        groups=_names(found["groups"]),
    )


def _read_arm(found: Any) -> PairedTestArm:
    config, tunables = recorded_settings(found)
    return PairedTestArm(config=config, tunables=tunables)


def _names(found: Sequence[Any]) -> tuple[str, ...]:
    names = tuple(map(str, found))
    if len(names) > 2 or any(Path(name).name != name for name in names):
        raise ValueError("its groups are no names")
    return names
