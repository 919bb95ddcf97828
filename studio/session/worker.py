"""Objects in the run's QThread: one trains there, one waits for a process."""

import importlib
import threading
import traceback

from PySide6.QtCore import QObject, Signal, Slot

from td3core.errors import reason_of
from td3core.experiments.jobs import Job, perform
from td3core.experiments.run_process import RunProcess
from td3core.protocol.control import Control
from td3core.protocol.events import Failed
from td3core.text import Text

_LOOP = "td3core.training.launch"
_LOOK_S = 0.2


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
            # Loads torch, for which the window must not wait.
            perform(self._job, self._control, self.event_reported.emit)
        except BaseException as problem:
            # The training loop catches all its exceptions; torch may have failed to import.
            message = Text("Training could not start: {problem}", problem=reason_of(problem))
            self.event_reported.emit(Failed(message=message, details=traceback.format_exc()))
        finally:
            self.finished.emit()


class ProcessWorker(QObject):
    """Trains in a process of its own; its thread only waits for that process."""

    event_reported = Signal(object)
    finished = Signal()

    def __init__(self, job: Job) -> None:
        """Start the process.

        Raises:
            OSError: the system cannot start another process.
        """
        super().__init__()
        self._left = threading.Event()
        self.process = RunProcess(job, self._report)

    @Slot()
    def run(self) -> None:
        """Wait until the run has ended, or was detached."""
        while not self._left.is_set() and not self.process.wait(_LOOK_S):
            pass
        self.finished.emit()

    def leave(self) -> None:
        """Let the run continue in the background; it reports nothing more."""
        self.process.detach()
        self._left.set()

    def _report(self, event: object) -> None:
        # Called in a thread of the process object.
        if not self._left.is_set():
            self.event_reported.emit(event)


def load_engine_in_background() -> threading.Thread:
    """Import the training loop, and with it torch, so that the first Train starts at once."""
    thread = threading.Thread(
        target=importlib.import_module, args=(_LOOP,), name="load-engine", daemon=True
    )
    thread.start()
    return thread
