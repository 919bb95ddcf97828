"""Reads sweeps from disk; everything here runs in the background."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from td3core.config import RunConfig, Tunables
from td3core.errors import unwritable
from td3core.experiments.sweeps.folder import SweepFolder, SweepState, sweep_names
from td3core.runs.directory import RunDirectory
from td3core.system.files import write_atomically
from td3core.text import NO_TEXT, Text


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepNews:
    """The sweeps of a runs folder, and the state of the current one."""

    names: tuple[str, ...]
    name: str
    """The current sweep; empty if there is none."""
    state: SweepState | None
    problem: Text = NO_TEXT
    """What is missing of the current sweep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSettings:
    """The settings of a trial's run."""

    name: str
    config: RunConfig
    tunables: Tunables


def read_news(runs_dir: Path, name: str) -> SweepNews:
    """Return the existing sweeps, and the state of one of them: by default of a running one."""
    names = tuple(sweep_names(runs_dir))
    name = name or running_sweep(runs_dir) or next(iter(names), "")
    if name not in names:
        return SweepNews(names=names, name=name, state=None)
    folder = SweepFolder(runs_dir, name)
    state = folder.read_state()
    return SweepNews(names=names, name=name, state=state, problem=_problem(folder, state))


def _problem(folder: SweepFolder, state: SweepState | None) -> Text:
    if not folder.has_study:
        return folder.no_study().message
    # A sweep that has just begun has none yet.
    if state is None and not folder.is_running():
        return Text(
            "The state of the sweep {name} cannot be shown: state.json is missing or damaged."
            " Continue writes it again; td3-studio sweep show {name} reads the trials themselves.",
            name=folder.name,
        )
    return NO_TEXT


def running_sweep(runs_dir: Path) -> str:
    """Return the name of a sweep running in any process; empty if there is none."""
    running = (n for n in sweep_names(runs_dir) if SweepFolder(runs_dir, n).is_running())
    return next(running, "")


def write_example(path: Path) -> Path:
    """Write the bundled example to a file and return it.

    Raises:
        RequestError: it cannot be written.
    """
    text = (files("resources") / "sweeps" / "pendulum.toml").read_text("utf-8")
    try:
        write_atomically(path, text.encode())
    except OSError as problem:
        raise unwritable(path, problem) from problem
    return path


def read_settings(run: Path) -> TrialSettings:
    """Return the settings of a run.

    Raises:
        RequestError: the run cannot be read.
    """
    found = RunDirectory.open(run)
    return TrialSettings(name=run.name, config=found.config, tunables=found.first_tunables)
