"""The folders that Python imports from, here and in child processes.

The current folder may hold untrusted files. It must never precede installed packages: a
``numpy.py`` there would be executed instead of NumPy.
"""

import os
import sys


def drop_current_folder() -> None:
    """Remove the current folder, which ``python -m`` puts first, unless this program is in it."""
    if sys.flags.safe_path or not sys.path:
        return
    program = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    first = os.path.abspath(sys.path[0])  # noqa: PTH100
    if first == current_folder() and first != program:
        del sys.path[0]


def search_current_folder_last() -> None:
    """Search the current folder for modules that the user names, after everything else."""
    folder = current_folder()
    if folder is not None and "" not in sys.path:
        search_last(folder)


def search_last(folder: str) -> None:
    """Search a folder for modules, after everything else."""
    if folder not in sys.path:
        sys.path.append(folder)


def absolute_path() -> list[str]:
    """Return the search path with the current folder as an absolute path."""
    folder = current_folder()
    return [entry or folder for entry in sys.path if entry or folder]  # type: ignore[misc]


def current_folder() -> str | None:
    """Return the current folder, or None if it has been deleted."""
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:  # The folder has been deleted.
        return None
