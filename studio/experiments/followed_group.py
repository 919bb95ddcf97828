"""A group trained by another process: followed and steered through its folder."""

from functools import partial

from PySide6.QtCore import QObject

from studio.tasks.background_task import Report
from studio.tasks.follow_loop import FollowLoop
from td3core.experiments.groups.commands import Command, request
from td3core.experiments.groups.group import Group
from td3core.experiments.groups.messages import GroupEnded
from td3core.experiments.groups.seed_status import SeedStatus
from td3core.experiments.groups.watch import watch

_POLL_S = 1.0


class FollowedGroup(FollowLoop[Command]):
    """Has the methods of a ``GroupProcess``; all file access happens in a thread.

    ``reported`` carries every change of its runs, and its end.
    """

    def __init__(self, group: Group, parent: QObject) -> None:
        super().__init__("follow-group", partial(_Follower, group), parent)

    command = FollowLoop.ask
    detach = FollowLoop.close


class _Follower:
    """The work of the thread."""

    def __init__(self, group: Group, report: Report) -> None:
        self._group, self._report = group, report
        self._known: tuple[SeedStatus, ...] = ()

    def look(self) -> float | None:
        training = self._group.is_training()
        found = watch(self._group)
        for status in found:
            if status not in self._known:
                self._report(status)
        self._known = found
        if training:
            return _POLL_S
        self._report(GroupEnded(statuses=found))
        return None

    def ask(self, command: Command) -> None:
        request(self._group, command)
