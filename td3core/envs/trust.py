"""Which code an environment's name refers to, and whether the user has allowed it.

Code named by a file (``run.toml``, a checkpoint, a preset) is imported only with the user's
consent: the file may come from anyone. A name typed by the user is consent in itself. Both are
recorded in the list of the process, :mod:`td3core.system.allowed_code`. Modules are located
without importing anything, not even parent packages.
"""

import importlib
import importlib.util
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import PurePath
from typing import Any

from td3core.config.env_choice import EnvChoice
from td3core.envs import trust_store
from td3core.envs.catalogue import PYBULLET
from td3core.errors import RequestError
from td3core.system import allowed_code
from td3core.system.allowed_code import LocatedModule
from td3core.system.import_path import (
    current_folder,
    search_current_folder_last,
    search_last,
)
from td3core.text import Text

_KNOWN_PACKAGES = ("gymnasium.envs", PYBULLET)
"""Packages of environments that need no consent, if they are installed next to Gymnasium."""

# Matches, for example, the env_id with which Gymnasium wraps environments of other libraries, but
# neither URLs nor paths that begin with a drive letter.
_NAMES_CODE = re.compile(r"\s*((?:[^\W\d]\w*)(?:\.[^\W\d]\w*)*)\s*:(?![\\/])\s*\S")


noted_folders: dict[str, str] = {}
"""Module folders of environments, as recorded by runs."""


