"""Runs that train in separate processes next to the window's run."""

from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from studio.tasks.background_task import Relay
from td3core.errors import no_process
from td3core.experiments.jobs import Job
from td3core.experiments.run_process import RunProcess
from td3core.protocol.events import Failed, Started


class RunsBeside(QObject):
    """Starts runs and detaches from them; they are followed like runs of other windows."""

    started = Signal(object)
    """A run trains now; carries its :class:`~td3core.protocol.events.Started`."""
    refused = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._starting: dict[int, RunProcess] = {}
        self._count = 0
        # For the thread that reads from the process, which may outlive this object.
        self._relay = Relay()
        self._relay.reported.connect(self._on_event)

    def start(self, job: Job) -> None:
        """Train a run that outlives the window."""
        self._count += 1
        try:
            process = RunProcess(job, partial(self._relay.reported.emit, self._count))
        except OSError as problem:
            self.refused.emit(no_process(problem))
        else:
            self._starting[self._count] = process

    def leave(self) -> None:
        """Detach also from runs that are just starting: the window is about to close."""
        for process in self._starting.values():
            process.detach()
        self._starting.clear()

    @Slot(object, object)
    def _on_event(self, number: int, event: object) -> None:
        if isinstance(event, Failed) and number in self._starting:
            del self._starting[number]
            self.refused.emit(event.message)
        elif isinstance(event, Started) and number in self._starting:
            self._starting.pop(number).detach()
            self.started.emit(event)
