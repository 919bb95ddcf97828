"""The selection of runs and how they are compared: options of several commands."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from td3core.cli.options import limited
from td3core.cli.paths import runs_folder
from td3core.cli.terminal import log
from td3core.errors import RequestError, unknown_name
from td3core.text import Text, marked

if TYPE_CHECKING:
    from td3core.analysis.groups import ComparedGroup
    from td3core.analysis.results import RunResults
    from td3core.runs.directory import RunDirectory


DEFAULT_METRIC = "eval"

Selections = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN",
        help=marked(
            "Runs: folders, names as shown by list, patterns such as 'Pendulum*', or group names."
        ),
    ),
]
GroupBy = Annotated[
    str,
    typer.Option(
        "--group-by",
        metavar="NAMES",
        help=marked(
            "settings: runs that differ in the seed only; run: each by itself; or settings,"
            " separated by commas."
        ),
    ),
]
Axis = Literal["steps", "episodes", "time"]
XAxis = Annotated[
    Axis,
    limited(
        "--x", "AXIS", marked("The x axis: steps, episodes or time."), str, choices=get_args(Axis)
    ),
]
Metric = Annotated[
    str,
    typer.Option(
        "--metric",
        metavar="METRIC",
        help=marked(
            "eval: returns of evaluations; return: of training episodes; bias; or info.NAME, a"
            " number of the environment's info."
        ),
    ),
]

Renamed = Annotated[
    list[str] | None,
    typer.Option(
        "--rename",
        metavar="GROUP=NAME",
        help=marked("Rename a group, given by its name or one of its runs; may be repeated."),
    ),
]


def checked_metric(text: str) -> str:
    """Return the metric to compare.

    Raises:
        RequestError: there is no metric of that name.
    """
    from td3core.analysis.results import METRICS, is_info

    if text not in METRICS and not is_info(text):
        raise unknown_name("There is no metric called {name}.", text, (*METRICS, "info.NAME"))
    return text


def setting_names(group_by: str) -> list[str]:
    """Return the settings by which runs are grouped."""
    return [name.strip() for name in group_by.split(",") if name.strip()] or ["settings"]


def new_names(
    renamed: Sequence[str] | None, runs: "Sequence[RunResults]", by: Sequence[str]
) -> Mapping[Path, str]:
    """Return new names of groups, by the folder of their first run.

    Args:
        renamed: ``GROUP=NAME``, where GROUP is a group's name, or folder or name of one of its
            runs.
        runs: the compared runs.
        by: the grouping, see :func:`~td3core.analysis.groups.group_runs`.

    Raises:
        RequestError: there is no such group, there are several, or another one has the name.
    """
    from td3core.analysis.groups import group_runs

    names = dict[Path, str]()
    groups = group_runs(runs, by) if renamed else ()
    for text in renamed or ():
        # Names and folders may contain "=" too.
        places = [at for at, letter in enumerate(text) if at and letter == "="]
        if not places or text.endswith("="):
            raise RequestError("--rename takes GROUP=NAME, not {text}.", text=repr(text))
        found = [(at, each) for at in places if (each := _groups_called(text[:at], groups))]
        if not found:
            known = [repr(group.name) for group in groups]
            raise unknown_name("There is no group called {name}.", text[: places[0]], known)
        at, matching = found[0]
        if len(matching) > 1:
            raise RequestError(
                "{name} is the name of runs of several groups; give the folder of one.",
                name=repr(text[:at]),
            )
        names[matching[0].runs[0].path] = text[at + 1 :]
    called = [names.get(group.runs[0].path) or group.name for group in groups]
    for name in called:
        if called.count(name) > 1:
            raise RequestError("Two groups would be called {name}.", name=name)
    return names


def _groups_called(text: str, groups: "Sequence[ComparedGroup]") -> "list[ComparedGroup]":
    """Return the group of this name, else those with a run of this folder or name."""
    named = [group for group in groups if group.name == text]
    path = Path(text).resolve()

    def is_called(run: "RunResults") -> bool:
        return text in (run.path.name, run.name) or run.path.resolve() == path

    return named or [group for group in groups if any(map(is_called, group.runs))]


def chosen_runs(selections: Sequence[str], runs_dir: Path | None) -> list[Path]:
    """Return the selected runs, each once, in the given order.

    Raises:
        RequestError: an argument names no run, or there are too many runs.
    """
    from td3core.analysis.comparison import MOST_RUNS
    from td3core.runs.layout import distinct

    paths = distinct(path for text in selections for path in _chosen(text, runs_dir))
    if len(paths) > MOST_RUNS:
        raise RequestError(
            Text.counted(
                "{n} run is too many to compare; choose at most {most}.",
                "{n} runs are too many to compare; choose at most {most}.",
                n=len(paths),
                most=MOST_RUNS,
            )
        )
    return paths


def _chosen(text: str, runs_dir: Path | None) -> list[Path]:
    """Return the runs that one argument selects."""
    folder = runs_folder(runs_dir)
    # An empty text would name the folder itself, and every run that is in no group.
    found = _runs_called(text, folder) if text else []
    if not found:
        raise RequestError(
            "{text} is no run, pattern or group in {folder}.", text=repr(text), folder=str(folder)
        )
    return found


def _runs_called(text: str, folder: Path) -> list[Path]:
    """Return the run of this path, else those of this name or group, else of this pattern."""
    from td3core.runs.layout import DESCRIPTION
    from td3core.runs.listing import list_runs, unreadable_runs

    for path in (folder / text, Path(text)):
        if (path / DESCRIPTION).is_file():
            return [path.absolute()]
    named = [(run, _names(run)) for run in list_runs(folder)]
    # A name may have the brackets of a pattern.
    called = [run.path for run, names in named if text in (*names, run.group)]
    if called:
        return called[::-1]
    for run in unreadable_runs(folder):
        if fnmatchcase(run.run.name, text):
            log(Text("Left out {name}: {reason}", name=run.run.name, reason=run.message))
    found = [run.path for run, names in named if any(fnmatchcase(name, text) for name in names)]
    return found[::-1]


def _names(run: "RunDirectory") -> list[str]:
    return [name for name in (run.path.name, run.label().name) if name]
