"""Connects groups and the queue with the rest of the window."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from studio.consent.code_consent import CodeConsent, nothing_started
from studio.experiments.group_session import GroupSession
from studio.experiments.queue_file import QueuedRun
from studio.experiments.run_queue import RunQueue
from studio.experiments.sweep_reader import running_sweep
from studio.session.controller import RUN_BUSY, RunController, SessionState
from studio.session.group_record import GroupRecord
from studio.tasks.background_task import BackgroundTask
from studio.widgets.setting_names import in_labels
from td3core.config import RunConfig, Tunables
from td3core.experiments.groups.group import Group, NewGroup
from td3core.experiments.groups.watch import training_groups
from td3core.experiments.jobs import NewRun
from td3core.protocol.events import Failed, Started
from td3core.protocol.steering import Verb
from td3core.system.allowed_code import LocatedModule
from td3core.text import Text

_GROUP_BUSY = Text("A group is training. Use Train next, or stop the group first.")


class ManyRuns(QObject):
    """Starts single runs, groups and queued runs: never two of them at once."""

    refused = Signal(object)
    withdrawn = Signal(object)
    """A text that no longer applies: the run or group that it is about has ended."""
    beginning = Signal()
    panel_wanted = Signal()
    group_changed = Signal()
    """:attr:`steers_group` or :attr:`group` may have changed."""
    sweep_found = Signal(str)
    """The name of a sweep that trains in the background."""
    branch_wanted = Signal(object, object, object)
    """A branch from the queue: its checkpoint, :class:`RunConfig` and :class:`Tunables`. The
    receiver calls :meth:`skip` if it cannot start."""
    skipped = Signal(object)
    """A queued run could not start; carries the reason. The next one starts."""
    went_on = Signal(object)
    """Carries a text: which queued run starts although the user stopped the previous one."""

    def __init__(
        self,
        controller: RunController,
        consent: CodeConsent,
        runs_dir: Path,
        parent: QObject,
    ) -> None:
        """Train in ``runs_dir``."""
        super().__init__(parent)
        self._controller, self._runs_dir = controller, runs_dir
        self._claimed: QueuedRun | None = None
        """The run taken out of the queue to start now; None once it has started or failed to."""
        self._goes_on = False
        """Whether the next queued run starts when the current training ends."""
        self._stop_asked = False
        """Whether the last run or group was asked to stop."""
        self._going_on: Text | None = None
        """What :attr:`went_on` has said of the run or group that trains."""
        self._consent = consent
        self.session = GroupSession(self._obtain_consent, self)
        self.queue = RunQueue(runs_dir, lambda: self.busy, self)
        self.session.refused.connect(self.refused)
        self.session.refused.connect(self.skip)
        self.session.group_started.connect(self._on_began)
        self.queue.refused.connect(self.refused)
        self.queue.wanted.connect(partial(self.start, from_queue=True))
        self.queue.started_by_hand.connect(self._forget_stop)
        controller.state_changed.connect(self._on_state)
        controller.event_reported.connect(self._on_event)
        self.session.busy_changed.connect(self._on_group_busy)
        self.session.ended.connect(self._on_group_ended)
        session = self.session
        for changed in (session.busy_changed, session.status_changed, session.commanded):
            changed.connect(self.group_changed)
        for changed in (session.group_started, controller.state_changed):
            changed.connect(self.group_changed)
        self._finder = BackgroundTask("find-training", self)
        self._finder.failed.connect(self.refused)

    @property
    def busy(self) -> bool:
        """True while a run or a group trains."""
        return self._controller.busy or self.session.busy

    # Steering as a whole ------------------------------------------------------------------------

    @property
    def steers_group(self) -> bool:
        """Whether pause, stop and save apply to the training group.

        They apply to a followed run instead if it does not belong to the group.
        """
        group, followed = self.session.current, self._controller.followed_run
        if not self.session.busy or followed is None or group is None:
            return self.session.busy
        return any(status.run == followed for status in group.statuses.values())

    @property
    def group(self) -> GroupRecord | None:
        """The training group; None before its first report."""
        return self.session.current if self.session.busy else None

    @property
    def group_state(self) -> SessionState:
        """The state of the training group; ``STARTING`` before its first report."""
        return self.group.state if self.group else SessionState.STARTING

    @Slot()
    def pause_or_continue(self) -> None:
        """Pause the training run or group, or let it continue."""
        if self.steers_group:
            paused = self.group_state is SessionState.PAUSED
            self.session.command(Verb.UNPAUSE if paused else Verb.PAUSE)
        elif self._controller.state is SessionState.PAUSED:
            self._controller.unpause()
        else:
            self._controller.pause()

    @Slot()
    def stop(self) -> None:
        """Make the training run or group save and end; the next queued run starts then."""
        self._stop_asked = True
        if self.steers_group:
            self.session.command(Verb.STOP)
        else:
            self._controller.stop()

    @Slot()
    def save(self) -> None:
        """Save a checkpoint of the training run or group."""
        if self.steers_group:
            self.session.command(Verb.SAVE)
        else:
            self._controller.save()

    # Starting -----------------------------------------------------------------------------------

    def obstacle(self) -> Text | None:
        """Return why no run can be resumed or branched now; None if one can."""
        if self._controller.busy:
            return RUN_BUSY
        if not self.session.busy:
            return None
        group = self.session.group
        return _GROUP_BUSY if group is None else _busy_with(group)

    def _obtain_consent(self, group: Group, then: Callable[[], None]) -> None:
        """Ask the user, if needed, to allow the code named by a group's files."""
        self._consent.obtain(group.config.choice, then, self._on_declined)

    def find_training(self) -> None:
        """Show a group and a sweep that still train in the background, if there are any."""
        folder = self._runs_dir
        self._finder.read(
            lambda _: (training_groups(folder), running_sweep(folder)), self._on_found
        )

    def _on_found(self, found: tuple[list[Group], str]) -> None:
        groups, sweep = found
        if groups and not self.session.busy:
            self.panel_wanted.emit()
            self.session.follow(groups[0])
        if sweep:
            self.sweep_found.emit(sweep)

    def start(self, run: QueuedRun, *, from_queue: bool = False) -> None:
        """Start a run, or a group if it has several seeds.

        If a run ``from_queue`` cannot start, the next one in the queue does.
        """
        if self.busy:
            self.refused.emit(_GROUP_BUSY if self.session.busy else RUN_BUSY)
            return
        # A queued run still waiting for the user's consent returns to the queue.
        self.skip("")
        self._claimed = run if from_queue else None
        start = partial(self._start, run, from_queue)
        declined = self._on_declined_in_queue if from_queue else self._on_declined
        self._consent.obtain(run.config.choice, start, declined)

    @Slot()
    def _forget_stop(self) -> None:
        """Say nothing of an earlier stop: the queue does not go on after it, but is started."""
        self._stop_asked = False

    def _what_goes_on(self, run: QueuedRun) -> Text:
        name = f"{run.config.env} · {run.about}"
        if not any(not each.problem for each in self.queue.runs):
            return Text("The queue continues with {run}, its last run.", run=name)
        return Text(
            "The queue continues with {run}. To end it, remove the waiting runs under"
            " “Group and queue”, then press Stop.",
            run=name,
        )

    def _on_declined(self, module: LocatedModule) -> None:
        self.refused.emit(nothing_started(module))

    def _on_declined_in_queue(self, module: LocatedModule) -> None:
        self.skip(Text("The code in {path} was not allowed to run.", path=module.path))

    def _start(self, run: QueuedRun, from_queue: bool) -> None:
        if from_queue and run is not self._claimed:
            return
        if self.busy:
            # Training has started since the user was asked.
            self.skip("")
            if not from_queue:
                self.refused.emit(_GROUP_BUSY if self.session.busy else RUN_BUSY)
            return
        stopped, self._stop_asked = self._stop_asked, False
        if not from_queue:
            # The queue's message about the previous run stays.
            self.beginning.emit()
        elif stopped:
            self._going_on = self._what_goes_on(run)
            self.went_on.emit(self._going_on)
        if run.checkpoint is not None:
            self.branch_wanted.emit(run.checkpoint, run.config, run.tunables)
        elif run.seeds:
            self.panel_wanted.emit()
            self.session.start(
                NewGroup(
                    runs_dir=self._runs_dir,
                    seeds=run.seeds,
                    config=run.config,
                    tunables=run.tunables,
                ),
                run.series,
                run.variant,
            )
        else:
            self._controller.begin(
                NewRun(config=run.config, tunables=run.tunables, runs_dir=self._runs_dir)
            )

    def add(self, run: QueuedRun) -> None:
        """Add a run to the queue, and show the queue."""
        self.panel_wanted.emit()
        self.queue.add(run)

    @Slot(object, object, object)
    def queue_branch(self, checkpoint: Path, config: RunConfig, tunables: Tunables) -> None:
        """Add a run that branches from a checkpoint to the queue."""
        self.add(QueuedRun(config=config, tunables=tunables, checkpoint=checkpoint))

    # The queue, after the end of a training -----------------------------------------------------

    @Slot(object)
    def skip(self, reason: Text | str) -> None:
        """Return the run about to start to the queue, and start the next one.

        Without a ``reason`` it waits again: something else was started meanwhile.
        """
        run, self._claimed = self._claimed, None
        if run is None:
            return
        self.queue.put_back(replace(run, problem=in_labels(reason)))
        if reason:
            name = f"{run.config.env} · {run.about}"
            text = Text("{run} could not start. {reason}", run=name, reason=reason)
            # After other messages about the same end.
            QTimer.singleShot(0, self, partial(self.skipped.emit, text))
            self.queue.on_ended()

    @Slot()
    def _on_began(self) -> None:
        self._claimed = None

    def _expect_start(self) -> None:
        self._goes_on = self._claimed is not None

    @Slot(object)
    def _on_state(self, state: SessionState) -> None:
        # Leaving a followed run starts nothing.
        if state is SessionState.STARTING and self._controller.busy:
            self._expect_start()
        elif state is SessionState.IDLE:
            self._withdraw(RUN_BUSY)
            if self._goes_on:
                self._goes_on = False
                self.queue.on_ended()

    @Slot(object)
    def _on_event(self, event: object) -> None:
        if self._controller.following:
            return
        # If a run requested by the user fails to start, the queue does not: its message stays.
        cancelled = isinstance(event, Failed) and event.cancelled
        began = cancelled or isinstance(event, Started)
        if self._controller.busy and began:
            self._goes_on = True
        if began:
            self._on_began()
        elif isinstance(event, Failed):
            self.skip(event.message)

    @Slot(bool)
    def _on_group_busy(self, busy: bool) -> None:
        if busy:
            self._expect_start()
            return
        self._withdraw(_GROUP_BUSY)
        if self.session.group is not None:
            self.withdrawn.emit(_busy_with(self.session.group))

    def _withdraw(self, refusal: Text) -> None:
        """Withdraw what was said while the run or group that has ended was training."""
        self.withdrawn.emit(refusal)
        if self._going_on is not None:
            self.withdrawn.emit(self._going_on)
            self._going_on = None

    @Slot()
    def _on_group_ended(self) -> None:
        record = self.session.current
        goes_on, self._goes_on = self._goes_on, False
        # The groups panel can stop a group, too.
        self._stop_asked = self._stop_asked or (record is not None and record.stopping)
        self._on_began()
        if goes_on or (record is not None and record.began):
            self.queue.on_ended()

    # Closing ------------------------------------------------------------------------------------

    @property
    def can_leave(self) -> bool:
        """Whether training can continue without the window."""
        return self.session.busy or self._controller.can_leave

    def stop_all(self) -> None:
        """Make all training save and end, and start nothing more."""
        self.queue.close()
        # Not a followed run: it trains in another process.
        if self._controller.busy:
            self._controller.stop()
        self.session.command(Verb.STOP)

    def leave_all(self) -> None:
        """Let all training continue in the background."""
        self.queue.close()
        self._claimed = None
        self._controller.leave()
        self.session.detach()

    def shutdown(self) -> None:
        """Stop reading, and wait until the queue is on disk."""
        self._finder.cancel()
        self.skip("")
        self.queue.shutdown()


def _busy_with(group: Group) -> Text:
    return Text(
        "The group {name} is training. Wait for its end, or stop it first.", name=group.name
    )
