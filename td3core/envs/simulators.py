"""Special needs of individual simulators: registration, and silencing their output."""

import contextlib
import ctypes
import importlib
import logging
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

import gymnasium as gym

from td3core.envs.catalogue import PYBULLET, KnownEnv
from td3core.system.child_process import without_current_folder

log = logging.getLogger(__name__)

_redirecting = threading.Lock()


def register(known: KnownEnv) -> None:
    """Import the package that registers an environment with Gymnasium, if it needs one.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    if "mujoco" in known.needs:
        # It imports glfw, as Gymnasium does, which starts an interpreter to find its library.
        with without_current_folder():
            importlib.import_module("mujoco")
            with contextlib.suppress(ImportError):
                importlib.import_module("glfw")
    if known.registered_by and known.registered_by not in sys.modules:
        # PyBullet prints its build time to standard error.
        with _discard_output(1, 2):
            for module in known.needs:
                importlib.import_module(module)


def log_mujoco_warnings() -> None:
    """Log MuJoCo's warnings instead of printing them and writing a file in the current folder.

    Gymnasium's own models cause a deprecation warning in every episode.
    """
    mujoco = sys.modules.get("mujoco")
    if mujoco is not None and mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(_log_warning)


def _log_warning(text: str) -> None:
    level = logging.DEBUG if "deprecated" in text else logging.WARNING
    log.log(level, "MuJoCo: %s", text.strip())


def without_stdout(known: KnownEnv | None, env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    """Wrap an environment that is known to print, to silence it."""
    return _SilentReset(env) if _prints(known) else env


def discard_stdout(known: KnownEnv | None) -> contextlib.AbstractContextManager[None]:
    """Discard standard output during use of an unwrapped environment that is known to print."""
    return _discard_output(1) if _prints(known) else contextlib.nullcontext()


def _prints(known: KnownEnv | None) -> bool:
    return known is not None and known.registered_by == PYBULLET


class _SilentReset(gym.Wrapper[Any, Any, Any, Any]):
    """Discards the line that PyBullet prints when it connects to its engine, once per episode."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        """Start an episode."""
        with _discard_output(1):
            return self.env.reset(seed=seed, options=options)


@contextlib.contextmanager
def _discard_output(*streams: int) -> Iterator[None]:
    """Discard what C code writes to these file descriptors; commands print their results there."""
    with _redirecting, contextlib.ExitStack() as restored:
        # C has its own buffer: its contents must neither be lost now nor appear later.
        _flush()
        for stream in streams:
            with contextlib.suppress(OSError):  # Not connected, as under pythonw.
                restored.callback(_restore, os.dup(stream), stream)
                _redirect_to_null(stream)
        restored.callback(_flush)
        yield


def _redirect_to_null(stream: int) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream)
    os.close(null)


def _restore(original: int, stream: int) -> None:
    os.dup2(original, stream)
    os.close(original)


def _flush() -> None:
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).fflush(None)
