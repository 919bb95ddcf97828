"""A child process connected by a pipe."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

_JOIN_TIMEOUT_S = 2.0


class ChildProcess:
    """Runs ``target(pipe, *work)`` in a new process; :attr:`pipe` is this end of the pipe."""

    def __init__(self, name: str, target: Callable[..., None], *work: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe: Connection
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=target, args=(theirs, *work), name=name, daemon=True)
        try:
            self._process.start()
        except BaseException:
            self.pipe.close()
            raise
        finally:
            theirs.close()

    def exit_code(self) -> int | None:
        """Wait up to 2 s for the process to end; return its exit code, or None if it has not."""
        self._process.join(_JOIN_TIMEOUT_S)
        return self._process.exitcode

    def close_pipe(self) -> None:
        """Close this end of the pipe, which asks the process to end."""
        self.pipe.close()

    def stop(self, *, kill: bool = False) -> None:
        """End the process: at once if ``kill``, else give it 2 s to finish what it is doing."""
        self.close_pipe()
        if kill:
            self._process.terminate()
        self._process.join(_JOIN_TIMEOUT_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()
