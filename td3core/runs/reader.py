"""Reads a run from its folder, as the events that the run itself reported.

Draining a reader once opens a run; polling it follows a run in another process; several readers
compare runs.
"""

import contextlib
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from td3core.checkpoint import SUFFIX, read_header
from td3core.config import Tunables, at_step, given, with_values
from td3core.errors import RequestError
from td3core.protocol import events
from td3core.protocol.events import Event, Phase
from td3core.protocol.run_status import RunStatus
from td3core.runs import journal
from td3core.runs.directory import TABLES, RunDirectory
from td3core.runs.disk_usage import used_bytes
from td3core.runs.growing import GrowingJournal, GrowingTables, NewRows
from td3core.runs.journal import Entry
from td3core.runs.layout import by_step
from td3core.runs.listing import state_of, steps_of_last, steps_saved
from td3core.runs.liveness import Liveness
from td3core.runs.messages import from_keys
from td3core.runs.metadata import Ending
from td3core.runs.naming import name_of
from td3core.runs.status import Notice, RequestOutcome, Status
from td3core.system.files import stamp
from td3core.system.regular_files import exists, glob
from td3core.text import Text

_FIRST_STATUS_S = 5.0
"""A run that has just begun has no status yet; a run of an earlier version never has one."""
_LIST_S = 1.0
"""Seconds between two listings of the checkpoints."""
_MOST_TEXT = 5_000
"""In characters: longer messages of the journal are cut."""


