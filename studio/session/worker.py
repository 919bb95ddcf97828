"""The object that lives in the run's QThread and calls the training loop there."""

import importlib
import threading
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from td3core.config import RunConfig, Tunables
from td3core.config.consent import NO_CONSENT, Consent
from td3core.errors import Message
from td3core.protocol.control import Control
from td3core.protocol.events import Failed
from td3core.runs.journal import Change

_LOOP = "td3core.training.launch"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A run from its first step; ``schedule`` are live changes made at their steps."""

    config: RunConfig
    tunables: Tunables
    runs_dir: Path
    schedule: tuple[Change, ...] = ()
    consent: Consent = NO_CONSENT


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedRun:
    """A run that is resumed; ``steps`` is its new length, if it gets one."""

    run: Path
    steps: int | None = None
    consent: Consent = NO_CONSENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A new run from a checkpoint, with some settings changed."""

    checkpoint: Path
    values: Mapping[str, Any]
    runs_dir: Path
    consent: Consent = NO_CONSENT


Job = NewRun | ResumedRun | Branch


class Worker(QObject):
    """Runs one training from start to end; re-emits its events."""

    event_reported = Signal(object)
    finished = Signal()

    def __init__(self, job: Job, control: Control) -> None:
        super().__init__()
        self._job, self._control = job, control

    @Slot()
    def run(self) -> None:
        """Train until the run ends. Called once, by the thread's ``started``."""
        try:
            self._do()
        except BaseException as problem:
            # The loop lets nothing escape; what is left is a torch that cannot be imported.
            message = Message("Training could not start: {problem}", problem=problem)
            self.event_reported.emit(Failed(message=message, details=traceback.format_exc()))
        finally:
            self.finished.emit()

    def _do(self) -> None:
        # Here, not at the top: this is what loads torch, and the window must not wait for it.
        from td3core.training import launch

        control, report, job = self._control, self._report, self._job
        consent = job.consent
        match job:
            case NewRun(config=config, tunables=tunables, runs_dir=folder, schedule=schedule):
                launch.train(config, tunables, control, report, folder, schedule, consent=consent)
            case ResumedRun(run=run, steps=steps):
                launch.resume(run, control, report, steps=steps, consent=consent)
            case Branch(checkpoint=checkpoint, values=values, runs_dir=folder):
                launch.branch(checkpoint, values, control, report, folder, consent=consent)

    def _report(self, event: object) -> None:
        self.event_reported.emit(event)


def load_engine_in_background() -> threading.Thread:
    """Import the training loop, and with it torch, so that the first Train starts at once."""
    thread = threading.Thread(
        target=importlib.import_module, args=(_LOOP,), name="load-engine", daemon=True
    )
    thread.start()
    return thread