class UntrustedCodeError(RequestError):
    """A file names code that the user has not allowed; nothing was imported.

    Attributes:
        module: The module with that code.
    """

    def __init__(self, env_id: str, module: LocatedModule) -> None:
        self.module = module
        super().__init__(
            Text(
                "{env_id} would run the code in {path}, which you have not allowed.",
                env_id=env_id,
                path=module.path,
            )
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the module when pickled."""
        return type(self), (self.message.values["env_id"], self.module)


def with_user_consent(choice: EnvChoice) -> EnvChoice:
    """Allow the code of an environment that the user chose; return the choice."""
    # The file may be newer than Python's cached folder listing, within the resolution of mtime.
    importlib.invalidate_caches()
    allowed_code.allow(module.entry for module in needed(choice))
    return choice


def typed(choice: EnvChoice) -> EnvChoice:
    """Alias of :func:`with_user_consent` from 0.1.0, kept for one more version."""
    warnings.warn(
        "td3core.envs.trust.typed is called with_user_consent", DeprecationWarning, stacklevel=2
    )
    return with_user_consent(choice)


def allow_named(names: Iterable[str]) -> None:
    """Allow in this process modules that the user has allowed by name, wherever they are here."""
    found = (locate(name) for name in names)
    allowed_code.allow(module.entry for module in found if module is not None)


def names_allowed(choices: Iterable[EnvChoice]) -> list[str]:
    """Return the modules that environments need and the user has allowed, by name."""
    modules = {module for choice in choices for module in needed(choice)}
    return sorted({module.name for module in modules if allowed_code.is_allowed(module)})


def require_consent(choice: EnvChoice) -> None:
    """Refuse an environment whose code the user has not allowed, before anything is imported.

    Raises:
        UntrustedCodeError: for the first module that is not allowed.
        ModuleNotFoundError: there is no module of that name.
    """
    main = named_module(choice.env_id)
    if main is not None and locate(main) is None:
        noted = noted_folders.get(main.partition(".")[0])
        places = [current_folder() or "the current folder", *([noted] if noted else [])]
        where = f"{', '.join(places)} or among what is installed"
        raise ModuleNotFoundError(f"No module named {main!r} in {where}", name=main)
    for module in unconsented(choice):
        raise UntrustedCodeError(choice.env_id, module)


def unconsented(choice: EnvChoice) -> list[LocatedModule]:
    """Return the code that an environment would run without the user's consent."""
    return [module for module in needed(choice) if not allowed_code.is_allowed(module)]


def needed(choice: EnvChoice) -> list[LocatedModule]:
    """Return the code that needs consent; none for Gymnasium's own environments.

    Names that cannot be found are left out: there is nothing to import.
    """
    found = (locate(name) for name in dict.fromkeys(modules_named(choice)))
    return [module for module in found if module is not None and not _is_known(module)]


def names_code(choice: EnvChoice) -> bool:
    """Return whether a choice names any module; searches no folder."""
    return any(True for _ in modules_named(choice))


def can_hang(choice: EnvChoice) -> bool:
    """Return whether creating an environment might never return.

    Custom code can, and so can a simulator with arguments.
    """
    return bool(choice.kwargs) or names_code(choice)


def named_module(env_id: str) -> str | None:
    """Return the module of ``module:Class`` or ``module:Id-v0``; None for a plain id."""
    module, colon, _ = env_id.partition(":")
    return module if colon else None


def prepare_import(env_id: str) -> None:
    """Append the current folder to the search path if the module can only be found there.

    If it is not there either, append the folder noted by a run and the one where it was allowed.
    """
    name = named_module(env_id)
    if name is not None and _find(name, with_user_folders=False) is None:
        search_current_folder_last()
        if _find(name, with_user_folders=False) is None:
            for folder in _user_folders(name.partition(".")[0]):
                search_last(folder)


def locate(name: str) -> LocatedModule | None:
    """Return where a module would be imported from, or None if it cannot be found.

    Neither the module nor its parent packages are imported.
    """
    spec = _find(name, with_user_folders=True)
    if spec is None:
        return None
    if spec.has_location and spec.origin:
        return LocatedModule(name, os.path.realpath(spec.origin))
    folders = _search_locations(spec)
    # A folder without __init__.py, or a module that is part of the interpreter.
    return LocatedModule(name, os.path.realpath(folders[0]) if folders else str(spec.origin))


def folders_of(choice: EnvChoice) -> list[str]:
    """Return the folders of the code that a choice names, none for Gymnasium's own environments.

    These are the folder of the top-level package and its parent, which may hold other modules.
    """
    folders = []
    for name in dict.fromkeys(each.name.partition(".")[0] for each in needed(choice)):
        spec = _find(name, with_user_folders=True)
        if spec is not None:
            packages = _search_locations(spec) or []
            places = packages or ([spec.origin] if spec.has_location and spec.origin else [])
            folders += packages + [os.path.dirname(place) for place in places]  # noqa: PTH120
    return [os.path.abspath(folder) for folder in folders]  # noqa: PTH100


def modules_named(choice: EnvChoice) -> Iterator[str]:
    """Yield the modules that the name and the arguments of an environment contain."""
    main = named_module(choice.env_id)
    if main is not None:
        yield main
    for text in texts_of(choice.kwargs):
        match = _NAMES_CODE.match(text)
        if match is not None:
            yield match[1]


def texts_of(value: Any) -> Iterator[str]:
    """Yield every string in the arguments, at any depth."""
    remaining = [value]
    while remaining:
        each = remaining.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            remaining += [*each.keys(), *each.values()]
        elif isinstance(each, list):
            remaining += each


def _is_known(module: LocatedModule) -> bool:
    """Return whether a module belongs to a known package, installed next to Gymnasium.

    A folder of the same name elsewhere could hold anything.
    """
    gymnasium = locate("gymnasium")
    if gymnasium is None:
        return False
    installed = os.path.dirname(gymnasium.folder)  # noqa: PTH120
    for package in _KNOWN_PACKAGES:
        root = os.path.join(installed, *package.split("."), "")  # noqa: PTH118
        if f"{module.name}.".startswith(f"{package}.") and module.path.startswith(root):
            return True
    return False


def _find(name: str, *, with_user_folders: bool) -> ModuleSpec | None:
    """Find a module as ``import`` would, but without importing its parents."""
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    path: Sequence[str] | None = None
    spec: ModuleSpec | None = None
    for depth in range(1, len(parts) + 1):
        current = ".".join(parts[:depth])
        spec = _imported(current)
        if spec is None:
            spec = _find_in(current, path)
            if spec is None and depth == 1 and with_user_folders:
                folder = current_folder()
                spec = PathFinder.find_spec(current, [folder]) if folder else None
                spec = spec or PathFinder.find_spec(current, _user_folders(current))
        if spec is None:
            return None
        path = _search_locations(spec)
        if path is None and depth < len(parts):
            return None
    return spec


def note_folder(env_id: str, folder: str) -> None:
    """Note the folder of a run's module, which is searched after the current folder.

    This is no consent: code found there still needs it.
    """
    name = named_module(env_id)
    if name and folder:
        noted_folders[name.partition(".")[0]] = folder


def folder_to_note(env_id: str) -> str:
    """Return the folder to search for an environment's module; empty if it has none."""
    name = (named_module(env_id) or "").partition(".")[0]
    spec = _find(name, with_user_folders=True) if name else None
    if spec is None:
        return ""
    packages = _search_locations(spec)
    place = packages[0] if packages else spec.origin if spec.has_location else None
    return os.path.dirname(os.path.abspath(place)) if place else ""  # noqa: PTH100, PTH120


def _user_folders(name: str) -> list[str]:
    """Return other folders for a module: the run's, then those where it was allowed."""
    noted = noted_folders.get(name)
    return [*([noted] if noted else []), *_allowed_folders(name)]


def _allowed_folders(name: str) -> list[str]:
    """Return the folder where the user allowed a module or package; empty if there are several.

    With it, an agent can be used from any current folder.
    """
    found = set()
    for module, folder in allowed_code.snapshot() | trust_store.remembered():
        parts = module.split(".")
        # For a module, and for a package.
        above = [PurePath(folder), *PurePath(folder).parents][len(parts) - 1 : len(parts) + 1]
        for root in map(str, above) if parts[0] == name else ():
            spec = PathFinder.find_spec(name, [root])
            if spec is not None and spec.has_location:
                found.add(root)
    return [*found] if len(found) == 1 else []


def _imported(name: str) -> ModuleSpec | None:
    module = sys.modules.get(name)
    if module is None:
        return None
    spec = getattr(module, "__spec__", None)
    if isinstance(spec, ModuleSpec):
        return spec
    # Such as the main program.
    file = getattr(module, "__file__", None)
    return importlib.util.spec_from_file_location(name, file) if file else ModuleSpec(name, None)


def _find_in(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    for finder in sys.meta_path:
        try:
            spec = finder.find_spec(name, path, None)
        except KeyError:
            # A package without __init__.py asks its parent, which has not been imported.
            spec = _namespace(name, path or ())
        if spec is not None:
            return spec
    return None


def _search_locations(spec: ModuleSpec) -> list[str] | None:
    """Return the folders of a package; None if it is not a package."""
    if spec.submodule_search_locations is None:
        return None
    return list(spec.submodule_search_locations)


def _namespace(name: str, parents: Iterable[str]) -> ModuleSpec | None:
    last = name.rpartition(".")[2]
    folders = [os.path.join(parent, last) for parent in parents]  # noqa: PTH118
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [each for each in folders if os.path.isdir(each)]  # noqa: PTH112
    return spec if spec.submodule_search_locations else None
