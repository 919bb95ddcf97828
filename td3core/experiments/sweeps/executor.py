"""Executors for the runs of a sweep: the interface, and processes of this machine."""

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from td3core.experiments.jobs import Preload, ResumedRun
from td3core.experiments.run_process import RunProcess
from td3core.protocol.events import Ended, Event, Failed
from td3core.system import numerics
from td3core.system.regular_files import open_own
from td3core.text import NO_TEXT, Text

_POLL_S = 0.05
_CLOSE_S = 60.0
PATIENCE_S = 60.0
"""In seconds: a worker whose sweep was killed saves its run before it releases it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Outcome of a run: ``finished``, ``user`` (stopped), ``failed``, ``locked`` (by others)."""

    stopped: str
    message: Text = NO_TEXT


def outcome_of(event: Ended | Failed) -> Outcome:
    """Return the outcome of a run from its last event."""
    if isinstance(event, Ended):
        return Outcome(stopped=event.stopped)
    stopped = "user" if event.cancelled else "locked" if event.locked else "failed"
    return Outcome(stopped=stopped, message=event.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """A run whose worker has ended."""

    run: Path
    outcome: Outcome | None
    """None if the worker was lost: killed, crashed, or its node failed."""
    lost: Text = NO_TEXT
    """Why the worker was lost."""


class Executor(Protocol):
    """Trains run folders, several at once.

    Every call except :meth:`wait` and :meth:`close` returns immediately.
    """

    @property
    def slots(self) -> int:
        """Number of runs that train at once."""

    @property
    def numerics(self) -> str:
        """The numerics class of its processes."""

    def start(self, run: Path, steps: int) -> None:
        """Train this run from its current state to the end of this length.

        Raises:
            OSError: no other run can be started.
        """

    def stop(self, run: Path) -> None:
        """Ask a run to save and end."""

    def wait(self, timeout_s: float) -> list[RunEnd]:
        """Return the runs that ended since the last call; wait for one, but no longer than this."""

    def kill(self) -> None:
        """Kill all remaining runs; they can be resumed from their last checkpoints."""

    def close(self) -> None:
        """Stop all remaining runs and release the executor's resources. Waits for them to save."""


class LocalExecutor:
    """One process of this machine for each run.

    A spare process is kept ready: loading torch takes a second or two.
    """

    def __init__(
        self,
        slots: int,
        log_dir: Path,
        numerics_class: str = numerics.AUTO,
    ) -> None:
        self.numerics = numerics_class
        self.slots, self._log_dir = slots, log_dir
        self._spare: _Worker | None = None
        self._workers: dict[Path, _Worker] = {}

    def start(self, run: Path, steps: int) -> None:
        """Train this run from its current state to the end of this length.

        Raises:
            OSError: no other process can be started, or its log cannot be written.
        """
        log = open_own(self._log_dir / f"{run.name}.log", os.O_WRONLY | os.O_APPEND, "ab")
        try:
            worker, self._spare = self._spare or _Worker(self.numerics), None
        except OSError:
            log.close()
            raise
        self._workers[run] = worker
        worker.train(run, steps, log)
        # Without a spare process, the next run waits for its own to load.
        with contextlib.suppress(OSError):
            self._spare = _Worker(self.numerics)

    def stop(self, run: Path) -> None:
        """Ask a run to save and end."""
        worker = self._workers.get(run)
        if worker is not None:
            worker.process.stop()

    def wait(self, timeout_s: float) -> list[RunEnd]:
        """Return the runs that ended since the last call; wait for one, but no longer than this."""
        end = time.monotonic() + timeout_s
        while True:
            ended = [run for run, worker in self._workers.items() if worker.process.wait(0.0)]
            if ended or time.monotonic() >= end:
                return [self._workers.pop(run).end_of(run) for run in ended]
            time.sleep(_POLL_S)

    def kill(self) -> None:
        """Kill all remaining runs; they can be resumed from their last checkpoints."""
        for worker in self._workers.values():
            worker.process.kill()

    def close(self) -> None:
        """Stop all remaining runs, and kill those that do not stop."""
        if self._spare is not None:
            self._spare.process.kill()
            self._spare.process.join(0.0)
            self._spare = None
        for worker in self._workers.values():
            worker.process.stop()
        end = time.monotonic() + _CLOSE_S
        for worker in self._workers.values():
            worker.process.join(max(0.0, end - time.monotonic()))
            worker.close()
        self._workers.clear()


class _Worker:
    """A process that trains one run, and the file for its output."""

    def __init__(self, numerics_class: str) -> None:
        self._log: IO[bytes] | None = None
        self._last: Event | None = None
        self.process = RunProcess(Preload(numerics=numerics_class), self._note, self._write)

    def train(self, run: Path, steps: int, log: IO[bytes]) -> None:
        """Train a run from its current state; this object takes over ``log`` and closes it."""
        self._log = log
        self.process.begin(ResumedRun(run=run, steps=steps, patience_s=PATIENCE_S))

    def end_of(self, run: Path) -> RunEnd:
        """Return how the run ended."""
        self.close()
        code = self.process.lost
        if code is not None:
            lost = Text("its process ended with status {code}", code=code)
            if code < 0:
                lost = Text("its process was killed by signal {number}", number=-code)
            return RunEnd(run=run, outcome=None, lost=lost)
        assert isinstance(self._last, Ended | Failed)
        return RunEnd(run=run, outcome=outcome_of(self._last))

    def close(self) -> None:
        """Close the log."""
        log, self._log = self._log, None
        if log is not None:
            log.close()

    def _note(self, event: Event) -> None:
        self._last = event

    def _write(self, line: str) -> None:
        # In a thread of the process object. A full disk costs the log, not the run.
        with contextlib.suppress(OSError, ValueError):
            if self._log is not None:
                self._log.write(line.encode() + b"\n")
                self._log.flush()
