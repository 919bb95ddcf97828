"""Where the runs of a sweep train: the interface, and processes of this machine."""

import contextlib
import json
import os
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from td3core.config.consent import NO_CONSENT, Consent
from td3core.experiments.sweeps.worker import Outcome, WorkerJob
from td3core.system import numerics
from td3core.system.child_process import python_command
from td3core.system.regular_files import open_own, read_text, require_own

_WORKER = "from td3core.experiments.sweeps.worker import main\nraise SystemExit(main())"
_POLL_S = 0.05
_CLOSE_S = 60.0
_KILLED_S = 10.0


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

    @property
    def numerics(self) -> str:
        """The numerics class of its processes."""

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


class LocalExecutor:
    """One process of this machine for each run.

    Another one is kept ready: loading torch takes a process a second or two.
    """

    def __init__(
        self,
        slots: int,
        log_dir: Path,
        consent: Consent = NO_CONSENT,
        numerics_class: str = numerics.AUTO,
    ) -> None:
        """``consent`` is to the code that the files of its runs name."""
        self._environment = numerics.environment_of(numerics_class)
        self.numerics = numerics_class
        self._slots, self._allowed = slots, [list(each) for each in sorted(consent.allowed)]
        self._log_dir = log_dir
        self._spare: subprocess.Popen[bytes] | None = None
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
        log = self._log_dir / f"{run.name}.log"
        require_own(log)
        job = WorkerJob(run=str(run), outcome=str(outcome), log=str(log), allowed=self._allowed)
        process, self._spare = self._spare or self._launch(), None
        self._processes[run] = process
        assert process.stdin is not None
        # A worker that has died is noticed by :meth:`wait`, like one that dies later.
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(asdict(job)).encode() + b"\n")
            process.stdin.flush()
        # Without room for another one, the next run waits for its process.
        with contextlib.suppress(OSError):
            self._spare = self._launch()

    def _launch(self) -> "subprocess.Popen[bytes]":
        path = self._log_dir / "workers.log"
        with open_own(path, os.O_WRONLY | os.O_APPEND, "ab") as log:
            return subprocess.Popen(  # noqa: S603
                python_command(_WORKER),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=self._environment,
            )

    def stop(self, run: Path) -> None:
        """Ask a run to save and end."""
        process = self._processes.get(run)
        if process is not None:
            _hang_up(process)

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
        processes = [*self._processes.values()]
        if self._spare is not None:
            self._spare.kill()
            processes.append(self._spare)
            self._spare = None
        for process in processes:
            _hang_up(process)
        end = time.monotonic() + _CLOSE_S
        for process in processes:
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                # One that waits for a disk that does not answer cannot even be killed.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_KILLED_S)
        self._processes.clear()

    def _outcome_file(self, run: Path) -> Path:
        return self._log_dir / f"{run.name}.json"

    def _end_of(self, run: Path) -> RunEnd:
        process = self._processes.pop(run)
        _hang_up(process)
        try:
            found = json.loads(read_text(self._outcome_file(run)))
            return RunEnd(run=run, outcome=Outcome(**found))
        except (OSError, ValueError, TypeError):
            code = process.returncode
            how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
            return RunEnd(run=run, outcome=None, lost=f"its process {how}")


def _hang_up(process: "subprocess.Popen[bytes]") -> None:
    """Close the standard input of a worker, which stops it."""
    if process.stdin is not None:
        # What a dead worker has not read is lost.
        with contextlib.suppress(OSError):
            process.stdin.close()
