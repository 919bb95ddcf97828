"""The object that lives in the run's QThread and calls the training loop there."""

import importlib
import threading
import traceback
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from td3core.config import RunConfig, Tunables
from td3core.control import Control
from td3core.events import Failed

_LOOP = "td3core.loop"


class Worker(QObject):
    """Runs one training from start to end; re-emits what it says."""

    event_reported = Signal(object)
    finished = Signal()

    def __init__(
        self, config: RunConfig, tunables: Tunables, control: Control, runs_dir: Path
    ) -> None:
        super().__init__()
        self._config, self._tunables = config, tunables
        self._control, self._runs_dir = control, runs_dir

    @Slot()
    def run(self) -> None:
        """Train until the run ends. Called once, by the thread's ``started``."""
        try:
            # Here, not at the top: this is what loads torch, and the window must not wait for it.
            from td3core.loop import train

            train(self._config, self._tunables, self._control, self._report, self._runs_dir)
        except BaseException as problem:
            # train() lets nothing escape; what is left is a torch that cannot be imported.
            message = f"Training could not start: {problem}"
            self.event_reported.emit(Failed(message=message, details=traceback.format_exc()))
        finally:
            self.finished.emit()

    def _report(self, event: object) -> None:
        self.event_reported.emit(event)


def load_engine_in_background() -> threading.Thread:
    """Import the training loop, and with it torch, so that the first Train starts at once."""
    thread = threading.Thread(
        target=importlib.import_module, args=(_LOOP,), name="load-engine", daemon=True
    )
    thread.start()
    return thread
