"""The kinds of files that can be imported.

A new kind is a module that defines ``is_readable(path)`` and ``read(path)``, and an entry in
:data:`IMPORTERS`. Command line and window read this list. ``is_readable`` examines names only;
``read`` returns the file's contents, and runs nothing in it.
"""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from td3core.errors import RequestError
from td3core.importers.curve_file import CurveFile
from td3core.importers.foreign import ForeignAgent
from td3core.system.regular_files import exists
from td3core.text import Text


class _Module(Protocol):
    def is_readable(self, path: Path, /) -> bool: ...

    def read(self, path: Path, /) -> ForeignAgent | CurveFile: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """One kind of file."""

    about: Text
    """Description, for lists of what can be imported."""
    patterns: tuple[str, ...]
    """Patterns of its file names, for a dialog."""
    module: str

    def load(self) -> _Module:
        """Import its module."""
        return cast("_Module", importlib.import_module(self.module))


# The first match is used.
IMPORTERS: tuple[Importer, ...] = (
    Importer(
        about=Text("RL Zoo, a run's folder"),
        patterns=(),
        module="td3core.importers.rl_zoo",
    ),
    Importer(
        about=Text("stable-baselines3, TD3, DDPG or SAC"),
        patterns=("*.zip",),
        module="td3core.importers.stable_baselines3",
    ),
    Importer(
        about=Text("CleanRL, TD3 or DDPG"),
        patterns=("*.cleanrl_model",),
        module="td3core.importers.cleanrl",
    ),
    Importer(
        about=Text("sfujim/TD3, any of its four files"),
        patterns=("*_actor", "*_critic"),
        module="td3core.importers.sfujim_td3",
    ),
    Importer(
        about=Text("curves of stable-baselines3"),
        patterns=("*monitor.csv", "evaluations.npz"),
        module="td3core.importers.monitor",
    ),
    Importer(
        about=Text("curves of TensorBoard"),
        patterns=("*tfevents*",),
        module="td3core.importers.tensorboard",
    ),
)


def find_importer(path: Path) -> Importer | None:
    """Return the kind of a file or folder, by its name."""
    return next((each for each in IMPORTERS if each.load().is_readable(path)), None)


def read(path: Path) -> ForeignAgent | CurveFile:
    """Return the contents of a file or folder.

    Raises:
        RequestError: it is of no known kind, or cannot be read; names file, part and reason.
    """
    found = find_importer(path)
    if found is None and not exists(path):
        raise RequestError("There is no {path}.", path=str(path))
    if found is None:
        raise RequestError(
            "{path} cannot be imported; these can: {kinds}.",
            path=str(path),
            kinds="; ".join(str(each.about) for each in IMPORTERS),
        )
    return found.load().read(path)
