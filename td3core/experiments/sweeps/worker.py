"""Trains one run of a sweep, in a process of its own. It also resumes one that was interrupted."""

import contextlib
import importlib
import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from td3core.config.consent import NO_CONSENT, Consent
from td3core.protocol.control import Control
from td3core.protocol.events import Event, Failed
from td3core.runs import lock
from td3core.runs.directory import RunDirectory
from td3core.system.child_process import leave_signals_to_parent
from td3core.system.files import write_atomically
from td3core.system.regular_files import open_own

_POLL_S = 0.1
_PATIENCE_S = 60.0
"""A worker whose sweep was killed saves its run before it lets go of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended: ``finished``, ``user`` (it was stopped) or ``failed``."""

    stopped: str
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerJob:
    """What a worker is to train, as a line of JSON."""

    run: str
    outcome: str
    """The file for the :class:`Outcome`."""
    log: str
    """The file for what the run prints."""
    allowed: list[list[str]]
    """The code that it may run: modules, each with its folder."""


def train_run(
    run: Path,
    control: Control,
    report: Callable[[Event], None] = lambda _: None,
    consent: Consent = NO_CONSENT,
) -> Outcome:
    """Train a run from where it stands to its last step, or until it is stopped.

    ``consent`` is to the code that the run's files name.
    """
    ending = RunDirectory.open(run).ending()
    if ending is not None and ending.stopped == "finished":
        return Outcome(stopped="finished")
    # Late: this loads torch.
    from td3core.training.launch import resume

    end = time.monotonic() + _PATIENCE_S
    while lock.holder(run) is not None and time.monotonic() < end and not control.stopping:
        time.sleep(_POLL_S)
    outcome = resume(run, control, report, consent=consent)
    if isinstance(outcome, Failed):
        stopped = "user" if outcome.cancelled else "failed"
        return Outcome(stopped=stopped, message=str(outcome.message))
    return Outcome(stopped=outcome.stopped)


def main() -> int:
    """Load what training needs, then train the run of the :class:`WorkerJob` on standard input.

    The end of standard input, such as by the death of the sweep, stops the run and saves it.
    """
    leave_signals_to_parent()
    # An environment may read or close what is standard input.
    pipe = os.dup(0)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    # Now: a worker may be started long before there is a run for it.
    importlib.import_module("td3core.training.launch")
    line = _read_line(pipe)
    if not line:
        return 0
    job, control = WorkerJob(**json.loads(line)), Control()
    with open_own(Path(job.log), os.O_WRONLY | os.O_APPEND, "ab") as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
    threading.Thread(target=_stop_at_end, args=(pipe, control), daemon=True).start()
    consent = Consent(frozenset((name, folder) for name, folder in job.allowed))
    outcome = train_run(Path(job.run), control, consent=consent)
    write_atomically(Path(job.outcome), json.dumps(asdict(outcome)).encode())
    return 0


def _read_line(pipe: int) -> bytes:
    """Return the first line, empty if there is none; nothing of what follows is taken."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(pipe, 1)
        if not byte:
            return b""
        line += byte
    return line


def _stop_at_end(pipe: int, control: Control) -> None:
    with contextlib.suppress(OSError):
        while os.read(pipe, 1):
            pass
    control.stop()
