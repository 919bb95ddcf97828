"""Trains the runs of a group, several at once, each in a process of its own."""

import contextlib
import queue
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from pathlib import Path

from td3core.checkpoint import read_header
from td3core.errors import RequestError, no_process
from td3core.experiments.groups.allocation import Allocation
from td3core.experiments.groups.commands import Command, GroupInbox
from td3core.experiments.groups.group import Group
from td3core.experiments.groups.seed_status import SeedState, SeedStatus, status_on_disk
from td3core.experiments.job_process import EXIT_S
from td3core.experiments.jobs import Branch, Job, NewRun, ResumedRun
from td3core.experiments.run_process import RunProcess
from td3core.protocol.events import Event
from td3core.protocol.steering import Ask, Verb, steer
from td3core.runs.branching import changes_from
from td3core.runs.directory import RunDirectory
from td3core.runs.listing import has_reached
from td3core.runs.lock import holder
from td3core.runs.resumption import class_of_run
from td3core.system.numerics import AUTO
from td3core.text import NO_TEXT

_SAVE_S = 60.0
"""Most seconds that all runs left at the end may take to save."""
_RELEASE_S, _RELEASE_LOOK_S = 60.0, 0.2
"""Most seconds that runs of an earlier process of the group may take to save and end."""
_LOOK_S = 1.0
"""Longest wait in seconds: on some systems a signal is handled only after it."""


def _ignore(*_: object) -> None:
    pass