class RunReader:
    """Reports the events of one run as the run itself does, a moment later.

    Only reads, and needs nothing from the run's process. Call :meth:`poll` a few times a second,
    not in the GUI thread. ``Started`` comes first, and again whenever the events after its step no
    longer hold: the run was resumed, or its tables were rewritten.
    """

    def __init__(
        self,
        run: Path,
        clock: Callable[[], float] = time.monotonic,
        tables: Sequence[str] = TABLES,
    ) -> None:
        """Open a run; only these ``tables`` of it are read.

        Raises:
            RequestError: the folder is no run.
        """
        self.directory = RunDirectory.open(run)
        self.run = self.directory.path
        self._clock, self._began_at = clock, clock()
        self._liveness = Liveness(self.run, clock)
        self._tables = GrowingTables(self.run, tables)
        self._journal = GrowingJournal(self.directory.journal_file)
        self._checkpoints = _Checkpoints(self.directory, clock)
        self._tunables = self.directory.first_tunables
        self._status: Status | None = None
        self._session, self._beat, self._warned = "", 0, 0
        self._env_steps = self._updates = 0
        self._episodes: int | None = 0
        """Number of ended episodes; None while unknown, before the first row of a branch."""
        self._wall_s, self._is_import = 0.0, False
        self._last_mean = self._best_mean = -math.inf
        self.state: RunStatus | None = None
        """State of the run; None before the first events."""
        self.behind = False
        """True if more can be read immediately."""

    @property
    def answers(self) -> tuple[RequestOutcome, ...]:
        """Outcomes of the newest requests, from any process."""
        return self._status.answers if self._status else ()

    def poll(self) -> tuple[Event, ...]:
        """Return the events since the last call.

        Raises:
            OSError, RequestError: a file cannot be read; a later call may succeed.
        """
        status = Status.read(self.run)
        alive = self._liveness.check(status)
        young = self._clock() - self._began_at < _FIRST_STATUS_S
        if self.state is None and alive and status is None and young:
            return ()
        try:
            return tuple(self._events(status, alive=alive))
        except (OSError, RequestError):
            # What it has read is lost with it: report everything again.
            self.state = None
            raise

    def drain(self, stopped: Callable[[], bool] = lambda: False) -> Iterator[Event]:
        """Yield all events so far; :meth:`poll` returns the later ones.

        ``stopped`` is polled; True ends the reading early.
        """
        while not stopped():
            status = Status.read(self.run)
            yield from self._events(status, alive=self._liveness.check(status))
            if not self.behind:
                return

    def again(self) -> events.Started:
        """Return the ``Started`` event for a follower that already knows the run up to here."""
        self._beat = -1
        return self._start(self._env_steps, anew=False)

    def _events(self, status: Status | None, *, alive: bool) -> Iterator[Event]:
        self._status = status
        session = status.session if status else ""
        # A run that has just begun writes its first status late.
        same = session == self._session or (not self._session and self.state is RunStatus.RUNNING)
        if self.state is None:
            yield self._start(self._first_step)
        elif not same and status is not None:
            yield self._start(status.began_at)
        elif alive and self.state is not RunStatus.RUNNING:
            yield self._start(self._env_steps, anew=False)
        self._session = session
        rows = self._tables.read(self._threshold)
        if rows.rewritten:
            yield self._start(self._first_step)
            rows = self._tables.read(self._threshold)
        self.behind = rows.more
        yield from self._take(rows, alive=alive)
        if status is not None:
            yield from self._new_warnings(status.warnings)
        was = self.state
        self.state = RunStatus.RUNNING if alive else state_of(self.directory)[0]
        if not alive and was is not self.state and not self.behind:
            yield from self._checkpoints.last()
            yield self._ending()
        elif self.behind:
            # Report the end after everything before it.
            self.state = was or RunStatus.RUNNING

    # Beginning ----------------------------------------------------------------------------------

    @property
    def _first_step(self) -> int:
        parent = self.directory.parent
        return parent.env_steps if parent else 0

    @property
    def _threshold(self) -> float | None:
        """The return at which the environment counts as solved, if on record."""
        if self._status is not None:
            return self._threshold_of(self._status)
        for path in (self.directory.last, self.directory.best):
            with contextlib.suppress(RequestError):
                return read_header(path).env.reward_threshold
        return None

    def _threshold_of(self, status: Status) -> float | None:
        # Earlier versions recorded the threshold that holds for the environment without arguments.
        return None if self.directory.config.choice.kwargs else status.reward_threshold

    def _start(self, env_steps: int, *, anew: bool = True) -> events.Started:
        """Return the ``Started`` event; ``anew``: read everything after it again."""
        status, repeated = self._status, max(self._env_steps - env_steps, 0)
        with contextlib.suppress(RequestError):
            # A resumed run may have more steps.
            self.directory = RunDirectory.open(self.run)
        if anew:
            self._tables.restart(env_steps)
            self._journal.restart(env_steps)
            self._env_steps, self._episodes = env_steps, self._episodes_at(env_steps)
            self._tunables = self.directory.first_tunables
            for entry in self._journal.changes:
                self._apply(entry)
        if status is None or status.session != self._session:
            self._warned = 0
        config, parent = self.directory.config, self.directory.parent
        return events.Started(
            run=self.run,
            config=config,
            tunables=self._tunables,
            env_steps=env_steps,
            device=status.device if status else config.device,
            threads=status.threads if status else config.torch_threads,
            engine=Text(status.engine if status else ""),
            reward_threshold=self._threshold_of(status) if status else None,
            repeated_steps=repeated,
            name=name_of(self.directory),
            branched_from=parent.run if parent and parent.env_steps == env_steps else "",
        )

    def _episodes_at(self, env_steps: int) -> int | None:
        """Return how many episodes had ended at a step; None without a checkpoint of it."""
        if not env_steps:
            return 0
        with contextlib.suppress(RequestError):
            return read_header(self.directory.step_checkpoint(env_steps)).counters.episodes
        return None

    # What is new --------------------------------------------------------------------------------

    def _take(self, rows: NewRows, *, alive: bool) -> Iterator[Event]:
        status = self._status
        steps, times = [self._env_steps, rows.env_steps], [rows.wall_s]
        if status is not None and status.env_steps >= status.began_at:
            steps.append(status.env_steps)
            times.append(status.wall_s)
        if not alive:
            ending = self.directory.ending()
            steps += [steps_saved(self.directory), ending.env_steps if ending else 0]
            times.append(ending.wall_s if ending else 0.0)
        self._env_steps, self._wall_s = max(steps), max(times)
        yield from self._new_entries(everything=status is None or not alive)
        self._note(rows.evaluations)
        if len(rows.training):
            self._updates = int(np.nan_to_num(rows.training[-1, 1]))
        if rows.episodes:
            if self._episodes is None:
                # Episodes are numbered from 0.
                self._episodes = int(rows.episodes.columns("episode").min())
            self._episodes += len(rows.episodes)
        beat = status.beat if status else 0
        if rows.any or beat != self._beat or self.state is None:
            self._beat = beat
            yield self._progress(rows, alive=alive)
        # After the updates that they evaluate, as a run reports them.
        yield from rows.evaluations
        yield from self._checkpoints.new()

    def _note(self, evaluations: Sequence[events.Evaluated]) -> None:
        for each in evaluations:
            mean = each.mean
            self._checkpoints.note(each.env_steps, mean)
            self._last_mean, self._best_mean = mean, max(self._best_mean, mean)

    def _new_entries(self, *, everything: bool) -> Iterator[Event]:
        entries = self._journal.read(self._env_steps, everything=everything)
        revision, updates = (self._status.revision if self._status else 0), self._updates
        # One request may have changed several settings.
        for (step, _, at, scheduled), group in itertools.groupby(entries, _same_request):
            together = list(group)
            if "event" in together[0]:
                for entry in together:
                    self._is_import |= entry["event"] == events.JournalEvent.IMPORT
                    message = from_keys(entry, _MOST_TEXT) or None
                    yield events.Noted(
                        env_steps=step, event=entry["event"], time=at, message=message
                    )
                continue
            changes = tuple(change for entry in together if (change := self._apply(entry)))
            if changes:
                yield events.Tuned(
                    env_steps=step,
                    updates=updates,
                    revision=revision,
                    tunables=self._tunables,
                    changes=changes,
                    time=at,
                    scheduled=scheduled,
                )

    def _apply(self, entry: dict[str, Any]) -> tuple[str, Any, Any] | None:
        """Apply a recorded change; return its setting, old and new value."""
        name: str = entry["field"]
        before: dict[str, Any] = {name: entry.get("old")}
        try:
            old = given(Tunables(**before), name)
            self._tunables = with_values(self._tunables, {name: entry["new"]})
        except RequestError:
            return None
        return name, old, given(self._tunables, name)

    def _progress(self, rows: NewRows, *, alive: bool) -> events.Progress:
        status, config = self._status, self.directory.config
        phase = Phase.at(self._env_steps, config.learning_starts, imported=self._is_import)
        noise = status.exploration_noise if status else self._tunables.exploration_noise
        return events.Progress(
            phase=status.phase if status and alive else phase,
            env_steps=self._env_steps,
            updates=self._updates,
            episodes=self._most_episodes,
            steps_per_s=self._steps_per_s,
            wall_s=self._wall_s,
            exploration_noise=noise,
            revision=status.revision if status else 0,
            tunables=at_step(self._tunables, self._env_steps, config.steps),
            training=rows.training,
            training_times=rows.training_times,
            ended=rows.episodes,
        )

    @property
    def _most_episodes(self) -> int:
        return max(self._episodes or 0, self._status.episodes if self._status else 0)

    @property
    def _steps_per_s(self) -> float:
        if self._status is not None:
            return self._status.steps_per_s
        own = self._env_steps - self._first_step
        return max(own, 0) / self._wall_s if self._wall_s else 0.0

    def _new_warnings(self, warnings: tuple[Notice, ...]) -> Iterator[Event]:
        for each in warnings:
            if each.number > self._warned:
                self._warned = each.number
                yield events.Warned(env_steps=each.env_steps, message=each.message)

    # The end ------------------------------------------------------------------------------------

    def _ending(self) -> Event:
        run, state = self.directory, self.state
        if state is None or state is RunStatus.INTERRUPTED:
            return events.Interrupted(run=self.run, env_steps=self._env_steps)
        # Runs of early versions have no ending.
        ending = run.ending() or Ending(stopped="finished")
        ended = events.Ended(
            run=self.run,
            stopped=ending.stopped,
            env_steps=ending.env_steps or self._env_steps,
            updates=self._updates,
            episodes=self._most_episodes,
            wall_s=ending.wall_s or self._wall_s,
            steps_per_s=ending.steps_per_s or self._steps_per_s,
            last_eval_return=_known(ending.last_eval_return, self._last_mean),
            best_eval_return=_known(ending.best_eval_return, self._best_mean),
            best_checkpoint=run.best if exists(run.best) else None,
            last_checkpoint=run.last if exists(run.last) else None,
        )
        if ending.stopped == "failed":
            saved = steps_of_last(run)
            return events.Failed(
                message=ending.message, details="", ending=ended, saved_steps=saved
            )
        return ended


