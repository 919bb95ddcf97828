"""Child processes that need not import everything again, while tests run.

The suite starts some hundred of them, and half of what they take is what Python needs to import
NumPy, Gymnasium and the renderer. A server that has imported these forks itself instead; it has one
thread. Children in another environment than the server's are spawned as ever, and so are all of the
long tests.
"""

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext, ForkServerProcess, SpawnProcess

IMPORTED = [
    # Each child unpickles a class of this module, which therefore imports nothing of pytest.
    __name__,
    "numpy.random",
    "td3core.envs.process_stepper",
    "td3core.training.background_evaluation",
    "studio.replay.renderer.process",
]
_CHANGES_EVERYWHERE = {"PYTEST_CURRENT_TEST", "PYTHONSAFEPATH"}


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in os.environ.keys() - _CHANGES_EVERYWHERE}


class _Forked(ForkServerProcess):
    """A child of the server, with the variables that do change."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self._variables = {name: os.environ.get(name) for name in _CHANGES_EVERYWHERE}

    def run(self) -> None:
        for name, value in self._variables.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        super().run()


def server_pid() -> int | None:
    """Return the id of the server's process, if there is one."""
    return forkserver._forkserver._forkserver_pid


@contextmanager
def quick_children() -> Iterator[None]:
    """Fork children of :func:`multiprocessing.get_context` where that gives the same as to spawn.

    Every other start method stays as it is. The server ends with this process.
    """
    import pytest

    multiprocessing.set_forkserver_preload(IMPORTED)
    before = _environment()
    forkserver.ensure_running()
    spawning = multiprocessing.get_context("spawn")

    class Quick(ForkServerContext):
        @staticmethod
        def Process(*args: object, **kwargs: object) -> _Forked | SpawnProcess:  # noqa: N802
            chosen = _Forked if _environment() == before else spawning.Process
            return chosen(*args, **kwargs)

    quick, real = Quick(), multiprocessing.get_context

    def get_context(method: str | None = None) -> object:
        return quick if method == "spawn" else real(method)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(multiprocessing, "get_context", get_context)
        yield