class GroupRunner:
    """Starts runs as slots become free, passes on commands, and keeps the status of each.

    Finished runs are left alone, interrupted ones are resumed. A run that fails does not stop the
    others.
    """

    def __init__(
        self,
        group: Group,
        allocation: Allocation,
        report: Callable[[SeedStatus, Event | None], None],
        on_log: Callable[[int, str], None] = _ignore,
        *,
        exact: bool = False,
    ) -> None:
        """``report`` gets the new status of a run and the event behind it, in one thread.

        ``on_log`` gets what a run writes to standard error, in other threads. With ``exact`` a run
        is not resumed if it would not continue bit for bit.
        """
        self._exact = exact
        self._group, self._allocation = group, allocation
        self._report, self._on_log = report, on_log
        self._inbox: queue.SimpleQueue[Command | tuple[int, Event]] = queue.SimpleQueue()
        self._requests = GroupInbox(group)
        self._told_problem = False
        self._stopping = False
        self._looked_at = 0.0
        self._processes: dict[int, RunProcess] = {}
        self.statuses: dict[int, SeedStatus] = {}
        """Statuses by seed, in the order of the group."""

    def command(self, command: Command) -> None:
        """Send a command; from any thread, and from a signal handler."""
        self._inbox.put(command)

    @property
    def stopping(self) -> bool:
        """True once :meth:`stop` was called."""
        return self._stopping

    def stop(self) -> None:
        """Ask all runs to save and end; from any thread, and from a signal handler."""
        self._stopping = True
        self.command(Command(verb=Verb.STOP))

    def run(self, *, save: bool = False, only: Collection[int] = ()) -> tuple[SeedStatus, ...]:
        """Train until every run is over; return the status of each.

        ``save`` writes the group's file first, if its settings have changed. With ``only``, runs of
        other seeds stay as they are until they are resumed. Ctrl-C kills all runs.

        Raises:
            RequestError: another process trains the group.
        """
        with self._group.locked():
            if save:
                self._group.save()
            # Drop requests that came too late for the previous process.
            self._requests.clear()
            asked = self._await_earlier_runs()
            self._read_statuses(only)
            try:
                for command in asked:
                    self._obey(command)
                self._start_next()
                while self._processes or self._any(SeedState.HELD):
                    self._handle_next()
                    self._start_next()
            except KeyboardInterrupt:
                self._kill_all()
                raise
            finally:
                self._end_processes()
        return tuple(self.statuses.values())

    def _await_earlier_runs(self) -> list[Command]:
        """Wait for runs of a killed runner, which still save. A command to stop all ends the wait.

        Returns:
            The commands received meanwhile.
        """
        end = time.monotonic() + _RELEASE_S
        runs = [found.run for found in self._group.runs().values()]
        asked: list[Command] = []
        while any(map(holder, runs)) and time.monotonic() < end:
            asked += self._requests.take_commands()
            with contextlib.suppress(queue.Empty):
                message = self._inbox.get(timeout=_RELEASE_LOOK_S)
                # No run has a process yet that could send an event.
                assert isinstance(message, Command)
                asked.append(message)
            if any(command in _END_ALL for command in asked):
                break
        return asked

    def _read_statuses(self, only: Collection[int]) -> None:
        found, steps = self._group.runs(), self._group.config.steps
        for seed in self._group.seeds:
            status = status_on_disk(seed, steps, found.get(seed))
            finished = status.state is SeedState.FINISHED and status.env_steps >= steps
            if status.run is not None and not finished:
                # It may have been given more steps by itself.
                run = RunDirectory.open(status.run)
                finished = has_reached(run, self._group.config.last_step)
            if finished:
                status = replace(status, state=SeedState.FINISHED, message=NO_TEXT)
            elif only and seed not in only:
                over = status.state.is_over
                status = replace(status, state=status.state if over else SeedState.STOPPED)
            else:
                # A run that another process trains is refused by its lock.
                status = replace(status, state=SeedState.WAITING, message=NO_TEXT, steps=steps)
            self._show(status)

    def _any(self, state: SeedState) -> bool:
        return any(status.state is state for status in self.statuses.values())

    def _show(self, status: SeedStatus, event: Event | None = None) -> None:
        self.statuses[status.seed] = status
        self._report(status, event)

    def _start_next(self) -> None:
        """Start waiting runs while slots are free."""
        for status in list(self.statuses.values()):
            if len(self._processes) >= self._allocation.jobs:
                return
            if status.state is SeedState.WAITING:
                self._start(status)

    def _start(self, status: SeedStatus) -> None:
        seed = status.seed
        try:
            job = self.job_of(status)
        except RequestError as problem:
            self._show(replace(status, state=SeedState.FAILED, message=problem.message))
            return
        try:
            self._processes[seed] = RunProcess(
                job,
                lambda event: self._inbox.put((seed, event)),
                partial(self._on_log, seed),
            )
        except OSError as problem:
            self._show(replace(status, state=SeedState.FAILED, message=no_process(problem)))
        else:
            self._show(replace(status, state=SeedState.STARTING))

    def job_of(self, status: SeedStatus) -> Job:
        """Return the job of a seed's process: start its run, branch, or resume it.

        Raises:
            RequestError: its run cannot be read; started again, it would be trained twice.
        """
        group = self._group
        if status.run is not None:
            return ResumedRun(
                run=status.run,
                steps=group.config.steps,
                numerics=_class_of(status.run),
                exact=self._exact,
            )
        if (unreadable := group.unreadable_runs().get(status.seed)) is not None:
            raise RequestError(unreadable.message)
        config = group.config_of(status.seed)
        if group.checkpoint is not None:
            header = read_header(group.checkpoint)
            return Branch(
                checkpoint=group.checkpoint,
                values=changes_from(header, config, group.tunables),
                runs_dir=group.runs_dir,
                numerics=config.numerics,
                group=group.name,
            )
        return NewRun(
            config=config,
            tunables=group.tunables,
            runs_dir=group.runs_dir,
            group=group.name,
        )

    def _handle_next(self) -> None:
        if time.monotonic() - self._looked_at >= _LOOK_S:
            self._looked_at = time.monotonic()
            self._obey_requests()
        try:
            message = self._inbox.get(timeout=_LOOK_S)
        except queue.Empty:
            return
        if isinstance(message, Command):
            self._obey(message)
        else:
            self._take(*message)

    def _obey_requests(self) -> None:
        for command in self._requests.take_commands():
            self._obey(command)
        problem = self._requests.problem
        if problem is not None and not self._told_problem:
            self._told_problem = True
            self._on_log(self._group.seeds[0], str(problem))

    def _take(self, seed: int, event: Event) -> None:
        self._show(self.statuses[seed].after(event), event)
        if self.statuses[seed].state.is_over:
            # After its last event the process only has to exit; then its memory is free.
            self._processes.pop(seed).join(EXIT_S)

    def _obey(self, command: Command) -> None:
        for seed in self._group.seeds if command.seed is None else (command.seed,):
            status, process = self.statuses.get(seed), self._processes.get(seed)
            if status is None:
                continue
            if status.state.is_over:
                if command == Command(verb=Verb.RESUME, seed=seed) and status.state.is_resumable:
                    self._show(replace(status, state=SeedState.WAITING, message=NO_TEXT))
            elif command.verb is Verb.RESUME:
                continue
            elif process is None:
                state = _WITHOUT_PROCESS.get(command.verb, status.state)
                self._show(replace(status, state=state))
            elif command.verb is Verb.KILL:
                process.kill()
            else:
                steer(process, Ask(command.verb))
                if command.verb is Verb.STOP:
                    self._show(replace(status, state=SeedState.SAVING))

    def _kill_all(self) -> None:
        for seed, process in self._processes.items():
            process.kill()
            self._show(replace(self.statuses[seed], state=SeedState.INTERRUPTED))

    def _end_processes(self) -> None:
        """Leave no process behind, in any case."""
        for process in self._processes.values():
            process.stop()
        end = time.monotonic() + _SAVE_S
        for process in self._processes.values():
            process.join(max(end - time.monotonic(), 0.0))
        self._processes.clear()


_END_ALL = (Command(verb=Verb.STOP), Command(verb=Verb.KILL))

_WITHOUT_PROCESS = {
    Verb.PAUSE: SeedState.HELD,
    Verb.UNPAUSE: SeedState.WAITING,
    Verb.STOP: SeedState.STOPPED,
    Verb.KILL: SeedState.STOPPED,
}
"""New state of a waiting run after a command; it has nothing to save."""


def _class_of(run: Path) -> str:
    """Return the numerics class that a run needs; its own process refuses an unreadable run."""
    try:
        return class_of_run(RunDirectory.open(run))
    except RequestError:
        return AUTO
