"""A group trained by another process: followed and steered through its folder."""

import queue
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject

from studio.tasks.background_task import BackgroundTask, Report, Stopped, drained
from td3core.errors import RequestError
from td3core.experiments.groups.commands import Command, request
from td3core.experiments.groups.group import Group
from td3core.experiments.groups.messages import GroupEnded, GroupMessage, GroupStarted
from td3core.experiments.groups.seed_status import SeedStatus
from td3core.experiments.groups.watch import watch
from td3core.text import Text

_POLL_S = 1.0


class FollowedGroup:
    """Has the methods of a ``GroupProcess``; all file access happens in a thread."""

    def __init__(
        self,
        group: Group,
        report: Callable[[GroupMessage], None],
        on_refused: Callable[[object], None],
        parent: QObject,
    ) -> None:
        self._group, self._report = group, report
        self._asks: queue.SimpleQueue[Command | None] = queue.SimpleQueue()
        self._task = BackgroundTask("follow-group", parent)
        self._task.reported.connect(self._take)
        self._task.failed.connect(on_refused)
        self._refused = on_refused

    def begin(self) -> None:
        """Report the group, and from now on every change of its runs."""
        reason = Text("it trains in the background")
        self._report(GroupStarted(group=self._group, jobs=0, reason=reason))
        self._task.start(partial(_follow, self._group, self._asks))

    def command(self, command: Command) -> None:
        """Send a command."""
        self._asks.put(command)

    def detach(self) -> None:
        """Stop following; the group continues. Pending commands are still written."""
        self._task.cancel()
        self._asks.put(None)

    def _take(self, found: object) -> None:
        if isinstance(found, RequestError):
            self._refused(found.message)
        elif isinstance(found, SeedStatus | GroupEnded):
            self._report(found)


def _follow(
    group: Group, asks: "queue.SimpleQueue[Command | None]", report: Report, stopped: Stopped
) -> None:
    """Report every change of the group's runs until it stops training."""
    known: tuple[SeedStatus, ...] = ()
    while not stopped():
        training = group.is_training()
        found = watch(group)
        for status in found:
            if status not in known:
                report(status)
        known = found
        if not training:
            report(GroupEnded(statuses=found))
            return
        for ask in drained(asks, _POLL_S):
            try:
                request(group, ask)
            except RequestError as problem:
                report(problem)
