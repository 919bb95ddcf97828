"""Versions of the packages in this process, and how to install missing ones."""

import functools

from td3core.errors import RequestError


@functools.cache
def version_of(package: str) -> str:
    """Return the version of an installed package.

    Looked up once: a loaded package keeps its version even if another one is installed meanwhile,
    and the e-mail parser that reads versions took a fifth of the time of a short run.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    # This imports that parser, which would delay the start of the window.
    from importlib.metadata import version

    return version(package)


def command_for(extra: str) -> str:
    """Return the command that installs an extra of the program."""
    return f'pip install "td3-studio[{extra}]"'


def missing(program: str, extra: str, problem: ImportError) -> RequestError:
    """Return the error that a ``program`` cannot be used: a package of an ``extra`` is missing."""
    return RequestError(
        "{program} needs the package {package}: {command}.",
        program=program,
        package=problem.name or extra,
        command=command_for(extra),
    )
