"""The BLAS libraries that this process has loaded."""

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


def libraries() -> list[Any]:
    """Return a threadpoolctl controller for each loaded BLAS library."""
    found: list[Any] = _controller(len(sys.modules)).select(user_api="blas").lib_controllers
    return found


def one_thread() -> AbstractContextManager[Any]:
    """Limit the loaded libraries to one thread until the context ends."""
    limit: AbstractContextManager[Any] = _controller(len(sys.modules)).limit(
        limits=1, user_api="blas"
    )
    return limit


@lru_cache(1)
def _controller(modules: int) -> ThreadpoolController:  # noqa: ARG001
    # Finding libraries reads the process's memory map, which takes milliseconds; a run would do
    # so five times. Libraries are loaded with modules: search again only if the number of modules
    # has changed.
    return ThreadpoolController()
