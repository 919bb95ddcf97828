"""Makes requests to a run of another process, through files in its folder."""

import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from td3core.config import Tunables, changes, with_values
from td3core.errors import RequestError, file_reason
from td3core.protocol.run_status import RunStatus
from td3core.protocol.steering import Ask, Request, Requesting, Verb
from td3core.remote.inbox import REQUESTS, TUNE, check_values, put
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import changes_of
from td3core.runs.listing import state_of
from td3core.runs.liveness import Liveness
from td3core.runs.status import RequestOutcome, Status
from td3core.text import Value

_POLL_S = 0.05
_WRITTEN: Mapping[str, str] = {Verb.UNPAUSE: Verb.RESUME}
"""Requests under other names in their files: runs of 0.1.0 know no other, and later ones both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The outcome of a request made here."""

    ticket: int
    ask: str
    answer: RequestOutcome


class RemoteControl(Requesting):
    """Counterpart of :class:`~td3core.protocol.control.Control` for a run of another process.

    Each request returns a ticket. :meth:`answered` returns the tickets answered since, and
    :meth:`wait` waits for one. All methods read or write files: not for the GUI thread.
    """

    def __init__(self, run: Path) -> None:
        """Open a run.

        Raises:
            RequestError: the folder is no run.
        """
        self._directory = RunDirectory.open(run)
        self.run = self._directory.path
        self._known: Tunables | None = None
        """The live settings as last applied by the run or requested here."""
        self._tickets = itertools.count(1)
        self._waiting: dict[str, tuple[int, str]] = {}
        """Ticket and kind of the unanswered requests, by file name."""

    # Requests -----------------------------------------------------------------------------------

    def note_applied(self, tunables: Tunables) -> None:
        """Note the settings that the run uses now: :meth:`tune` requests only differences."""
        self._known = tunables

    def request(self, request: Request) -> int:
        """Make a request; for live settings, only the differences from the known ones.

        Raises:
            RequestError: the request cannot be made.
        """
        if isinstance(request, Ask):
            return self._ask(request.verb)
        known = request.before or self._known or self._applied()
        tunables = request.tunables
        values = {name: new for name, _, new in changes(known, tunables)}
        # Without a difference as well: every request must be answered.
        ticket = self.change(values)
        self._known = tunables
        return ticket

    def _applied(self) -> Tunables:
        """Return the current live settings, from the journal."""
        status, tunables = Status.read(self.run), self._directory.first_tunables
        for change in changes_of(self._directory.journal()):
            # Scheduled changes are in the journal from the start.
            if status is not None and change.env_steps <= status.env_steps:
                tunables = with_values(tunables, {change.name: change.new})
        return tunables

    def change(self, values: Mapping[str, Any]) -> int:
        """Request new values of some live settings.

        Raises:
            RequestError: a value is not allowed, or the request cannot be made.
        """
        check_values(values)
        return self._ask(TUNE, values)

    def _ask(self, ask: str, values: Mapping[str, Any] | None = None) -> int:
        try:
            name = put(self.run, _WRITTEN.get(ask, ask), values)
        except OSError as problem:
            raise self._refusal(problem) from problem
        ticket = next(self._tickets)
        self._waiting[name] = (ticket, ask)
        return ticket

    def _refusal(self, problem: OSError) -> RequestError:
        run = self.run.name
        if isinstance(problem, FileNotFoundError):
            return RequestError(
                "{run} takes no requests: it has not started yet, or an earlier version of TD3"
                " Studio trains it.",
                run=run,
            )
        if isinstance(problem, PermissionError):
            return RequestError("{run} belongs to another user, who alone can steer it.", run=run)
        reason = file_reason(problem)
        return RequestError("{run} cannot be steered: {reason}.", run=run, reason=reason)

    # Answers ------------------------------------------------------------------------------------

    def answered(self, answers: tuple[RequestOutcome, ...]) -> list[Answered]:
        """Return which ``answers`` of the run's status are to requests made here."""
        found = []
        for answer in answers:
            if answer.request in self._waiting:
                ticket, ask = self._waiting.pop(answer.request)
                found.append(Answered(ticket=ticket, ask=ask, answer=answer))
        return found

    def require_running(self) -> None:
        """Refuse to steer a run that is not being trained.

        Raises:
            RequestError: it has ended, or its process is gone.
        """
        if Liveness(self.run).check(Status.read(self.run)):
            return
        raise self._not_running()

    def _not_running(self) -> RequestError:
        state, _ = state_of(self._directory)
        if state is RunStatus.RUNNING:
            # Locked on another machine, without a sign of life.
            state = RunStatus.INTERRUPTED
        return RequestError(
            "{run} is not running; it {state}.", run=self.run.name, state=state.phrase
        )

    def wait(self, ticket: int, timeout_s: float) -> RequestOutcome:
        """Wait for the answer to a request, and withdraw it if none comes.

        Raises:
            RequestError: the run has ended, or did not answer in time.
        """
        name = next(name for name, (given, _) in self._waiting.items() if given == ticket)
        liveness, end = Liveness(self.run), time.monotonic() + timeout_s
        alive = True
        while True:
            status = Status.read(self.run)
            for each in self.answered(status.answers if status else ()):
                if each.ticket == ticket:
                    return each.answer
            if time.monotonic() > end or not alive:
                break
            # A run answers as it ends: once it is gone, look again.
            alive = liveness.check(status)
            if alive:
                time.sleep(_POLL_S)
        del self._waiting[name]
        taken = not self._withdraw(name)
        if not alive:
            raise self._not_running()
        values: dict[str, Value] = {"run": self.run.name, "seconds": timeout_s}
        if taken:
            raise RequestError(
                "{run} took the request, but has not answered within {seconds:g} s.", **values
            )
        raise RequestError(
            "{run} did not take the request within {seconds:g} s, so it was withdrawn.", **values
        )

    def _withdraw(self, name: str) -> bool:
        """Delete a request; return False if it is gone."""
        try:
            (self.run / REQUESTS / f"{name}.json").unlink()
        except OSError:
            return False
        return True
