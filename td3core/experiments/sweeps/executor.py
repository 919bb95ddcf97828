"""Where the runs of a sweep train: the interface, and processes of this machine."""

import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from td3core.config.consent import NO_CONSENT, Consent
from td3core.experiments.sweeps.worker import Outcome
from td3core.system.child_process import python_command
from td3core.system.regular_files import open_own, read_text

_WORKER = "from td3core.experiments.sweeps.worker import main\nraise SystemExit(main())"
_POLL_S = 0.05
_CLOSE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """A run whose worker has ended."""

    run: Path
    outcome: Outcome | None
    """None if the worker was lost: killed, crashed, or its node is gone."""
    lost: str = ""
    """What became of a worker that was lost."""


class Executor(Protocol):
    """Trains run folders, several at once. Every call returns at once but :meth:`wait`."""

    @property
    def slots(self) -> int:
        """How many runs train at once."""

    def start(self, run: Path) -> None:
        """Train this run from where it stands.

        Raises:
            OSError: there is no room for another one.
        """

    def stop(self, run: Path) -> None:
        """Ask a run to save and end."""

    def wait(self, timeout_s: float) -> list[RunEnd]:
        """Return the runs that have ended since the last call; wait until one has, or so long."""

    def close(self) -> None:
        """Stop everything that is left and release what the executor holds."""


def free_cores() -> int:
    """Return the number of cores that other programs leave free now, at least 1."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):
        load = 0.0
    return max(1, cores - round(load))


class LocalExecutor:
    """One process of this machine for each run."""

    def __init__(self, slots: int, log_dir: Path, consent: Consent = NO_CONSENT) -> None:
        """``consent`` is to the code that the files of its runs name."""
        self._slots, self._allowed = slots, json.dumps(sorted(consent.allowed))
        self._log_dir = log_dir
        self._processes: dict[Path, subprocess.Popen[bytes]] = {}

    @property
    def slots(self) -> int:
        """How many runs train at once."""
        return self._slots

    def start(self, run: Path) -> None:
        """Train this run from where it stands.

        Raises:
            OSError: there is no room for another process.
        """
        outcome = self._outcome_file(run)
        outcome.unlink(missing_ok=True)
        command = python_command(_WORKER, [str(run), str(outcome), self._allowed])
        with open_own(self._log_dir / f"{run.name}.log", os.O_WRONLY | os.O_APPEND, "ab") as log:
            self._processes[run] = subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.PIPE, stdout=log, stderr=log
            )

    def stop(self, run: Path) -> None:
        """Ask a run to save and end."""
        process = self._processes.get(run)
        if process is not None and process.stdin is not None:
            process.stdin.close()

    def wait(self, timeout_s: float) -> list[RunEnd]:
        """Return the runs that have ended since the last call; wait until one has, or so long."""
        end = time.monotonic() + timeout_s
        while True:
            ended = [run for run, process in self._processes.items() if process.poll() is not None]
            if ended or time.monotonic() >= end:
                return [self._end_of(run) for run in ended]
            time.sleep(_POLL_S)

    def process_id(self, run: Path) -> int | None:
        """Return the number of the process that trains a run; None if there is none."""
        process = self._processes.get(run)
        return process.pid if process is not None else None

    def close(self) -> None:
        """Stop everything that is left, and kill what does not stop."""
        for run in self._processes:
            self.stop(run)
        end = time.monotonic() + _CLOSE_S
        for process in self._processes.values():
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()

    def _outcome_file(self, run: Path) -> Path:
        return self._log_dir / f"{run.name}.json"

    def _end_of(self, run: Path) -> RunEnd:
        process = self._processes.pop(run)
        if process.stdin is not None:
            process.stdin.close()
        try:
            found = json.loads(read_text(self._outcome_file(run)))
            return RunEnd(run=run, outcome=Outcome(**found))
        except (OSError, ValueError, TypeError):
            code = process.returncode
            how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
            return RunEnd(run=run, outcome=None, lost=f"its process {how}")
