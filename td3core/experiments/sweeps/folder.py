"""A sweep's folder: ``RUNS/sweeps/NAME`` with its file, its study and its state.

The runs themselves are among all other runs, named after sweep, trial and seed.
"""

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from td3core.config import RunConfig, Tunables
from td3core.errors import RequestError, unknown_name, unreadable, unwritable
from td3core.experiments.sweeps.file import read
from td3core.experiments.sweeps.spec import SweepSpec, with_module
from td3core.protocol.trial_status import TrialStatus
from td3core.runs import lock
from td3core.runs.directory import RunDirectory
from td3core.runs.json_values import number, text, whole
from td3core.runs.metadata import RunLabel, write_label
from td3core.system.files import make_folder, sync_folder, write_atomically
from td3core.system.numerics import AUTO
from td3core.system.regular_files import DAMAGE, glob, read_text, require_own
from td3core.text import NO_TEXT, Text, from_plain, plain

SWEEPS = "sweeps"
_FILE, _STATE, _STOP = "sweep.toml", "state.json", "stop"
_LARGEST_STATE = 64 * 2**20
_MOST_TEXT = 10_000
"""Most characters of a name, a path or a value."""
_MAY_CHANGE = ("trials", "jobs", "time_limit_min")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialState:
    """One trial as shown by terminal and window."""

    number: int
    state: TrialStatus
    settings: Mapping[str, Any]
    value: float | None = None
    env_steps: int = 0
    """Total over all its runs."""
    seconds: float = 0.0
    runs: tuple[str, ...] = ()
    """Names of the runs' folders."""
    reason: Text = NO_TEXT
    """Why the trial failed or was pruned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepState:
    """A sweep as shown by terminal and window."""

    name: str
    environment: str
    objective: str
    path: str
    wanted: int
    """Number of requested trials."""
    seconds: float = 0.0
    time_left_s: float | None = None
    running: bool = False
    message: Text = NO_TEXT
    trials: tuple[TrialState, ...] = ()
    space: Mapping[str, Any] = field(default_factory=dict)
    """Search space: ``low``, ``high`` and ``log`` of each range, or its ``choices``."""

    @property
    def best(self) -> TrialState | None:
        """The completed trial with the highest objective."""
        done = [
            each
            for each in self.trials
            if each.state is TrialStatus.DONE and each.value is not None
        ]
        return max(done, key=lambda each: each.value or 0.0) if done else None

    def count(self, state: TrialStatus) -> int:
        """Return how many trials are in a state."""
        return sum(each.state is state for each in self.trials)


class SweepFolder:
    """The folder of one sweep."""

    def __init__(self, runs_dir: Path, name: str) -> None:
        self.runs_dir = runs_dir.absolute()
        self.name = name
        self.path = self.runs_dir / SWEEPS / name
        self.study_file = self.path / "study.db"
        self.log_dir = self.path / "logs"

    @classmethod
    def find(cls, runs_dir: Path, name: str) -> "SweepFolder":
        """Return the folder of an existing sweep.

        Raises:
            RequestError: there is no such sweep.
        """
        known = sweep_names(runs_dir)
        if name not in known:
            if not known:
                raise RequestError("There is no sweep in {path} yet.", path=str(runs_dir))
            raise unknown_name("There is no sweep called {name}.", name, known)
        return cls(runs_dir, name)

    @property
    def exists(self) -> bool:
        """Whether the sweep has been started before."""
        return (self.path / _FILE).is_file()

    @property
    def has_study(self) -> bool:
        """Whether it has a record of its trials, or a process that is about to make one."""
        try:
            # Links and special files are refused when the study is opened.
            return self.study_file.lstat().st_size > 0 or self.is_running()
        except FileNotFoundError:
            return self.is_running()
        except OSError:
            return True

    def no_study(self) -> RequestError:
        """Return the error for a sweep that has begun, but has no record of its trials."""
        return RequestError(
            "The sweep {name} has no record of its trials: study.db is missing or empty. Record its"
            " runs anew with: td3-studio sweep resume {name}",
            name=self.name,
        )

    def spec(self) -> SweepSpec:
        """Return the spec that the sweep was started with, or last continued with.

        Its environment names the module that its runs record.

        Raises:
            RequestError: it cannot be read.
        """
        _, spec = read(self.path / _FILE, self.name, begun=True)
        return self._with_module(spec, spec.environment)

    def text(self) -> str:
        """Return the sweep's own copy of its file.

        Raises:
            RequestError: it cannot be read.
        """
        try:
            return read_text(self.path / _FILE)
        except (OSError, UnicodeDecodeError) as problem:
            raise unreadable(self.path / _FILE, problem) from problem

    def make(self, spec: SweepSpec) -> None:
        """Make the folder, or check that it belongs to this sweep; its file is not written.

        Raises:
            RequestError: another sweep has the name, or the folder cannot be written.
        """
        if self.exists:
            self._require_same(spec)
        elif self.has_runs:
            raise RequestError(
                "{path} holds runs of an earlier sweep called {name}; choose another name.",
                path=str(self.runs_dir),
                name=self.name,
            )
        try:
            require_own(self.log_dir, folder=True)
            make_folder(self.log_dir)
        except OSError as problem:
            raise unwritable(self.path, problem) from problem

    def begin(self, text: str, spec: SweepSpec) -> None:
        """Write the sweep's file; only for the process that holds the folder's lock.

        Raises:
            RequestError: as :meth:`make`.
        """
        # Another process may have begun it before the lock was taken.
        self.make(spec)
        try:
            write_atomically(self.path / _FILE, text.encode())
        except OSError as problem:
            raise unwritable(self.path, problem) from problem

    def _require_same(self, spec: SweepSpec) -> None:
        before = self._with_module(self.spec(), spec.environment)
        for name in SweepSpec.__dataclass_fields__:
            if name not in _MAY_CHANGE and getattr(before, name) != getattr(spec, name):
                raise RequestError(
                    "The sweep {name} was started with another {field}; give this one another"
                    " name. Only {may} may change.",
                    name=self.name,
                    field=name,
                    may=", ".join(_MAY_CHANGE),
                )

    def _with_module(self, spec: SweepSpec, default: str) -> SweepSpec:
        """Return the file's spec with the module of its environment, which the file does not name.

        The runs record it; without runs, that of the environment ``default`` is used.
        """
        env = next((config.env for config in self._configs()), default)
        return with_module(spec, env.rpartition(":")[0])

    # Runs ---------------------------------------------------------------------------------------

    def run_path(self, number: int, seed: int) -> Path:
        """Return the folder of a trial's run."""
        return self.runs_dir / f"{self.name}_t{number:03d}_s{seed}"

    @property
    def has_runs(self) -> bool:
        """Whether a run of it has begun."""
        return bool(self._runs())

    def class_of_runs(self) -> str:
        """Return the numerics class of the runs so far; empty without any."""
        names = (config.numerics for config in self._configs())
        return next((name for name in names if name != AUTO), "")

    def _runs(self) -> list[Path]:
        """Return the folders of the runs so far."""
        # A pattern for glob would also match the runs of a sweep called NAME_tqc.
        own = re.compile(rf"{re.escape(self.name)}_t\d{{3,}}_s\d+")
        return [path for path in glob(self.runs_dir, "*") if own.fullmatch(path.name)]

    def _configs(self) -> Iterator[RunConfig]:
        """Yield the settings of the runs so far, except unreadable ones."""
        for path in self._runs():
            with contextlib.suppress(RequestError):
                yield RunDirectory.open(path).config

    def make_run(
        self, number: int, seed: int, config: RunConfig, tunables: Tunables, note: str
    ) -> Path:
        """Make the folder of a run, completely or not at all; does nothing if it exists.

        Raises:
            RequestError: it cannot be written.
        """
        path = self.run_path(number, seed)
        if path.is_dir():
            return path
        made = RunDirectory.create(self.path / "new", config, tunables).path
        try:
            write_label(made, RunLabel(name=f"{self.name}, trial {number}", note=note))
            made.rename(path)
            sync_folder(self.runs_dir)
        except OSError as problem:
            raise unwritable(path, problem) from problem
        return path

    # State --------------------------------------------------------------------------------------

    def write_state(self, state: SweepState, *, durable: bool = True) -> None:
        """Write the state of the sweep for the window; flushed to disk if ``durable``.

        Raises:
            OSError: it cannot be written.
        """
        data = json.dumps(_plain_of(state)).encode()
        write_atomically(self.path / _STATE, data, durable=durable)

    def read_state(self) -> SweepState | None:
        """Return the state last written; ``running`` tells whether the sweep's process is alive."""
        try:
            found = json.loads(read_text(self.path / _STATE, _LARGEST_STATE))
            return _state_of(found, running=self.is_running())
        except DAMAGE:
            return None

    def is_running(self) -> bool:
        """Return whether a living process conducts the sweep."""
        return lock.holder(self.path) is not None

    def ask_to_stop(self) -> None:
        """Ask the process that conducts the sweep to save its runs and end.

        Raises:
            RequestError: no process conducts it, or the folder cannot be written.
        """
        if not self.is_running():
            raise RequestError("The sweep {name} is not running.", name=self.name)
        try:
            write_atomically(self.path / _STOP, b"")
        except OSError as problem:
            raise unwritable(self.path, problem) from problem

    def take_stop(self) -> bool:
        """Return whether a stop was requested since the last call."""
        try:
            os.unlink(self.path / _STOP)  # noqa: PTH108
        except OSError:
            return False
        return True


