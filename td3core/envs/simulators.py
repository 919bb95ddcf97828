"""What single simulators need before they can be used: their registration, and to be quiet."""

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

log = logging.getLogger(__name__)

_only_one = threading.Lock()


def register(known: KnownEnv) -> None:
    """Make an environment known to Gymnasium, by importing what brings it.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    if "mujoco" in known.needs:
        importlib.import_module("mujoco")
    if known.registered_by and known.registered_by not in sys.modules:
        # PyBullet tells the time of its making on standard error.
        with _quiet(1, 2):
            for module in known.needs:
                importlib.import_module(module)


def tame_mujoco() -> None:
    """Have MuJoCo's warnings logged instead of printed, and written to a file where one stands.

    The models that come with Gymnasium draw one about their own spelling for each episode.
    """
    mujoco = sys.modules.get("mujoco")
    if mujoco is not None and mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(_log_warning)


def _log_warning(text: str) -> None:
    level = logging.DEBUG if "deprecated" in text else logging.WARNING
    log.log(level, "MuJoCo: %s", text.strip())


def quieted(known: KnownEnv | None, env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    """Return the environment, kept from writing to standard output if it is known to do that."""
    return _Quiet(env) if _prints(known) else env


def quiet_while_bare(known: KnownEnv | None) -> contextlib.AbstractContextManager[None]:
    """Keep an environment from writing to standard output where its wrappers are not asked."""
    return _quiet(1) if _prints(known) else contextlib.nullcontext()


def _prints(known: KnownEnv | None) -> bool:
    return known is not None and known.registered_by == PYBULLET


class _Quiet(gym.Wrapper[Any, Any, Any, Any]):
    """PyBullet prints a line each time it connects to its engine, which is once an episode."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        """Start an episode."""
        with _quiet(1):
            return self.env.reset(seed=seed, options=options)


@contextlib.contextmanager
def _quiet(*streams: int) -> Iterator[None]:
    """Drop what C code writes to these file descriptors; results of commands are expected there."""
    with _only_one, contextlib.ExitStack() as restored:
        # C keeps a buffer of its own: what is in it must neither be lost now nor come out later.
        _flush()
        for stream in streams:
            with contextlib.suppress(OSError):  # Nothing is connected to it, as under pythonw.
                restored.callback(_put_back, os.dup(stream), stream)
                _drop(stream)
        restored.callback(_flush)
        yield


def _drop(stream: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream)
    os.close(nowhere)


def _put_back(before: int, stream: int) -> None:
    os.dup2(before, stream)
    os.close(before)


def _flush() -> None:
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).fflush(None)
