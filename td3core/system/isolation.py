"""Undoes an environment's changes to global settings of NumPy and torch."""

import contextvars
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from td3core.system import blas

T = TypeVar("T")


class Isolation:
    """Calls an environment, then restores the settings of NumPy and torch found at creation.

    NumPy's error handling is stored in a context variable: the environment runs in its own context,
    where its choice persists. Thread counts and torch's defaults are global to the process.
    """

    def __init__(self) -> None:
        self._run = contextvars.copy_context().run
        self._blas = [(each, each.get_num_threads()) for each in blas.libraries()]
        self._torch: Any = sys.modules.get("torch")
        if self._torch is not None:
            self._threads = self._torch.get_num_threads()
            self._dtype = self._torch.get_default_dtype()
            self._device = self._torch.get_default_device()

    def call(self, work: Callable[[], T]) -> T:
        """Call a constructor, a reset or the like."""
        try:
            return self._run(work)
        finally:
            self._restore()
            self._restore_costly()

    def step(self, work: Callable[[], None]) -> None:
        """Take a step; restore only settings that are fast to check, the others in :meth:`call`."""
        try:
            self._run(work)
        finally:
            self._restore()

    def _restore(self) -> None:
        torch = self._torch
        if torch is None:
            return
        if torch.get_num_threads() != self._threads:
            torch.set_num_threads(self._threads)
        if torch.get_default_dtype() is not self._dtype:
            torch.set_default_dtype(self._dtype)

    def _restore_costly(self) -> None:
        torch = self._torch
        if torch is not None and torch.get_default_device() != self._device:
            torch.set_default_device(None if self._device.type == "cpu" else self._device)
        for library, threads in self._blas:
            if library.get_num_threads() != threads:
                library.set_num_threads(threads)