def _plain_of(each: SweepState | TrialState) -> dict[str, Any]:
    found = {name: getattr(each, name) for name in each.__slots__}
    if isinstance(each, SweepState):
        trials = [_plain_of(trial) for trial in each.trials]
        return found | {"trials": trials, "message": plain(each.message)}
    return found | {"reason": plain(each.reason)}


def _state_of(found: Mapping[str, Any], *, running: bool) -> SweepState:
    """Return a written state, perhaps of an earlier version.

    Raises:
        ValueError, TypeError, KeyError, AttributeError, OverflowError: it is invalid.
    """
    left, killed = found.get("time_left_s"), found.get("running") is True and not running
    return SweepState(
        **{name: text(found[name], _MOST_TEXT) for name in _TEXTS},
        wanted=whole(found["wanted"]),
        seconds=number(found.get("seconds", 0.0)),
        time_left_s=None if left is None else number(left),
        running=running,
        # A process that was killed waits for nothing any more.
        message=NO_TEXT if killed else from_plain(found.get("message", "")),
        trials=tuple(_trial_of(each) for each in found["trials"]),
        space={
            text(name, _MOST_TEXT): _dimension_of(each)
            for name, each in found.get("space", {}).items()
        },
    )


_TEXTS = ("name", "environment", "objective", "path")


