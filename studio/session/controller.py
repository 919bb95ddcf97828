"""Owns one run at a time, in a QThread or in another process, and its state."""

from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QThread, QTimer, Signal, Slot

from studio.session.followed import CatchUp, FollowedRun, Refusal
from studio.session.worker import ProcessWorker, Worker
from td3core.config import Tunables
from td3core.errors import no_process
from td3core.experiments.jobs import Job
from td3core.protocol.control import Control
from td3core.protocol.events import Failed, Phase, Progress, Traced
from td3core.protocol.steering import Steering
from td3core.runs.reader import RunReader
from td3core.system.numerics import needs_other_process
from td3core.text import Text

RUN_BUSY = Text("A run is training. Wait for its end, or stop it first.")

_PATIENCE_MS = 2000
"""How long a run may take to stop before it can be killed: it may hang, or have a lot to save."""


class SessionState(StrEnum):
    """State of the current run; it determines the available actions."""

    IDLE = "idle"
    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"


class RunController(QObject):
    """Starts, steers and ends runs of this process, and follows and steers runs of others.

    A run of this process lives in a QThread and is steered through its Control; a run of another
    process through a :class:`FollowedRun`.
    """

    state_changed = Signal(object)
    event_reported = Signal(object)
    traced = Signal(object)
    """A single update, a ``Traced``; not stored with the run."""
    caught_up = Signal(object)
    """The events of a run before it was followed, as a tuple."""
    refused = Signal(object)
    """Why a request to a followed run was refused, a ``Text``."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state = SessionState.IDLE
        self._thread: QThread | None = None
        self._worker: Worker | ProcessWorker | None = None
        self._control: Steering | None = None
        """Control of this window's run, or of the followed one."""
        self._followed: FollowedRun | None = None
        self._own_process = self._tracing = False
        self._patience = QTimer(self, singleShot=True, interval=_PATIENCE_MS)
        self._patience.timeout.connect(self._lose_patience)

    @property
    def state(self) -> SessionState:
        """The state of the current run; ``idle`` without one."""
        return self._state

    @property
    def busy(self) -> bool:
        """True from the start of a run of this process until its thread has ended."""
        return self._thread is not None

    @property
    def followed_run(self) -> Path | None:
        """The followed run of another process, if any."""
        return self._followed.run if self._followed is not None else None

    @property
    def following(self) -> bool:
        """True while a run of another process is followed."""
        return self._followed is not None

    @Slot(bool)
    def set_own_process(self, own: bool) -> None:
        """Choose whether runs started from now on train in a process of their own."""
        self._own_process = own

    def follow(self, reader: RunReader) -> None:
        """Follow a run of another process, whose files ``reader`` has read.

        Ignored while a run of this process is active.
        """
        if self.busy:
            return
        self.stop_following()
        self._control = self._followed = FollowedRun(reader, self)
        self._followed.reported.connect(self._on_followed)
        self._followed.failed.connect(self.refused)
        self._followed.over.connect(self.stop_following)
        self._set_state(SessionState.STARTING)

    @Slot()
    def stop_following(self) -> None:
        """Stop following; the run continues."""
        followed, self._followed = self._followed, None
        if followed is not None:
            self._control = None
            followed.close()
            self._set_state(SessionState.IDLE)

    def begin(self, job: Job) -> None:
        """Begin a job: a new, resumed or branched run. Ignored while another one is active."""
        if self.busy:
            return
        self.stop_following()
        try:
            self._make_worker(job)
        except OSError as problem:
            self.event_reported.emit(Failed(message=no_process(problem), details=""))
            return
        assert self._worker is not None
        self._thread = QThread()
        self._set_state(SessionState.STARTING)
        self._thread.setObjectName("training")
        # Torch and the environments need more than the 512 KiB some systems give a thread.
        self._thread.setStackSize(16 * 1024 * 1024)
        self._worker.moveToThread(self._thread)
        self._thread.started.connect(self._worker.run)
        self._worker.event_reported.connect(self._on_event)
        # Called in the thread itself: the window's thread may be blocked waiting for its end.
        self._worker.finished.connect(self._thread.quit, Qt.ConnectionType.DirectConnection)
        self._thread.finished.connect(self._on_thread_finished)
        self._thread.start()

    def _make_worker(self, job: Job) -> None:
        # A process cannot change its numerics class, and a thread cannot be killed.
        if self._own_process or job.may_hang or needs_other_process(job.numerics):
            worker = self._worker = ProcessWorker(job)
            self._control = worker.process
        else:
            control = self._control = Control(shares_interpreter=True)
            self._worker = Worker(job, control)
        if self._tracing:
            self._control.trace(True)

    @property
    def can_leave(self) -> bool:
        """Whether the run can continue without the window."""
        return self.busy and isinstance(self._worker, ProcessWorker)

    def leave(self) -> None:
        """Let a run in a process of its own continue in the background, and detach from it."""
        if isinstance(self._worker, ProcessWorker):
            self._worker.leave()

    def pause(self) -> None:
        """Ask the run to pause; the state changes once it has."""
        if self._control and self._state is SessionState.RUNNING:
            self._control.pause()

    def unpause(self) -> None:
        """Let a paused run continue."""
        if self._control and self._state is SessionState.PAUSED:
            self._control.unpause()
            self._set_state(SessionState.RUNNING)

    def stop(self) -> None:
        """Ask the run to save and end; a later call kills a process that does not respond."""
        if self.can_give_up and isinstance(self._worker, ProcessWorker):
            self._worker.process.give_up()
        elif self._control and self._state is not SessionState.IDLE:
            self._control.stop()
            if self._state is not SessionState.STOPPING:
                # Before the state changes: its receivers check ``can_give_up``.
                self._patience.start()
                self._set_state(SessionState.STOPPING)

    @property
    def can_give_up(self) -> bool:
        """Whether the run has not ended two seconds after a request to stop, and can be killed."""
        waited = self._state is SessionState.STOPPING and not self._patience.isActive()
        return waited and isinstance(self._worker, ProcessWorker)

    @Slot()
    def _lose_patience(self) -> None:
        if self.can_give_up:
            self.state_changed.emit(self._state)

    def save(self) -> None:
        """Ask for a checkpoint."""
        if self._control:
            self._control.save()

    def trace(self, wanted: bool) -> None:
        """Let runs of this window report single updates from now on, or stop that."""
        self._tracing = wanted
        if self._control and self.busy:
            self._control.trace(wanted)

    @Slot()
    def step(self) -> None:
        """Ask a paused run of this window for a single update."""
        if self._control and self.busy and self._state is SessionState.PAUSED:
            self._control.step()

    def end_now(self, patience_ms: int) -> None:
        """Make the run save and end, and wait for it: the process is about to end."""
        thread, control = self._thread, self._control
        if thread is not None and control is not None and thread is not QThread.currentThread():
            control.stop()
            thread.wait(patience_ms)

    def tune(self, tunables: Tunables, before: Tunables | None = None) -> int | None:
        """Ask for new live settings; return the revision to wait for, ``None`` without a run.

        ``before``: the settings that were shown; only differences are requested.
        """
        if self._control is None or self._state is SessionState.STOPPING:
            return None
        return self._control.tune(tunables, before)

    @Slot(object)
    def _on_followed(self, found: object) -> None:
        match found:
            case CatchUp(events=events):
                for event in events:
                    self._follow_state(event)
                self.caught_up.emit(events)
            case Refusal(ask=ask, message=message):
                if ask == "stop" and self._state is SessionState.STOPPING:
                    self._set_state(SessionState.RUNNING)
                self.refused.emit(message)
            case event:
                self._on_event(event)

    @Slot(object)
    def _on_event(self, event: object) -> None:
        if isinstance(event, Traced):
            self.traced.emit(event)
            return
        self._follow_state(event)
        self.event_reported.emit(event)

    def _follow_state(self, event: object) -> None:
        if isinstance(event, Progress) and self._state is not SessionState.STOPPING:
            paused = event.phase is Phase.PAUSED
            self._set_state(SessionState.PAUSED if paused else SessionState.RUNNING)

    @Slot()
    def _on_thread_finished(self) -> None:
        thread = self._thread
        self._thread = self._worker = self._control = None
        if thread is not None:
            # finished() is emitted shortly before the thread ends: wait for the rest.
            thread.wait()
            thread.deleteLater()
        self._set_state(SessionState.IDLE)

    def _set_state(self, state: SessionState) -> None:
        if state is not self._state:
            self._state = state
            self.state_changed.emit(state)