def _known(recorded: float | None, found: float) -> float | None:
    if recorded is not None:
        return recorded
    return found if math.isfinite(found) else None


def _same_request(entry: Entry) -> tuple[int, bool, str, bool]:
    at = str(entry.get("time", ""))[:40]
    return entry["step"], "field" in entry, at, journal.is_scheduled(entry)


class _Checkpoints:
    """The checkpoints of a run as they appear; existing ones are not reported."""

    def __init__(self, run: RunDirectory, clock: Callable[[], float]) -> None:
        self._run, self._clock = run, clock
        self._listed_at: float | None = None
        self._steps: set[Path] = set()
        self._best, self._last = stamp(run.best), stamp(run.last)
        self._means: dict[int, float] = {}

    def note(self, env_steps: int, mean: float) -> None:
        """Remember the mean return of an evaluation for its checkpoint."""
        self._means[env_steps] = mean

    def new(self) -> Iterator[events.Saved]:
        """Yield new checkpoints, except ``last``, which is another name of one of them."""
        now = self._clock()
        if self._listed_at is not None and now - self._listed_at < _LIST_S:
            return
        steps = set(glob(self._run.checkpoints, f"step_*{SUFFIX}"))
        fresh = [] if self._listed_at is None else by_step(steps - self._steps)
        self._listed_at, self._steps = now, steps
        yield from (saved for path in fresh if (saved := self._saved(path)))
        best = stamp(self._run.best)
        if best not in (self._best, None):
            saved = self._saved(self._run.best)
            if saved:
                self._best = best
                yield saved

    def last(self) -> Iterator[events.Saved]:
        """Yield the checkpoints written at the end of the run."""
        self._listed_at = -math.inf if self._listed_at is not None else None
        yield from self.new()
        last = stamp(self._run.last)
        if last not in (self._last, None):
            saved = self._saved(self._run.last)
            if saved:
                self._last = last
                yield saved

    def _saved(self, path: Path) -> events.Saved | None:
        try:
            header = read_header(path)
        except RequestError:
            return None  # Deleted already.
        step, evaluation = header.counters.env_steps, header.evaluation
        mean = evaluation.mean if evaluation else self._means.get(step)
        size = used_bytes(self._run.path)
        return events.Saved(env_steps=step, path=path, mean_return=mean, run_bytes=size)


def ending_of(run: Path) -> events.Ended | None:
    """Return how a run ended; None if it is running, was interrupted or has failed.

    Raises:
        RequestError: the folder is no run.
    """
    last = None
    for event in RunReader(run).drain():
        last = event
    return last if isinstance(last, events.Ended) else None
