"""Keeps standard output for the result of a command while code of an environment runs."""

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

_OUT, _ERR = 1, 2


@contextlib.contextmanager
def stdout_to_stderr() -> Iterator[int]:
    """Redirect standard output to standard error, including output of C code.

    Child processes inherit this. Yields a descriptor of the original standard output.
    """
    before, saved = sys.stdout, os.dup(_OUT)
    _flush_all(before)
    os.dup2(_ERR, _OUT)
    sys.stdout = cast("TextIO", _StderrProxy())
    try:
        yield saved
    finally:
        sys.stdout = before
        _flush_all(sys.__stdout__)
        os.dup2(saved, _OUT)
        os.close(saved)


def close_stdout() -> None:
    """Redirect output of environment code to standard error while the program exits."""
    _flush_all(sys.stdout)
    with contextlib.suppress(OSError):
        os.dup2(_ERR, _OUT)


class _StderrProxy:
    """Standard error, but it stays open when an environment closes its standard output."""

    def close(self) -> None:
        """Stay open."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)


def _flush_all(stream: TextIO | None) -> None:
    """Flush ``stream`` and the buffers of C code, whose contents belong to the old target."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        cast("TextIO", stream).flush()
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).fflush(None)
