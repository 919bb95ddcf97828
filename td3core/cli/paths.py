"""Resolves the runs, checkpoints and output files named on the command line."""

import errno
import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from td3core.config.env_choice import parse_args
from td3core.errors import RequestError, unwritable
from td3core.system.regular_files import exists
from td3core.text import Text

if TYPE_CHECKING:
    from td3core.runs.directory import RunDirectory


def runs_folder(chosen: Path | None) -> Path:
    """Return the absolute folder of runs: ``chosen``, or else the default.

    Call this before any environment is made: that may change the current folder.
    """
    from td3core.runs.new_run import default_runs_dir

    return (chosen or default_runs_dir()).absolute()


def continuing(name: str, folder: Path, *words: str) -> Text:
    """Return a line with the command (``words``) that goes on with ``name``, a group or sweep."""
    command = [*words, name]
    if folder != runs_folder(None):
        command += ["--runs-dir", str(folder)]
    return Text("Continue with: td3-studio {command}", command=shlex.join(command))


def find_run(run: Path, runs_dir: Path | None = None) -> "RunDirectory":
    """Open a run by its folder, or by the name that ``list`` shows.

    Raises:
        RequestError: there is no such run.
    """
    from td3core.runs.directory import RunDirectory, note_module_folder

    folder = runs_folder(runs_dir)
    named = folder / run
    if named.is_dir() and (runs_dir or not run.exists()):
        run = named
    elif not (run.is_absolute() or run.exists()):
        _refuse_group(run, folder)
        raise RequestError("{name} is no run in {folder}.", name=repr(str(run)), folder=folder)
    if run.is_file():
        raise RequestError("{path} is a file; name the run's folder.", path=str(run))
    found = RunDirectory.open(run)
    note_module_folder(run)
    return found


def find_checkpoint(path: Path, runs_dir: Path | None = None, *, last: bool = False) -> Path:
    """Return the absolute path of a checkpoint; for a run its best one, or its last if ``last``.

    Raises:
        RequestError: there is neither, or the run has no checkpoint.
    """
    folder = runs_folder(runs_dir)
    is_name = not path.is_absolute() and path.suffix != ".safetensors"
    named = folder / path
    if named.is_file() and (runs_dir or not path.exists()):
        path = named
    if is_name and not (path.exists() or named.is_dir()):
        _refuse_group(path, folder)
        raise RequestError(
            "{name} is neither a run in {folder} nor a checkpoint.",
            name=repr(str(path)),
            folder=folder,
        )
    if path.is_file() or not (path.is_dir() or named.is_dir()):
        from td3core.runs.directory import note_module_folder

        note_module_folder(path.absolute())
        return path.absolute()
    run = find_run(path, runs_dir)
    for found in (run.last, run.best) if last else (run.best, run.last):
        if found.exists():
            return found
    run.require_agent()
    raise RequestError("{run} has no checkpoint yet.", run=path.name)


def _refuse_group(name: Path, folder: Path) -> None:
    """Refuse the name of a group where a run is needed.

    Raises:
        RequestError: it is one.
    """
    from td3core.experiments.groups.group import find_group

    group = find_group(name, folder)
    runs = [each.run.name for each in group.runs().values()] if group else []
    if runs:
        raise RequestError(
            "{name} is a group of runs; name one of them, such as {run}.",
            name=str(name),
            run=runs[0],
        )


def with_absolute_paths(env_args: str) -> str:
    """Return arguments of an environment whose relative paths of files here are absolute.

    A run is resumed, evaluated and filmed from any folder. Only what begins with a dot is a path
    from here for sure: other names may be those of files that come with a simulator.

    Raises:
        RequestError: the text is not that of a JSON object.
    """
    return json.dumps(_with_absolute_paths(parse_args(env_args))) if env_args.strip() else env_args


def _with_absolute_paths(value: Any) -> Any:
    match value:
        case dict():
            return {name: _with_absolute_paths(each) for name, each in value.items()}
        case list():
            return [_with_absolute_paths(each) for each in value]
        case str() if value.startswith(("./", "../")) and exists(Path(value)):
            return os.path.abspath(value)  # noqa: PTH100 - drops the dots, and follows no link
    return value


def require_writable_name(target: Path, *, overwrite: bool, folder: bool = False) -> None:
    """Refuse a target that is not a file name, or that would overwrite something.

    ``folder``: a folder is written, which may replace another.

    Raises:
        RequestError: it is empty, a folder in place of a file, inside a run, in a folder that is
            missing or read-only, or exists and ``overwrite`` is off.
    """
    from td3core.runs.layout import DESCRIPTION

    if not target.name or (target.is_dir() and not folder):
        raise RequestError("{path} is a folder; name the file to write.", path=repr(str(target)))
    inside = [folder for folder in target.resolve().parents if (folder / DESCRIPTION).exists()]
    if inside:
        raise RequestError(
            "{path} is inside the run {run}; choose another folder.",
            path=str(target),
            run=inside[0].name,
        )
    parent = target.absolute().parent
    if not (parent.is_dir() and os.access(parent, os.W_OK)):
        # Refused here, not after minutes of work for the file.
        number = errno.EACCES if parent.is_dir() else errno.ENOENT
        raise unwritable(target, OSError(number, os.strerror(number)))
    if target.exists() and not overwrite:
        raise RequestError("{path} already exists; --force replaces it.", path=str(target))
