"""A process that works for this one, at the other end of a pipe."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

_PATIENCE_S = 2.0


class ChildProcess:
    """Calls ``target`` with its end of a pipe and ``work``, in a process of its own."""

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
        """Wait a moment for its end, and return the status."""
        self._process.join(_PATIENCE_S)
        return self._process.exitcode

    def close_pipe(self) -> None:
        """Close the pipe, which it may take for its end."""
        self.pipe.close()

    def stop(self, *, kill: bool = False) -> None:
        """See to it that it is over; let it finish what it is doing unless ``kill``."""
        self.close_pipe()
        if kill:
            self._process.terminate()
        self._process.join(_PATIENCE_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()
