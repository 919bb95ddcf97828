"""Conducts a sweep: asks for trials, trains their runs, reports their evaluations, prunes.

The study and the runs' folders hold the complete state, so that the next process continues where
one was killed.
"""

import contextlib
import time
from collections.abc import Callable
from dataclasses import replace

from td3core.config import all_given, check_together
from td3core.config.settings import names_set_by
from td3core.errors import RequestError, message_of
from td3core.experiments.groups.seed_status import SeedState
from td3core.experiments.sweeps.executor import PATIENCE_S, Executor, RunEnd
from td3core.experiments.sweeps.folder import SweepFolder, SweepState
from td3core.experiments.sweeps.spec import SweepSpec
from td3core.experiments.sweeps.state import state_of
from td3core.experiments.sweeps.study import SweepStudy, TrialRecord
from td3core.experiments.sweeps.trial import LiveTrial, TrialRun
from td3core.protocol.control import Control
from td3core.protocol.trial_status import TrialStatus
from td3core.runs import lock
from td3core.runs.directory import RunDirectory
from td3core.runs.listing import has_reached
from td3core.runs.metadata import read_label, write_label
from td3core.text import NO_TEXT, Text

_POLL_S = 0.25
_STATE_EVERY_S = 1.0
_TIMES_EVERY_S = 10.0
"""How often the state is written while nothing but its times changes."""
_MOST_LOSSES = 3
_GIVE_UP_AFTER = 5
_SAVE_S = 60.0
"""Seconds that stopped runs may take to save; those that hang are killed after that."""


