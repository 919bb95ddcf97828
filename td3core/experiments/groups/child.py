"""A group in a process of its own: the child's side."""

import threading
import time

from td3core.errors import RequestError, StoppedError
from td3core.experiments.groups.commands import Command
from td3core.experiments.groups.group import NewGroup, open_group
from td3core.experiments.groups.messages import (
    CODEC,
    GroupEnded,
    GroupLog,
    GroupStarted,
    ResumedGroup,
    SeedEvent,
)
from td3core.experiments.groups.runner import GroupRunner
from td3core.experiments.groups.seed_status import SeedStatus
from td3core.experiments.groups.start import allocation_of, on_this_machine, plan_group
from td3core.protocol.events import Event, Progress
from td3core.protocol.steering import Ask, Verb
from td3core.system.message_process import ParentLink, detach_output
from td3core.system.signals import ignore_terminal
from td3core.text import Text

_BETWEEN_S = 0.2
"""Seconds between two reports of one run's progress: a window draws no faster."""


def main() -> None:
    """Train the group that the parent requests, and send it the status of each run."""
    link = ParentLink(CODEC)
    ignore_terminal()
    try:
        job, commands = link.receive(), _Commands()
    except EOFError:
        return
    link.listen(commands.take, commands.parent_gone)
    try:
        link.send(_train(link, job, commands))
    except RequestError as problem:
        link.send(GroupEnded(problem=problem.message))
    except StoppedError:
        link.send(GroupEnded(problem=Text("Stopped before the first step.")))


def _train(link: ParentLink, job: NewGroup | ResumedGroup, commands: "_Commands") -> GroupEnded:
    extended = isinstance(job, ResumedGroup) and job.steps is not None
    if isinstance(job, NewGroup):
        group, allocation = plan_group(job, commands.stopped)
    else:
        group, notice = on_this_machine(open_group(job.path))
        if notice:
            link.send(GroupLog(seed=group.seeds[0], line=str(notice)))
        if job.steps is not None:
            group = group.with_steps(job.steps)
        allocation = allocation_of(group, stopped=commands.stopped)
    link.send(GroupStarted(group=group, jobs=allocation.jobs, reason=allocation.reason))
    runner = GroupRunner(
        group,
        allocation,
        _Reporter(link).report,
        lambda seed, line: link.send(GroupLog(seed=seed, line=line)),
    )
    commands.begin(runner)
    only = job.seeds if isinstance(job, ResumedGroup) else ()
    return GroupEnded(statuses=runner.run(save=extended, only=only))


class _Reporter:
    """Sends every event and its run's status; progress of a run is merged if it comes too often."""

    def __init__(self, link: ParentLink) -> None:
        self._link = link
        self._sent: dict[int, tuple[float, SeedStatus]] = {}
        self._held: dict[int, Progress] = {}
        """Progress to send with the next event of a run."""

    def report(self, status: SeedStatus, event: Event | None) -> None:
        seed, now = status.seed, time.monotonic()
        at, before = self._sent.get(seed, (-_BETWEEN_S, None))
        changed = before is None or (before.state, before.phase) != (status.state, status.phase)
        held = self._held.pop(seed, None)
        if isinstance(event, Progress):
            event = event if held is None else event.after(held)
            if not changed and now - at < _BETWEEN_S:
                self._held[seed] = event
                return
        elif held is not None:
            self._link.send(SeedEvent(seed=seed, event=held))
        self._sent[seed] = (now, status)
        if event is not None:
            self._link.send(SeedEvent(seed=seed, event=event))
        self._link.send(status)


class _Commands:
    """Passes on the parent's commands; those from before the runs begin are kept for them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runner: GroupRunner | None = None
        self._early: list[Command] = []
        self._detached = False

    def begin(self, runner: GroupRunner) -> None:
        with self._lock:
            self._runner = runner
            for command in self._early:
                runner.command(command)

    def stopped(self) -> bool:
        """Return whether a stop was requested before the group began."""
        return any(command.verb is Verb.STOP and command.seed is None for command in self._early)

    def take(self, message: Command | Ask) -> None:
        if isinstance(message, Ask):
            self._detached = True
            detach_output()
        else:
            self._command(message)

    def _command(self, command: Command) -> None:
        with self._lock:
            if self._runner is None:
                self._early.append(command)
            else:
                self._runner.command(command)

    def parent_gone(self) -> None:
        """Save all runs and end, unless the parent has detached the group."""
        if not self._detached:
            detach_output()
            self._command(Command(verb=Verb.STOP))