def _trial_of(found: Mapping[str, Any]) -> TrialState:
    value = found.get("value")
    return TrialState(
        number=whole(found["number"]),
        state=TrialStatus(found["state"]),
        settings={
            text(name, _MOST_TEXT): _setting_of(each) for name, each in found["settings"].items()
        },
        value=None if value is None else number(value),
        env_steps=whole(found.get("env_steps", 0)),
        seconds=number(found.get("seconds", 0.0)),
        runs=tuple(text(each, _MOST_TEXT) for each in found["runs"]),
        reason=from_plain(found.get("reason", "")),
    )


def _dimension_of(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dimension of the search space that a plot can draw."""
    if "choices" in found:
        choices = [_setting_of(each) for each in found["choices"]]
        if not choices:
            raise ValueError("no choices")
        return {"choices": choices}
    low, high, log = found["low"], found["high"], found["log"] is True
    if not number(low) < number(high) or (log and low <= 0):
        raise ValueError("not a range")
    return dict(found) | {"low": low, "high": high, "log": log}


def _setting_of(value: Any) -> Any:
    """Return the value of a setting: nothing, text, a number, a switch, or a list of these."""
    if isinstance(value, list):
        return [_setting_of(each) for each in value]
    if isinstance(value, str):
        return text(value, _MOST_TEXT)
    if value is not None:
        number(value)
    return value


def sweep_names(runs_dir: Path) -> list[str]:
    """Return the names of the sweeps in a runs folder."""
    return [path.parent.name for path in glob(runs_dir / SWEEPS, f"*/{_FILE}")]