class SweepRunner:
    """Runs one sweep to its end, or until it is stopped."""

    def __init__(
        self,
        spec: SweepSpec,
        folder: SweepFolder,
        study: SweepStudy,
        executor: Executor,
        control: Control,
        report: Callable[[SweepState], None] = lambda _: None,
    ) -> None:
        self._spec, self._folder, self._study = spec, folder, study
        self._executor, self._control, self._report = executor, control, report
        self._live: dict[int, LiveTrial] = {}
        self._records: list[TrialRecord] = []
        self._message = NO_TEXT
        self._began = time.monotonic()
        self._used_before = study.seconds_used()
        self._ended_before = 0
        self._shown_at = self._written_at = 0.0
        self._written: SweepState | None = None
        """The state last written, without its times."""

    def run(self) -> SweepState:
        """Conduct the sweep; return its state at the end. Ctrl-C kills all runs.

        Raises:
            RequestError: the study's file cannot be used any more; the runs are saved.
        """
        try:
            self._pick_up()
            while True:
                self._start_what_fits()
                if not self._live:
                    break
                for end in self._executor.wait(_POLL_S):
                    self._take(end)
                self._follow()
                self._conclude()
                if time.monotonic() - self._shown_at >= _STATE_EVERY_S:
                    self._show()
                if self._must_stop():
                    self._stop_all()
                    break
        except KeyboardInterrupt:
            self._executor.kill()
            raise
        finally:
            self._executor.close()
            # A failure here must neither fail the sweep nor hide why it failed.
            with contextlib.suppress(RequestError):
                self._study.use_seconds(self._seconds)
        if self._all_failed():
            self._give_up()
        return self._show(final=True)

    @property
    def failed(self) -> bool:
        """True if the sweep was given up because every trial failed."""
        return self._all_failed()

    @property
    def _ended_here(self) -> int:
        """The number of trials that ended in this process."""
        ended = sum(each.state is not TrialStatus.RUNNING for each in self._records)
        return ended - self._ended_before

    @property
    def _seconds(self) -> float:
        return self._used_before + time.monotonic() - self._began

    # Starting -----------------------------------------------------------------------------------

    def _pick_up(self) -> None:
        """Continue the trials that were running when the sweep was stopped or killed."""
        self._records = self._study.trials()
        self._ended_before = self._ended_here
        for record in self._records:
            if record.state is TrialStatus.RUNNING:
                self._begin(self._study.settings_of(record))

    def _begin(self, record: TrialRecord, *, new: bool = False) -> None:
        """Begin a trial, with the runs it has.

        ``new``: the study has just drawn it. If all its runs are finished nevertheless, the record
        of the trials was lost: then it is not judged again, by fewer others than the first time.
        """
        runs = [TrialRun(seed=seed) for seed in self._spec.seeds]
        trial = LiveTrial(
            number=record.number,
            settings=record.settings,
            runs=runs,
            began=time.monotonic(),
            pruned_at=record.pruned_at,
        )
        self._live[record.number] = trial
        try:
            config, tunables = self._spec.run_settings(record.settings, runs[0].seed)
            check_together(config, tunables)
            for run in runs:
                run.last_step = config.last_step
                run.learning_starts = config.learning_starts
                path = self._folder.run_path(trial.number, run.seed)
                if path.is_dir():
                    found = RunDirectory.open(path)
                    self._require_of(record, found)
                    run.path = path
                    if has_reached(found, config.last_step):
                        run.state = SeedState.FINISHED
        except RequestError as problem:
            trial.failure = problem.message
            return
        self._read(trial)
        # A kill may have come before the last evaluations were judged.
        self._judge(trial, may_prune=not (new and trial.finished))

    def _require_of(self, record: TrialRecord, run: RunDirectory) -> None:
        """Check that a run on disk has the settings of its trial.

        It has others if the study was lost and the sampler now draws in another order, because
        several trials ran at once.

        Raises:
            RequestError: it has not.
        """
        wanted = all_given(*self._spec.run_settings(record.settings, run.config.seed))
        found = all_given(run.config, run.first_tunables)
        for name in sorted(names_set_by(record.settings)):
            if found[name] != wanted[name]:
                raise RequestError(
                    "the run {run} has {setting} {found}, its trial {wanted}; the record of the"
                    " trials was lost",
                    run=run.path.name,
                    setting=name,
                    found=str(found[name]),
                    wanted=str(wanted[name]),
                )

    def _start_what_fits(self) -> None:
        """Start waiting runs, and begin new trials, while slots are free."""
        while self._free() > 0 and not self._control.stopping:
            waiting = [(trial, run) for trial in self._live.values() for run in trial.waiting]
            if waiting:
                self._start(*waiting[0])
            elif not self._ask():
                break
        self._conclude()

    def _free(self) -> int:
        return self._executor.slots - sum(len(trial.active) for trial in self._live.values())

    def _ask(self) -> bool:
        """Begin another trial; return False if there is none to begin."""
        if len(self._records) >= self._spec.trials or self._over():
            return False
        record = self._study.ask()
        self._records.append(record)
        self._begin(record, new=True)
        self._conclude()
        return not self._over()

    def _start(self, trial: LiveTrial, run: TrialRun) -> None:
        note = f"Trial {trial.number} of the sweep {self._spec.name}."
        try:
            config, tunables = self._spec.run_settings(trial.settings, run.seed)
            config = replace(config, numerics=self._executor.numerics)
            run.path = self._folder.make_run(trial.number, run.seed, config, tunables, note)
            run.held_by = lock.holder(run.path)
            self._executor.start(run.path, self._spec.steps)
        except (RequestError, OSError) as problem:
            trial.failure = message_of(problem)
            self._stop(trial)
            return
        run.state = SeedState.TRAINING

    # Following ----------------------------------------------------------------------------------

    def _take(self, end: RunEnd) -> None:
        """Note that a worker has ended."""
        trial, run = next(
            (trial, run)
            for trial in self._live.values()
            for run in trial.runs
            if run.path == end.run
        )
        run.state = SeedState.WAITING
        if end.outcome is None:
            run.losses += 1
            if run.losses >= _MOST_LOSSES and not trial.closing:
                trial.failure = Text.counted(
                    "{loss}, {n} time in a row",
                    "{loss}, {n} times in a row",
                    n=run.losses,
                    loss=end.lost,
                )
        elif end.outcome.stopped == "locked":
            # It is not lost: once released, it continues with the sweep.
            self._message = Text(
                "{reason} The sweep was stopped; continue it once that process has ended.",
                reason=end.outcome.message,
            )
            self._control.stop()
        elif end.outcome.stopped == "failed":
            trial.failure = trial.failure or end.outcome.message
        elif end.outcome.stopped == "finished":
            run.state = SeedState.FINISHED
            run.losses = 0
        elif not trial.closing and not self._control.stopping:
            # Stopped by someone else, such as the user in the window.
            trial.failure = Text("it was stopped")
        if trial.closing:
            self._stop(trial)

    def _follow(self) -> None:
        """Report new evaluations, and stop the trials that are pruned because of them."""
        for trial in self._live.values():
            if self._read(trial):
                self._judge(trial)

    def _read(self, trial: LiveTrial) -> bool:
        """Read the evaluations of its runs; return whether there may be new ones.

        A run that cannot be read any more fails its trial, not the sweep.
        """
        new = False
        try:
            for run in trial.runs:
                new |= run.read()
        except RequestError as problem:
            trial.failure = trial.failure or problem.message
            self._stop(trial)
        return new

    def _judge(self, trial: LiveTrial, *, may_prune: bool = True) -> None:
        if trial.closing:
            return
        for step, value in trial.new_values(self._spec.objective):
            trial.reported = step
            # After the last evaluation of every run, pruning would save nothing.
            if step >= self._spec.steps and trial.evaluated:
                break
            if self._study.report(trial.number, step, value, may_prune=may_prune):
                trial.pruned_at = step
                self._stop(trial)
                break

    def _stop(self, trial: LiveTrial) -> None:
        for run in trial.active:
            if run.path is not None:
                self._executor.stop(run.path)

    def _conclude(self) -> None:
        """Record finished trials."""
        for trial in [each for each in self._live.values() if not each.active]:
            self._read(trial)
            if trial.failure:
                self._study.fail(trial.number, trial.failure, trial.env_steps)
            elif trial.pruned_at is not None:
                self._label_pruned(trial)
                self._study.prune(trial.number, trial.env_steps)
            elif trial.finished:
                self._complete(trial)
            else:
                continue
            del self._live[trial.number]
            self._records = self._study.trials()
            self._study.use_seconds(self._seconds)

    def _complete(self, trial: LiveTrial) -> None:
        value = trial.value(self._spec.objective)
        if value is None:
            reason = Text("a run has no evaluation, or one that is not finite")
            self._study.fail(trial.number, reason, trial.env_steps)
        else:
            self._study.complete(trial.number, value)

    def _label_pruned(self, trial: LiveTrial) -> None:
        for run in trial.runs:
            if run.path is None:
                continue
            # A missing note must not fail the sweep.
            with contextlib.suppress(OSError):
                label = read_label(run.path)
                note = f"{label.note.split(' Pruned at')[0]} Pruned at step {trial.pruned_at:,}."
                write_label(run.path, replace(label, note=note))

    # Ending -------------------------------------------------------------------------------------

    def _over(self) -> bool:
        """Return whether no further trial may begin."""
        if self._all_failed():
            return True
        limit_s = self._spec.time_limit_min * 60
        if limit_s and self._seconds >= limit_s:
            self._message = Text(
                "The time limit of {minutes:g} min was reached; with a greater time_limit_min the"
                " sweep continues.",
                minutes=self._spec.time_limit_min,
            )
            return True
        return False

    def _give_up(self) -> None:
        failed = [each for each in self._records if each.state is TrialStatus.FAILED]
        self._message = Text.counted(
            "The first trial failed: {reason}",
            "All of the first {n} trials failed; the last one: {reason}",
            n=len(failed),
            reason=failed[-1].reason,
        )

    def _all_failed(self) -> bool:
        # Continued after its first trials failed, a sweep tries as many others before it gives up.
        enough = min(_GIVE_UP_AFTER, self._spec.trials - self._ended_before)
        useless = (TrialStatus.RUNNING, TrialStatus.FAILED)
        return self._ended_here >= enough and all(each.state in useless for each in self._records)

    def _must_stop(self) -> bool:
        if self._folder.take_stop():
            self._control.stop()
        return self._control.stopping or self._over()

    def _stop_all(self) -> None:
        """Stop all runs; they keep their state, and continue when the sweep does."""
        self._control.stop()
        for trial in self._live.values():
            self._stop(trial)
        until = time.monotonic() + _SAVE_S
        while any(trial.active for trial in self._live.values()) and time.monotonic() < until:
            for end in self._executor.wait(_POLL_S):
                self._take(end)
        self._conclude()

    # Showing ------------------------------------------------------------------------------------

    def _show(self, *, final: bool = False) -> SweepState:
        state = state_of(
            self._spec,
            self._folder,
            self._records,
            self._live,
            seconds=self._seconds,
            running=not final,
            message=self._message or self._awaited(),
            rate=self._rate(),
        )
        self._shown_at = time.monotonic()
        # The state is only for display; the study has everything.
        with contextlib.suppress(OSError):
            self._write(state, final=final)
        self._report(state)
        return state

    def _awaited(self) -> Text:
        """Return the run that a worker waits for because another process holds it, in words."""
        for run in (each for trial in self._live.values() for each in trial.active):
            if run.path is None or run.held_by is None:
                continue
            if lock.holder(run.path) == run.held_by:
                return Text(
                    "{run} is locked by {who}; the sweep waits for it, {seconds:.0f} s at most.",
                    run=run.path.name,
                    who=run.held_by.in_words(),
                    seconds=PATIENCE_S,
                )
            run.held_by = None
        return NO_TEXT

    def _write(self, state: SweepState, *, final: bool) -> None:
        now, timeless = time.monotonic(), replace(state, seconds=0.0, time_left_s=None)
        if final or timeless != self._written or now - self._written_at >= _TIMES_EVERY_S:
            self._folder.write_state(state, durable=final)
            self._written, self._written_at = timeless, now

    def _rate(self) -> float:
        """Return the number of trials concluded per second, in this process."""
        return self._ended_here / max(time.monotonic() - self._began, 1e-9)
