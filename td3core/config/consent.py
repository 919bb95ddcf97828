"""Which code the user has allowed, as a value.

An environment named ``package.module:Class`` is code. A name that comes from a file is made only
with a consent that covers its module; :mod:`td3core.envs.trust` gives and checks them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath


@dataclass(frozen=True, slots=True, order=True)
class LocatedModule:
    """A module, and the file that would be executed if it were imported now."""

    name: str
    path: str
    """All symbolic links resolved; such as ``built-in`` for what has no file."""

    @property
    def folder(self) -> str:
        """The folder of the file."""
        return str(PurePath(self.path).parent)


@dataclass(frozen=True, slots=True)
class Consent:
    """The modules that may be imported, each only from its folder."""

    allowed: frozenset[tuple[str, str]] = frozenset()
    """Names of modules, each with its folder."""

    def covers(self, module: LocatedModule) -> bool:
        """Return whether this module may be imported from where it lies now."""
        return (module.name, module.folder) in self.allowed

    def adding(self, modules: Iterable[LocatedModule]) -> "Consent":
        """Return a consent that covers these modules as well."""
        return Consent(self.allowed | {(each.name, each.folder) for each in modules})

    def __or__(self, other: "Consent") -> "Consent":
        """Return a consent to whatever one of both covers."""
        return Consent(self.allowed | other.allowed)


NO_CONSENT = Consent()
"""Allows no code at all."""
