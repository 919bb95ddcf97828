"""Owns the group that trains for this window, in a separate process."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from studio.experiments.followed_group import FollowedGroup
from studio.session.group_record import GroupRecord
from studio.tasks.background_task import Relay
from td3core.errors import no_process
from td3core.experiments.groups.commands import Command
from td3core.experiments.groups.group import Group, NewGroup
from td3core.experiments.groups.messages import (
    GroupEnded,
    GroupLog,
    GroupMessage,
    GroupStarted,
    ResumedGroup,
    SeedEvent,
)
from td3core.experiments.groups.process import GroupProcess
from td3core.experiments.groups.seed_status import SeedStatus
from td3core.protocol.steering import Verb
from td3core.text import Text

Allow = Callable[[Group, Callable[[], None]], None]
"""Calls a function once the user has allowed the code named by a group's files."""


class GroupSession(QObject):
    """One group trains at a time. Ended groups are kept and can be resumed."""

    group_started = Signal(object)
    """Carries the :class:`GroupStarted`."""
    status_changed = Signal(object)
    """Carries the :class:`SeedStatus` of one run."""
    run_reported = Signal(int, object)
    """The seed of a run and its event; only for groups started here."""
    ended = Signal()
    commanded = Signal()
    busy_changed = Signal(bool)
    message_added = Signal(str, object)
    refused = Signal(object)

    def __init__(self, allow: Allow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._allow = allow
        self._process: GroupProcess | FollowedGroup | None = None
        self._records: dict[Path, GroupRecord] = {}
        self._current: GroupRecord | None = None
        self._earlier: GroupRecord | None = None
        """The last group while another one is about to start."""
        self._series = self._variant = ""
        self._token = object()
        """Messages with another one come from an earlier group."""
        # For the thread that reads from the process, which may outlive this object.
        self._relay = Relay()
        self._relay.reported.connect(self._on_message)

    @property
    def busy(self) -> bool:
        """True from the start of a group until all its runs have ended."""
        return self._process is not None

    @property
    def current(self) -> GroupRecord | None:
        """The group that trains, else the last one; None while one is about to start."""
        return self._current

    @property
    def records(self) -> tuple[GroupRecord, ...]:
        """All groups of this window, the most recently started one last."""
        return tuple(self._records.values())

    @property
    def group(self) -> Group | None:
        """The description of the :attr:`current` group."""
        return self._current.group if self._current else None

    def start(self, job: NewGroup | ResumedGroup, series: str = "", variant: str = "") -> None:
        """Train a group, perhaps as a variant in a series. Ignored while another one trains."""
        if self._process is not None:
            return
        token = object()
        self._token, self._series, self._variant = token, series, variant
        self._earlier, self._current = self._current, None
        try:
            self._process = GroupProcess(job, partial(self._relay.reported.emit, token))
        except OSError as problem:
            self._current = self._earlier
            self.refused.emit(no_process(problem))
            return
        self.busy_changed.emit(True)

    def resume(self, group: Group | None = None, seeds: tuple[int, ...] = ()) -> None:
        """Continue a group, by default the :attr:`current` one, after its end.

        With ``seeds`` its other runs stay as they are.
        """
        wanted = group or self.group
        if wanted is not None:
            job = ResumedGroup(path=wanted.path, seeds=seeds)
            self._allow(wanted, lambda: self.start(job))

    def follow(self, group: Group) -> None:
        """Show and steer a group trained by another process. Ignored while one is shown."""
        if self._process is None:
            token = self._token = object()
            self._series = self._variant = ""
            self._process = followed = FollowedGroup(group, self)
            followed.reported.connect(partial(self._on_message, token))
            followed.failed.connect(self.refused)
            reason = Text("it trains in the background")
            self._on_message(token, GroupStarted(group=group, jobs=0, reason=reason))
            self.busy_changed.emit(True)

    def command(self, verb: Verb, seed: int | None = None) -> None:
        """Send a command to one run, or to all."""
        if self._process is not None:
            if self._current is not None and verb is Verb.STOP and seed is None:
                self._current.stopping = True
            self._process.command(Command(verb=verb, seed=seed))
            self.commanded.emit()

    def detach(self) -> None:
        """Let the group continue when this program ends, and stop reporting it."""
        process, self._process = self._process, None
        if process is not None:
            self._token = object()
            process.detach()
            self.busy_changed.emit(False)

    @Slot(object, object)
    def _on_message(self, token: object, message: GroupMessage) -> None:
        if token is not self._token:
            return
        match message:
            case GroupStarted():
                self._begin(GroupRecord(message.group, self._series, self._variant))
                self.group_started.emit(message)
                name = message.group.name
                text = Text("Group {group}: {reason}", group=name, reason=message.reason)
                self.message_added.emit("info", text)
            case SeedStatus():
                if self._current is not None:
                    self._current.take(message)
                self.status_changed.emit(message)
            case SeedEvent():
                self.run_reported.emit(message.seed, message.event)
            case GroupLog():
                line = Text("Seed {seed}: {line}", seed=message.seed, line=message.line)
                self.message_added.emit("info", line)
            case GroupEnded():
                self._on_ended(message)

    def _begin(self, record: GroupRecord) -> None:
        path = record.group.path
        # A resumed group becomes the last one again.
        self._records.pop(path, None)
        self._records[path] = self._current = record

    def _on_ended(self, message: GroupEnded) -> None:
        self._process = None
        if message.problem is not None:
            self.refused.emit(message.problem)
        if message.details:
            self.message_added.emit("error", message.details)
        self.ended.emit()
        if self._current is None:
            # It failed before it began.
            self._current = self._earlier
        self.busy_changed.emit(False)
