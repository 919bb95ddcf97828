"""What a person may call a run, a checkpoint or a file to be written."""

from pathlib import Path
from typing import TYPE_CHECKING

from td3core.errors import RequestError

if TYPE_CHECKING:
    from td3core.runs.directory import RunDirectory


def runs_folder(chosen: Path | None) -> Path:
    """Return the folder of runs: the one given, else the user's own."""
    from td3core.runs.new_run import default_runs_dir

    return chosen or default_runs_dir()


def find_run(run: Path, runs_dir: Path | None = None) -> "RunDirectory":
    """Open a run by its folder, or by the name that ``list`` shows.

    Raises:
        RequestError: there is no such run.
    """
    from td3core.runs.directory import RunDirectory

    named = runs_folder(runs_dir) / run
    if named.is_dir() and (runs_dir or not run.exists()):
        run = named
    if run.is_file():
        raise RequestError(f"{run} is a file; name the run's folder.")
    return RunDirectory.open(run)


def find_checkpoint(path: Path, runs_dir: Path | None = None, *, last: bool = False) -> Path:
    """Let a run stand for its best checkpoint, or for its ``last``; return the file.

    Raises:
        RequestError: it is a run that holds none.
    """
    named = runs_folder(runs_dir) / path / "run.toml"
    if path.is_file() or not (path.is_dir() or named.is_file()):
        return path
    run = find_run(path, runs_dir)
    for found in (run.last, run.best) if last else (run.best, run.last):
        if found.exists():
            return found
    raise RequestError(f"{path.name} holds no checkpoint yet.")


def require_writable_name(target: Path, *, overwrite: bool) -> None:
    """Refuse a file name that is none, or that would cost something that is there.

    Raises:
        RequestError: it is empty or a folder, lies in a run, or exists and ``overwrite`` is off.
    """
    if not target.name or target.is_dir():
        raise RequestError(f"{str(target)!r} names a folder; name the file to write.")
    inside = [folder for folder in target.resolve().parents if (folder / "run.toml").exists()]
    if inside:
        raise RequestError(f"{target} lies in the run {inside[0].name}; write somewhere else.")
    if target.exists() and not overwrite:
        raise RequestError(f"{target} exists already; --force replaces it.")
