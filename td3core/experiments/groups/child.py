"""A group in a process of its own: what that process does."""

import time
from typing import Any

from td3core.errors import RequestError
from td3core.experiments.groups.commands import Command
from td3core.experiments.groups.conductor import Conductor
from td3core.experiments.groups.group import open_group
from td3core.experiments.groups.messages import (
    GroupEnded,
    GroupLog,
    GroupStarted,
    NewGroup,
    ResumedGroup,
)
from td3core.experiments.groups.seed_status import SeedStatus
from td3core.experiments.groups.start import allocation_of, on_this_machine, plan_group
from td3core.protocol.events import Event, Progress
from td3core.system.message_process import ParentLink, detach_output, ignore_terminal

_BETWEEN_S = 0.2
"""Between two reports of one run's progress: a window draws no faster."""


def main() -> None:
    """Train the group that the parent asks for, and send it the status of each run."""
    link = ParentLink()
    ignore_terminal()
    try:
        link.send(_train(link, link.receive()))
    except EOFError:
        return
    except RequestError as problem:
        link.send(GroupEnded(problem=problem.message))


def _train(link: ParentLink, job: NewGroup | ResumedGroup) -> GroupEnded:
    extended = isinstance(job, ResumedGroup) and job.steps is not None
    if isinstance(job, NewGroup):
        plan = (job.runs_dir, job.seeds, job.config, job.tunables, job.consent, job.jobs)
        group, allocation = plan_group(*plan)
    else:
        group, notice = on_this_machine(open_group(job.path))
        if notice:
            link.send(GroupLog(seed=group.seeds[0], line=notice))
        if job.steps is not None:
            group = group.with_steps(job.steps)
        allocation = allocation_of(group, job.consent)
    link.send(GroupStarted(group=group, jobs=allocation.jobs, reason=allocation.reason))
    throttle = _Throttle(link)
    conductor = Conductor(
        group,
        allocation,
        throttle.report,
        lambda seed, line: link.send(GroupLog(seed=seed, line=line)),
        consent=job.consent,
    )
    commands = _Commands(conductor)
    link.listen(commands.take, commands.parent_gone)
    return GroupEnded(statuses=conductor.run(save=extended))


class _Throttle:
    """Sends every change, but progress only a few times a second."""

    def __init__(self, link: ParentLink) -> None:
        self._link = link
        self._sent: dict[int, tuple[float, SeedStatus]] = {}

    def report(self, status: SeedStatus, event: Event | None) -> None:
        now = time.monotonic()
        at, before = self._sent.get(status.seed, (-_BETWEEN_S, None))
        changed = before is None or (before.state, before.phase) != (status.state, status.phase)
        if changed or not isinstance(event, Progress) or now - at >= _BETWEEN_S:
            self._sent[status.seed] = (now, status)
            self._link.send(status)


class _Commands:
    """Passes on what the parent asks for."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor, self._detached = conductor, False

    def take(self, message: Any) -> None:
        if message == "detach":
            self._detached = True
            detach_output()
        else:
            self._conductor.command(message)

    def parent_gone(self) -> None:
        """Save all runs and end, unless the parent has said that it would leave."""
        if not self._detached:
            detach_output()
            self._conductor.command(Command(verb="stop"))
