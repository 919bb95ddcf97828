"""Trains one run of a sweep, in a process of its own. It also resumes one that was interrupted."""

import contextlib
import json
import os
import sys
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

_POLL_S = 0.1
_PATIENCE_S = 60.0
"""A worker whose sweep was killed saves its run before it lets go of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended: ``finished``, ``user`` (it was stopped) or ``failed``."""

    stopped: str
    message: str = ""


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
        return Outcome(stopped="failed", message=str(outcome.message))
    return Outcome(stopped=outcome.stopped)


def main() -> int:
    """Train the run that is the first argument; write the outcome to the file that is the second.

    The third is the code that it may run: a JSON list of modules, each with its folder.

    The end of standard input, such as by the death of the sweep, stops the run and saves it.
    """
    leave_signals_to_parent()
    run, file = Path(sys.argv[1]), Path(sys.argv[2])
    control = Control()
    # An environment may read or close what is standard input.
    pipe = os.dup(0)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    threading.Thread(target=_stop_at_end, args=(pipe, control), daemon=True).start()
    consent = Consent(frozenset((name, folder) for name, folder in json.loads(sys.argv[3])))
    outcome = train_run(run, control, consent=consent)
    write_atomically(file, json.dumps(asdict(outcome)).encode())
    return 0


def _stop_at_end(pipe: int, control: Control) -> None:
    with contextlib.suppress(OSError):
        while os.read(pipe, 1):
            pass
    control.stop()
