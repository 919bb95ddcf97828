"""The training loop: one run from its first to its last step."""

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any

from td3core.algorithm.agent import Algorithm
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.buffer.sampler import Sampler
from td3core.checkpoint import Checkpoint
from td3core.envs.info import EnvInfo
from td3core.envs.vector import VectorEnv
from td3core.errors import RequestError, RunError
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Failed, JournalEvent, Phase, Started, Warned
from td3core.protocol.listeners import IDLE_S, Listeners
from td3core.randomness import Purpose, generator
from td3core.runs.directory import RunDirectory
from td3core.runs.layout import REPLAY, run_of
from td3core.runs.naming import name_of
from td3core.runs.resumption import ResumePoint
from td3core.text import NO_TEXT, Text
from td3core.training.checkpointer import Checkpointer, Kind
from td3core.training.collector import Collector
from td3core.training.divergence import DivergedError, require_finite_metrics
from td3core.training.evaluation_record import EvaluationRecord
from td3core.training.evaluator import EvaluatedAgent, Evaluator
from td3core.training.health import HEALTH_STEPS, measure
from td3core.training.live_settings import LiveSettings, Schedule
from td3core.training.recorder import Recorder
from td3core.training.run_clock import RunClock
from td3core.training.run_state import RunState
from td3core.training.tracing import Tracing

log = logging.getLogger(__name__)

LOG_STEPS = 50
"""Training statistics are averaged over this many environment steps into one row."""

REPORT_S = 0.1
"""Seconds between two Progress events."""

FOLDER_S = 1.0
"""Seconds between checks that the folder of a paused run still exists."""

UNMARKED = Text(
    "The replay buffer is of an earlier version, which did not store where episodes were truncated:"
    " until these transitions are overwritten, n-step returns run on into an episode that begins"
    " with the very observation with which the one before it was truncated."
)


def _refilled(saved: Checkpoint, reason: str | Text, until: int) -> Text:
    """Return the warning that the replay buffer is missing, and how it is filled."""
    if saved.header.origin is not None:
        return Text(
            "The replay buffer could not be restored: {reason}. Until step {step} the agent fills"
            " it with its own noisy actions, without updates.",
            reason=reason,
            step=until,
        )
    return Text(
        "The replay buffer could not be restored: {reason}. It is filled again until step {step},"
        " without updates.",
        reason=reason,
        step=until,
    )


def _lacking(saved: Checkpoint) -> tuple[Text, ...]:
    """Return notes on data missing from an imported file; for the first start after the import."""
    return () if saved.header.origin is None else saved.header.origin.notes


@contextmanager
def _logged(what: str) -> Iterator[None]:
    """Log an error and continue: the run has already failed, and must report the first failure."""
    try:
        yield
    except Exception:
        log.exception("after the run had failed, %s", what)


