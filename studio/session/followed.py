"""A run of another process: followed and steered through its folder, in the background."""

from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import QObject

from studio.tasks.background_task import Report
from studio.tasks.follow_loop import FollowLoop
from td3core.config import Tunables
from td3core.errors import RequestError
from td3core.protocol import events
from td3core.protocol.run_status import RunStatus
from td3core.protocol.steering import Request, Requesting, Tune
from td3core.remote.steer import Answered, RemoteControl
from td3core.runs.reader import RunReader
from td3core.text import Text

_POLL_S = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUp:
    """State of the run when following begins."""

    events: tuple[events.Event, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A request that the run refused, or that could not be made."""

    ask: str
    message: Text


class FollowedRun(FollowLoop[tuple[int, Request]], Requesting):
    """Has the request methods of a ``Control``; all file access happens in a thread.

    ``reported`` carries events of the run, a :class:`CatchUp` first, and each :class:`Refusal`.
    """

    def __init__(self, reader: RunReader, parent: QObject | None = None) -> None:
        """Follow a run after reading it."""
        super().__init__("follow-run", partial(_Follower, reader), parent)
        self.run = reader.run
        self._ticket = 0

    def request(self, request: Request) -> int:
        """Let the thread make a request; a ``Tuned`` with its number acknowledges a change."""
        if isinstance(request, Tune):
            self._ticket += 1
        self.ask((self._ticket, request))
        return self._ticket


class _Follower:
    """The work of the thread. Translates between the window's tickets and those of the core."""

    def __init__(self, reader: RunReader, report: Report) -> None:
        self._report = report
        self._reader, self._control = reader, RemoteControl(reader.run)
        self._tickets: dict[int, int] = {}
        """The window's ticket of each unanswered change, keyed by the core's ticket."""
        self._acknowledged = 0
        self._applied: Tunables | None = None
        self._env_steps = 0
        self._caught_up = False

    def look(self) -> float | None:
        """Report new events and answers; None once the run has ended."""
        begun = () if self._caught_up else (self._reader.again(),)
        found = tuple(map(self._seen, (*begun, *self._reader.poll())))
        if begun:
            self._caught_up = True
            self._report(CatchUp(events=found))
        else:
            for event in found:
                self._report(event)
        for answered in self._control.answered(self._reader.answers):
            self._on_answer(answered)
        if self._applied is not None and not self._tickets:
            self._control.note_applied(self._applied)
        if self._reader.state not in (None, RunStatus.RUNNING):
            return None
        return 0.0 if self._reader.behind else _POLL_S

    def _seen(self, event: events.Event) -> events.Event:
        if isinstance(event, events.Progress):
            self._applied, self._env_steps = event.tunables, event.env_steps
        if isinstance(event, events.Tuned):
            # Revisions reported to the window are its own tickets.
            return replace(event, revision=self._acknowledged)
        return event

    def ask(self, asked: tuple[int, Request]) -> None:
        """Make a request; its ticket identifies a change of settings."""
        ticket, request = asked
        tunes = isinstance(request, Tune)
        try:
            given = self._control.request(request)
        except RequestError as problem:
            kind = "tune" if isinstance(request, Tune) else request.verb
            self._refuse(kind, ticket if tunes else 0, problem.message)
        else:
            if tunes:
                self._tickets[given] = ticket

    def _on_answer(self, answered: Answered) -> None:
        ticket, answer = self._tickets.pop(answered.ticket, 0), answered.answer
        if not answer.done:
            self._refuse(answered.ask, ticket, answer.message)
        elif ticket:
            self._acknowledge(ticket, answer.env_steps)

    def _refuse(self, ask: str, ticket: int, message: Text) -> None:
        self._report(Refusal(ask=ask, message=message))
        if ticket:
            self._acknowledge(ticket, self._env_steps)

    def _acknowledge(self, ticket: int, env_steps: int) -> None:
        self._acknowledged = max(self._acknowledged, ticket)
        if self._applied is not None:
            tuned = events.Tuned(
                env_steps=env_steps,
                updates=0,
                revision=ticket,
                tunables=self._applied,
                changes=(),
            )
            self._report(tuned)
