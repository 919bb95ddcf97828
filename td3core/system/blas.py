"""The BLAS libraries that this process has loaded."""

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


def libraries() -> list[Any]:
    """Return a controller of threadpoolctl for each library that computes products."""
    found: list[Any] = _controller(len(sys.modules)).select(user_api="blas").lib_controllers
    return found


def one_thread() -> AbstractContextManager[Any]:
    """Let the libraries that are loaded compute with one thread, until the context ends."""
    limit: AbstractContextManager[Any] = _controller(len(sys.modules)).limit(
        limits=1, user_api="blas"
    )
    return limit


@lru_cache(1)
def _controller(modules: int) -> ThreadpoolController:  # noqa: ARG001
    # It reads which files the process has mapped, which takes milliseconds; a run would do so five
    # times. Libraries come with modules: only once more of these are loaded, there may be others.
    return ThreadpoolController()