class Trainer:
    """Owns a run's agent, buffer and environments while it trains.

    One turn of the loop steps all ``num_envs`` environments once and does the updates of as many
    steps. Anything due at a certain step (an evaluation, a checkpoint, the end) happens at the end
    of the turn that reaches the step.
    """

    def __init__(
        self,
        directory: RunDirectory,
        agent: Algorithm,
        control: Control,
        listeners: Listeners,
        info: EnvInfo,
        buffer: ReplayBuffer,
        envs: VectorEnv,
        schedule: Schedule,
        *,
        repeated_steps: int = 0,
        numerics: Mapping[str, str],
        engine: Text,
    ) -> None:
        """``numerics``: the record for checkpoints; ``engine``: its name as shown to the user."""
        self.directory, self.config = directory, directory.config
        self._agent, self._control = agent, control
        self._listeners, report = listeners, listeners.report
        self._report = report
        self._info, self._num_envs, self._buffer = info, len(envs), buffer
        self._collector = Collector(self.config, info, envs, buffer, agent)
        source = generator(self.config.seed, Purpose.REPLAY)
        self._sampler = Sampler(buffer, source, self._collector.normaliser, stride=len(envs))
        self._clock = RunClock(0)
        self._recorder = Recorder(directory, report)
        exploration = self._collector.exploration
        self._live = LiveSettings(directory, agent, exploration, self._recorder, schedule)
        self._checkpointer = Checkpointer(directory, buffer, self._recorder)
        self._evaluator = Evaluator(self.config, self._on_process_lost)
        parts = agent, self._collector, self._sampler, buffer
        self._state = RunState(self.config, info, *parts, self._live, self._clock, numerics)
        self._tracing = Tracing(agent, self.config, info.sizes, report, self._wait_within_turn)
        self._paused = False
        self._engine = engine
        self._evaluations = EvaluationRecord(
            directory, self._recorder, self._checkpointer, lambda: self._state.wall_s
        )
        self._repeated_steps = repeated_steps
        self._branched_from = ""
        self._deviations: list[Text] = []
        self._reported_at = 0.0
        self._warned_of_unmarked = False

    @property
    def env_steps(self) -> int:
        """Environment steps taken so far."""
        return self._state.env_steps

    def resume_from(
        self, point: ResumePoint, deviations: Sequence[Text] = (), *, exact: bool = False
    ) -> None:
        """Continue where a checkpoint left off, in the same run or in a branch.

        ``deviations``: reasons why it will differ from a run that was never interrupted.

        Raises:
            RequestError: it will differ, and ``exact`` was requested.
        """
        saved, config = point.saved, self.config
        # A branch has its own clock, as it has its own tables.
        resumed = point.origin is JournalEvent.RESUME
        before = max(saved.header.wall_s, self.directory.wall_s_on_record()) if resumed else 0.0
        self._deviations.extend((*point.deviations, *deviations, *_lacking(saved)))
        self._state.restore(saved, wall_s=before)
        origin = None if resumed else run_of(point.path.resolve())
        missing = self._checkpointer.load_buffer(saved, origin and origin / REPLAY)
        if missing:
            until = self.env_steps + min(config.learning_starts, config.buffer_size)
            self._state.no_updates_until = until
            self._deviations.append(_refilled(saved, missing, until))
        lost = []
        if point.reseeded:
            # Episodes of another seed cannot be repeated, and should not be.
            self._collector.give_up_episodes(self.env_steps)
        else:
            lost = self._collector.return_to_episodes(saved.tensors["episodes.obs"])
        if lost and not missing:
            self._deviations.append(
                Text(
                    "The environment did not return to its state in episode {episode}; that episode"
                    " starts again. It may depend on more than its seed and the actions.",
                    episode=lost[0],
                )
            )
        if exact and self._deviations:
            reasons = Text.joined(self._deviations)
            raise RequestError("The run cannot be resumed exactly: {reasons}", reasons=reasons)
        drawn: dict[str, Any] = {"seed": config.seed} if point.reseeded else {}
        self._recorder.log_entry(point.origin, self.env_steps, **drawn)
        for deviation in self._deviations:
            self._recorder.log_entry(JournalEvent.INEXACT, self.env_steps, deviation)
        parent = self.directory.parent
        if parent is not None and not resumed:
            self._branched_from = parent.run
        own = parent is None or parent.env_steps < self.env_steps
        if own and self._reached(config.checkpoint_interval):
            self._checkpointer.complete_step(point)
        # A branch needs its own checkpoint before it can be resumed.
        if not self.directory.last.exists():
            self._save(Kind.RENEWAL)

    def run(self) -> Ended:
        """Train until the last step, with all evaluations, or until a stop; then save."""
        self._report_start()
        for agent in self._evaluations.restore(self.env_steps):
            self._submit(agent)
        self._collector.begin_episodes(self.env_steps)
        stopped = self._take_all_steps()
        self._recorder.over = True
        # Updates that are ahead of their step, which failed before, are no row's yet.
        if not self._collector.updated:
            self._state.keep_pending_metrics()
            self._log_training()
        if not stopped:
            if self.config.eval_interval and self._evaluations.submitted_at != self.env_steps:
                self._evaluate()
            self._finish_evaluations()
            # A run with pending evaluations can be resumed to complete them.
            stopped = len(self._evaluator) > 0
        # An agent that has taken no step is not worth a file.
        if self.env_steps and not self._save(Kind.LAST):
            raise RunError(
                "The run is over, but its agent could not be saved as {path}: {reason}.",
                path=self.directory.last,
                reason=self._recorder.last_problem,
            )
        self._evaluations.require_saved()
        self._send_progress(self._state.phase)
        if self._checkpointer.forget_lost():
            self._save(Kind.LAST)
        return self.ending("user" if stopped else "finished")

    def _take_all_steps(self) -> bool:
        """Take the remaining steps; return whether a stop was requested before the last."""
        control, config, state = self._control, self.config, self._state
        while state.env_steps < config.steps:
            if control.boundary_hook is not None:
                control.boundary_hook(state.env_steps)
            if self._live.due(state.env_steps):
                self._live.follow(state.env_steps)
                self._warn_of_unmarked()
            while control.has_requests:
                if self._handle_requests():
                    return True
            self._live.advance(state.env_steps + self._num_envs)
            exploring, after = state.exploring, state.env_steps + self._num_envs
            learning = exploring and after > state.no_updates_until
            # Updates release the GIL while they compute; bare steps do not.
            updated = self._take_step(exploring=exploring, learning=learning)
            if not updated:
                control.yield_gil()
            self._do_due_work(learning)
            if updated and self._paused:
                # It was a single step of a paused run.
                control.look_again()
        return False

    # One turn -----------------------------------------------------------------------------------

    def _take_step(self, *, exploring: bool, learning: bool) -> bool:
        """Take one step in every environment and do its updates; return whether there were any.

        With ``update_while_stepping`` the updates run while the environments take the step, and
        draw from the transitions before it.
        """
        collector, after = self._collector, self.env_steps + self._num_envs
        collector.start(self.env_steps, exploring=exploring)
        # The run may have resumed in a step that failed after its updates.
        due = learning and not collector.updated
        # Without a transition there is nothing to draw from.
        if not (self.config.update_while_stepping and self._buffer.stored):
            self._finish_step()
            return due and self._learn(after)
        updated = due and self._learn(after)
        collector.updated = True
        self._finish_step()
        return updated

    def _finish_step(self) -> None:
        ended = self._collector.finish(self.env_steps)
        self._state.env_steps += self._num_envs
        for episode in ended:
            self._recorder.add_episode(episode, self._state.wall_s)
        for message in self._collector.info.take_problems() if ended else ():
            self._report(Warned(env_steps=self.env_steps, message=message))
        if ended:
            self._state.episodes += len(ended)
            self._collector.begin_episodes(self.env_steps)

    def _learn(self, now: int) -> bool:
        """Do the updates of the turn that takes the run to step ``now``.

        Returns:
            Whether there were any.
        """
        self._clock.mark_learning(now - self._num_envs)
        tunables = self._agent.tunables
        every = tunables.update_interval
        turns = now // every - (now - self._num_envs) // every
        updates = turns * tunables.updates_per_step
        for draws in self._sampler.draw(updates, tunables):
            self._tracing.update(draws, now)
        self._state.sampled += updates * tunables.batch_size
        if updates:
            self._clock.mark_update(now)
        return updates > 0

    def _do_due_work(self, learning: bool) -> None:
        config = self.config
        if self._reached(LOG_STEPS):
            self._log_training()
        # Before saving checkpoints: an agent's pending evaluation must be on disk first.
        if learning and self._reached(config.eval_interval):
            self._evaluate()
        if self._reached(config.checkpoint_interval):
            self._save(Kind.STEP)
        if self._checkpointer.due:
            self._save(Kind.RENEWAL)
        if time.perf_counter() - self._reported_at >= REPORT_S:
            self._collect_evaluations()
            # Between single updates the run counts as paused.
            single = learning and self._tracing.single
            self._send_progress(Phase.PAUSED if single else self._state.phase)
            if self._checkpointer.forget_lost():
                self._save(Kind.RENEWAL)

    def _reached(self, interval: int) -> bool:
        """Return whether the last turn reached or passed a multiple of ``interval``."""
        return interval > 0 and self.env_steps % interval < self._num_envs

    def _log_training(self) -> None:
        metrics = self._agent.take_metrics()
        if metrics:
            # Before measuring: networks that are not finite would raise other errors there.
            require_finite_metrics(metrics, self.env_steps)
            if self._is_health_due():
                metrics |= measure(self._agent, self.config, self._buffer, self._sampler)
                metrics["replay_ratio"] = self._state.sampled / self.env_steps
                require_finite_metrics(metrics, self.env_steps)
            self._recorder.add_training(
                self.env_steps, self._agent.updates, metrics, self._state.wall_s
            )

    def _is_health_due(self) -> bool:
        """Return whether the row is the first with updates after a multiple of ``HEALTH_STEPS``.

        Derived from the step, so that a resumed run measures at the same steps.
        """
        every, now = self._agent.tunables.update_interval, self.env_steps
        row_before = (now - self._num_envs) // LOG_STEPS * LOG_STEPS
        updated_at = row_before // every * every
        measured_by = -(-updated_at // LOG_STEPS) * LOG_STEPS
        return self._reached(LOG_STEPS) and now // HEALTH_STEPS > measured_by // HEALTH_STEPS

    # Evaluations --------------------------------------------------------------------------------

    def _evaluate(self) -> None:
        with self._clock.stopped():
            agent = self._capture()
            self._checkpointer.save(Kind.PENDING, agent)
        self._submit(agent)

    def _submit(self, agent: Checkpoint) -> None:
        self._evaluations.submitted_at = agent.header.counters.env_steps
        self._evaluator.submit(agent)
        if self._evaluator.must_wait:
            self._finish_evaluations()

    def _collect_evaluations(self) -> None:
        self._record_evaluations(self._evaluator.finished())
        if not self._evaluator.in_background:
            self._finish_evaluations()

    def _finish_evaluations(self) -> None:
        if len(self._evaluator):
            with self._clock.stopped():
                self._send_progress(Phase.EVALUATING)
                self._record_evaluations(self._evaluator.wait(self._keep_waiting))

    def _keep_waiting(self) -> bool:
        """Report while an evaluation is awaited; return False once a stop is requested."""
        if time.perf_counter() - self._reported_at >= REPORT_S:
            self._send_progress(Phase.EVALUATING)
        self._control.yield_gil()
        return not self._control.stopping

    def _record_evaluations(self, results: Iterable[EvaluatedAgent]) -> None:
        for agent, result in results:
            with self._clock.stopped():
                self._evaluations.add(agent, result)

    def _on_process_lost(self, reason: Text) -> None:
        message = Text(
            "Training now waits for each evaluation; the evaluation process was lost: {reason}.",
            reason=reason,
        )
        self._report(Warned(env_steps=self._evaluations.submitted_at, message=message))

    # Requests, checkpoints, reports -------------------------------------------------------------

    def _handle_requests(self) -> bool:
        """Handle all requests since the last step; return True if the run must stop."""
        while True:
            requests = self._control.take_requests()
            if requests.values is not None:
                self._live.take(requests.values, requests.revision, self.env_steps, requests.named)
                self._warn_of_unmarked()
            if requests.save:
                self._recorder.log_entry(JournalEvent.SAVE, self.env_steps)
                self._save(Kind.REQUESTED)
            if requests.stop:
                self._recorder.log_entry(JournalEvent.STOP, self.env_steps)
                return True
            step = requests.step and requests.pause and self._paused
            self._tracing.watch(wanted=requests.trace, single=step)
            if not requests.pause:
                self._paused = False
                return False
            if step:
                return False
            # Saving or changing settings wakes a paused run, but does not start a new pause.
            if not self._paused:
                self._recorder.log_entry(JournalEvent.PAUSE, self.env_steps)
            self._paused = True
            self._send_progress(Phase.PAUSED)
            self._wait()

    def _wait(self) -> None:
        """Wait for a request while the run is paused."""
        with self._clock.stopped():
            # Requests from other processes arrive as files: poll for them.
            looked_at = time.perf_counter()
            while not self._control.wait(IDLE_S):
                if time.perf_counter() - looked_at >= FOLDER_S:
                    # Recreate a deleted folder: requests arrive in it.
                    self._recorder.require_folder(self.env_steps)
                    looked_at = time.perf_counter()
                self._record_evaluations(self._evaluator.finished())
                self._listeners.idle()

    def _wait_within_turn(self) -> bool:
        """Wait after a single update that is not the last of its turn.

        Returns:
            Whether another update is wanted. Other requests are handled at the end of the turn.
        """
        self._wait()
        return self._control.take_step()

    def _capture(self) -> Checkpoint:
        return self._checkpointer.attach_buffer(self._state.capture())

    def _save(self, kind: Kind) -> bool:
        with self._clock.stopped():
            agent = self._capture()
            saved = self._checkpointer.save(kind, agent)
            self._evaluations.save_best()
        return saved

    def _send_progress(self, phase: Phase) -> None:
        self._recorder.flush(self.env_steps)
        self._reported_at = time.perf_counter()
        self._report(self._state.progress(phase, self._recorder))

    def _report_start(self) -> None:
        self._report(
            Started(
                run=self.directory.path,
                config=self.config,
                tunables=self._agent.tunables,
                env_steps=self.env_steps,
                repeated_steps=self._repeated_steps,
                device=self.config.device,
                threads=self.config.torch_threads,
                reward_threshold=self._info.reward_threshold,
                engine=self._engine,
                name=name_of(self.directory),
                branched_from=self._branched_from,
            )
        )
        for message in self._deviations:
            self._report(Warned(env_steps=self.env_steps, message=message))
        self._warn_of_unmarked()

    def _warn_of_unmarked(self) -> None:
        """Warn once that n-step returns from an earlier version's transitions may be wrong."""
        needed = self._agent.tunables.n_step > 1 and self._buffer.has_unmarked
        if needed and not self._warned_of_unmarked:
            self._warned_of_unmarked = True
            warned = Warned(env_steps=self.env_steps, message=UNMARKED, no_deviation=True)
            self._report(warned)

    # The end ------------------------------------------------------------------------------------

    def rescue(self, problem: BaseException) -> None:
        """After a failure, save what is still valid."""
        self._recorder.over = True
        if not isinstance(problem, DivergedError):
            with _logged("the last agent could not be saved"):
                self._save(Kind.LAST)
        with _logged("the best agent could not be saved"):
            self._evaluations.save_best()
        with _logged("how far it got could not be recorded"):
            self._send_progress(self._state.phase)

    def close(self) -> None:
        """End the evaluation process."""
        self._evaluator.close()

    def ending(self, stopped: str) -> Ended:
        """Return how far the run got; ``stopped`` as in :class:`Ended`."""
        run = self.directory
        best_eval_return, best_checkpoint = self._evaluations.best
        return Ended(
            run=run.path,
            stopped=stopped,
            env_steps=self.env_steps,
            updates=self._agent.updates,
            episodes=self._state.episodes,
            wall_s=self._state.wall_s,
            steps_per_s=self._clock.average(self.env_steps),
            last_eval_return=self._evaluations.last,
            best_eval_return=best_eval_return,
            best_checkpoint=best_checkpoint,
            last_checkpoint=run.last if run.last.exists() else None,
        )

    def write_ending(self, outcome: Ended | Failed) -> None:
        """Record how the run ended; a run without this record was interrupted."""
        how = outcome if isinstance(outcome, Ended) else outcome.ending
        if how is not None:
            message = outcome.message if isinstance(outcome, Failed) else NO_TEXT
            write = partial(self.directory.write_ending, asdict(how) | {"message": message})
            self._recorder.write(Text("the run's ending"), self.env_steps, write)
