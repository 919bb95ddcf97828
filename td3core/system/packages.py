"""Which versions of packages this process computes with."""

import functools


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
