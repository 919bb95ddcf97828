"""Which versions of packages this process computes with, and how to get those that it lacks."""

import functools

from td3core.errors import RequestError


@functools.cache
def version_of(package: str) -> str:
    """Return the version of an installed package.

    Looked up once: what is loaded stays though another version is installed meanwhile, and the
    parser of e-mails that reads it took a fifth of the time in which a short run starts and ends.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    # It brings that parser along, which the start of the window need not wait for.
    from importlib.metadata import version

    return version(package)


def command_for(extra: str) -> str:
    """Return the command that installs an extra of the program."""
    return f'pip install "td3-studio[{extra}]"'


def missing(program: str, extra: str, problem: ImportError) -> RequestError:
    """Return why a ``program`` cannot be used: a package of an ``extra`` is not installed."""
    return RequestError(
        "{program} needs the package {package}: {command}.",
        program=program,
        package=problem.name or extra,
        command=command_for(extra),
    )
