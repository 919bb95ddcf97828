"""The run's side: lets other processes watch and steer a run, through its folder."""

import contextlib
import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from td3core.config import RunConfig, Tunables, check_together, with_values
from td3core.errors import RequestError
from td3core.protocol import events
from td3core.protocol.control import Control
from td3core.protocol.events import Event, JournalEvent, Phase
from td3core.protocol.steering import Ask, Verb, steer
from td3core.remote.inbox import ASKS_OF_A_RUN, TUNE, Inbox, InboxRequest
from td3core.runs.layout import step_checkpoint
from td3core.runs.messages import shortened
from td3core.runs.status import MOST_TEXT, Notice, RequestOutcome, Status
from td3core.text import NO_TEXT, Text

LOOK_S = 0.25
"""Seconds between two checks for requests."""
STATUS_S = 1.0
"""Seconds between two writes of the status."""

_MOST_ANSWERS = 64
_MOST_WARNINGS = 20
_ENDED = Text("The run ended before it could handle the request.")
_NOT_PAUSED = Text("The run is not paused.")
_NO_CHECKPOINT = Text("The checkpoint could not be written.")


class RemoteAccess:
    """Writes the status of a run, and passes the requests in its folder on to its control.

    Works in the run's thread, whenever the run reports an event. It never fails, and does not
    change the run itself: failed writes are tried again at the next report.
    """

    def __init__(
        self, run: Path, config: RunConfig, control: Control, report: Callable[[Event], None]
    ) -> None:
        """``report`` receives warnings about the folder of requests."""
        self._run, self._config = run, config
        self._control, self._report = control, report
        self._inbox = Inbox(run, ASKS_OF_A_RUN)
        self._status: Status | None = None
        """None until the run has started."""
        self._tunables = Tunables()
        """The live settings that the run uses now."""
        self._pending: dict[str, list[tuple[str, int]]] = {ask: [] for ask in ASKS_OF_A_RUN}
        """Requests passed on but not done yet, by kind: their names and revisions."""
        self._answers: deque[RequestOutcome] = deque(maxlen=_MOST_ANSWERS)
        self._warnings: deque[Notice] = deque(maxlen=_MOST_WARNINGS)
        self._warned = 0
        self._unwritten = False
        """Whether some answer is not yet in the file."""
        self._looked_at = self._written_at = 0.0
        self._saving_at: int | None = None
        self._outcome: events.Ended | events.Failed | None = None
        self._told_problem = False

    # Called by the run, as a Listener -----------------------------------------------------------

    def report(self, event: Event) -> None:
        """Handle a report of the run."""
        match event:
            case events.Started():
                self._begin(event)
            case events.Progress():
                self._on_progress(event)
            case events.Tuned():
                self._on_tuned(event)
            case events.Noted():
                self._on_noted(event)
            case events.Saved():
                self._on_saved(event)
            case events.Warned():
                self._on_warned(event)
            case events.Ended() | events.Failed():
                self._outcome = event

    def idle(self) -> None:
        """Check for requests if it is time. Called at reports, and while the run is paused."""
        status, now = self._status, time.monotonic()
        if status is None or now - self._looked_at < LOOK_S:
            return
        self._looked_at = now
        for request in self._inbox.take():
            self._hand_over(request, status)
        problem = self._inbox.problem
        if problem is not None and not self._told_problem:
            self._told_problem = True
            self._report(events.Warned(env_steps=status.env_steps, message=problem))
        if self._unwritten or now - self._written_at >= STATUS_S:
            self._write()

    def close(self) -> None:
        """Answer the remaining requests: the run is over, its agent saved unless it failed."""
        if self._status is None:
            return
        for ask, requests in self._pending.items():
            for name, _ in requests:
                self._answer_at_end(name, ask, NO_TEXT)
            requests.clear()
        for request in self._inbox.take():
            self._answer_at_end(request.name, request.ask, _ENDED)
        self._write()

    def _answer_at_end(self, name: str, ask: str, stopped: Text) -> None:
        """Answer a request after the end; ``stopped`` is the message of one to stop, if done."""
        match self._outcome:
            case events.Ended() if ask == Verb.STOP:
                self._answer(name, message=stopped)
            case events.Failed(message=failure) if ask == Verb.STOP:
                self._answer(name, done=False, message=failure)
            case _:
                self._answer(name, done=False, message=_ENDED)

    # Requests -----------------------------------------------------------------------------------

    def _hand_over(self, request: InboxRequest, status: Status) -> None:
        if request.problem:
            self._answer(request.name, done=False, message=request.problem)
            return
        if request.ask == TUNE:
            self._tune(request, self._tunables)
            return
        match Verb(request.ask):
            case Verb.UNPAUSE | Verb.RESUME:
                pausing = self._take(Verb.PAUSE)
                paused = pausing or status.phase is Phase.PAUSED
                self._control.unpause()
                # Pending requests to pause are answered as well.
                for name, _ in pausing:
                    self._answer(name)
                self._answer(request.name, message=NO_TEXT if paused else _NOT_PAUSED)
            case Verb.PAUSE if status.phase is Phase.PAUSED:
                self._answer(request.name, message=Text("The run is already paused."))
            case verb:
                steer(self._control, Ask(verb))
                self._pending[verb].append((request.name, 0))

    def _tune(self, request: InboxRequest, applied: Tunables) -> None:
        try:
            check_together(self._config, with_values(applied, request.values))
            revision = self._control.change(request.values)
        except RequestError as problem:
            self._answer(request.name, done=False, message=problem.message)
        else:
            self._pending[TUNE].append((request.name, revision))

    def _take(self, ask: str) -> list[tuple[str, int]]:
        taken, self._pending[ask] = self._pending[ask], []
        return taken

    def _answer(
        self, name: str, *, done: bool = True, revision: int = 0, message: Text = NO_TEXT
    ) -> None:
        step = self._status.env_steps if self._status else 0
        told = shortened(message, MOST_TEXT)
        self._answers.append(
            RequestOutcome(request=name, done=done, env_steps=step, revision=revision, message=told)
        )
        self._unwritten = True

    # Events -------------------------------------------------------------------------------------

    def _begin(self, event: events.Started) -> None:
        self._status = Status(
            session=secrets.token_hex(8),
            beat=0,
            began_at=event.env_steps,
            device=event.device,
            threads=event.threads,
            engine=event.engine.english,
            reward_threshold=event.reward_threshold,
            phase=Phase.at(event.env_steps, self._config.learning_starts, imported=False),
            env_steps=event.env_steps,
            episodes=0,
            steps_per_s=0.0,
            wall_s=0.0,
            exploration_noise=event.tunables.exploration_noise,
            revision=0,
        )
        self._tunables = event.tunables
        # The file is written at the first progress, which has the remaining values.
        for request in self._inbox.open():
            self._answer(request.name, done=False, message=request.problem)

    def _on_progress(self, event: events.Progress) -> None:
        if self._status is None:
            return
        if self._saving_at is not None:
            self._finish_saving(_NO_CHECKPOINT)
        before = self._status.phase
        self._status = replace(
            self._status,
            phase=event.phase,
            env_steps=event.env_steps,
            episodes=event.episodes,
            steps_per_s=event.steps_per_s,
            wall_s=event.wall_s,
            exploration_noise=event.exploration_noise,
            revision=event.revision,
        )
        self._tunables = event.tunables
        self.idle()
        if self._unwritten or (Phase.PAUSED in (before, event.phase) and before is not event.phase):
            self._write()

    def _on_tuned(self, event: events.Tuned) -> None:
        if self._status is None:
            return
        self._status = replace(self._status, env_steps=event.env_steps, revision=event.revision)
        self._tunables = event.tunables
        waiting = self._take(TUNE)
        for name, revision in waiting:
            if revision <= event.revision:
                done = not event.refused
                self._answer(name, done=done, revision=event.revision, message=event.refused)
            else:
                self._pending[TUNE].append((name, revision))
        if waiting:
            self._write()

    def _on_noted(self, event: events.Noted) -> None:
        if self._status is None:
            return
        self._status = replace(self._status, env_steps=event.env_steps)
        if self._saving_at is not None:
            self._finish_saving(_NO_CHECKPOINT)
        if event.event == JournalEvent.SAVE and self._pending[Verb.SAVE]:
            self._saving_at = event.env_steps
        elif event.event == JournalEvent.PAUSE:
            # Written with the progress event that reports the pause, which follows at once.
            for name, _ in self._take(Verb.PAUSE):
                self._answer(name)

    def _on_saved(self, event: events.Saved) -> None:
        step = self._saving_at
        if step is not None and event.path == step_checkpoint(self._run, step):
            self._finish_saving()

    def _finish_saving(self, problem: Text = NO_TEXT) -> None:
        self._saving_at = None
        for name, _ in self._take(Verb.SAVE):
            self._answer(name, done=not problem, message=problem)
        self._write()

    def _on_warned(self, event: events.Warned) -> None:
        self._warned += 1
        warning = Notice(
            number=self._warned,
            env_steps=event.env_steps,
            message=shortened(event.message, MOST_TEXT),
        )
        self._warnings.append(warning)

    # The file -----------------------------------------------------------------------------------

    def _write(self) -> None:
        if self._status is None:
            return
        self._written_at = time.monotonic()
        self._status = replace(
            self._status,
            beat=self._status.beat + 1,
            answers=tuple(self._answers),
            warnings=tuple(self._warnings),
        )
        # A full disk or a deleted folder: the tables' writer has reported it.
        with contextlib.suppress(OSError):
            self._status.write(self._run)
            self._unwritten = False
