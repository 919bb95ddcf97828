"""One run while it goes on: where environments, agent, buffer and files meet."""

import contextlib
import time
from dataclasses import asdict, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from td3core.algorithm import matmul
from td3core.algorithm.td3 import TD3
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.checkpoint import Checkpoint, Counters, Header
from td3core.config import Tunables
from td3core.envs.info import EnvInfo
from td3core.envs.vector import VectorEnv
from td3core.errors import RunError
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Failed, Phase, Progress, Started, Warned
from td3core.runs.directory import RunDirectory
from td3core.system import timestamp
from td3core.training.checkpointer import Checkpointer
from td3core.training.collector import Collector
from td3core.training.divergence import DivergedError, require_finite_agent, require_finite_metrics
from td3core.training.evaluator import Evaluator
from td3core.training.live_settings import LiveSettings
from td3core.training.recorder import Recorder, Report
from td3core.training.run_clock import RunClock
from td3core.training.schedule import Schedule

LOG_STEPS = 50
"""Training statistics are averaged over this many environment steps into one row."""

REPORT_S = 0.1
"""Seconds between two Progress events."""


class Trainer:
    """One run from its first to its last step: acts, remembers, learns, and keeps records.

    One turn of it steps all ``num_envs`` environments once and does the updates of as many steps.
    What falls due at a certain step (an evaluation, a checkpoint, the end) is done at the end of
    the turn that reaches it.
    """

    def __init__(
        self,
        directory: RunDirectory,
        tunables: Tunables,
        control: Control,
        report: Report,
        info: EnvInfo,
        buffer: ReplayBuffer,
        envs: VectorEnv,
        schedule: Schedule,
    ) -> None:
        self.directory, self.config = directory, directory.config
        self._control, self._report = control, report
        self._info, self._buffer, self._num_envs = info, buffer, len(envs)
        config = self.config
        self._agent = TD3(config, tunables, info.obs_dim, info.act_dim)
        self._collector = Collector(config, info, envs, buffer, self._agent)
        self.env_steps = self._episodes = self._no_updates_until = 0
        self._products = ""
        self._unlogged: dict[str, NDArray[np.generic]] = {}
        self.repeated_steps = 0
        """Steps on record that are taken again (see :class:`Started`)."""
        self.deviations: list[str] = []
        """What will not be as if the run had never been interrupted, in sentences."""
        self._clock, self._wall_before = RunClock(0), 0.0
        self._reported_at = 0.0
        self._recorder = Recorder(self.directory, report)
        self._live = LiveSettings(
            directory, self._agent, self._collector.exploration, self._recorder, schedule
        )
        self._checkpointer = Checkpointer(directory, buffer, self._recorder)
        self._evaluator = Evaluator(
            directory,
            self._clock,
            lambda: self.wall_s,
            self._recorder,
            write=self._write,
            waiting=self._while_waiting,
            announce=partial(self._send_progress, Phase.EVALUATING),
        )

    @property
    def wall_s(self) -> float:
        """Seconds the run has been going, pauses and the processes before this one included."""
        return self._wall_before + self._clock.wall_s

    def resume_from(self, saved: Checkpoint, *, origin: str) -> None:
        """Take up a run where a checkpoint left it; the journal names its ``origin``."""
        counters, tensors = saved.header.counters, saved.tensors
        self._agent.load_state(tensors, counters.updates)
        self.env_steps, self._episodes = counters.env_steps, counters.episodes
        self._no_updates_until = counters.no_updates_until
        self._live.resume_from(counters.env_steps, counters.changes)
        self._collector.load_state(tensors)
        self._collector.exploration.noise = counters.exploration_noise
        self._clock.begin_at(self.env_steps)
        # A branch has a time of its own, as it has tables of its own.
        if origin == "resume":
            self._wall_before = max(saved.header.wall_s, self.directory.wall_s_on_record())
        self._match_numerics(saved.header.numerics)
        missing = self._checkpointer.load_buffer(saved)
        if missing:
            config = self.config
            self._no_updates_until = self.env_steps + min(
                config.learning_starts, config.buffer_size
            )
            self.deviations.append(
                f"The replay buffer could not be had again: {missing}. Until step"
                f" {self._no_updates_until} it is filled anew and nothing is learnt."
            )
        lost = self._collector.return_to_episodes(tensors["episodes.obs"])
        if lost and not missing:
            self.deviations.append(
                f"The environment did not come back to where it was in episode {lost[0]}; that"
                " begins anew. It may draw on more than its seed and the actions."
            )
        self._recorder.log_entry(origin, self.env_steps)
        parent = self.directory.parent
        own = parent is None or parent.env_steps < self.env_steps
        if own and self._reached(self.config.checkpoint_interval):
            self._checkpointer.complete_step(saved)
        # Until it has a checkpoint of its own, a branch could not be resumed.
        if not self.directory.last.exists():
            self._save_last(quietly=True)

    def _match_numerics(self, recorded: dict[str, str]) -> None:
        """Multiply as before, where that can be; say what is not as it was."""
        here = matmul.numerics_info(self.config.torch_threads)
        changed = [
            f"{name} was {recorded[name]} and is {value}"
            for name, value in here.items()
            if recorded.get(name, value) != value
        ]
        if recorded.get("products") in (matmul.MKL, matmul.ONEDNN) and not changed:
            self._products = recorded["products"]
            matmul.use(self._products)
        if changed:
            self.deviations.append(f"The last digits will differ: {', '.join(changed)}.")

    def run(self) -> Ended:
        """Step until the end or a stop, then save."""
        if not self._products:
            widest = max((1, *self.config.actor_hidden, *self.config.critic_hidden))
            self._products = matmul.choose(self._agent.tunables.batch_size, widest)
        self._report(
            Started(
                run=self.directory.path,
                config=self.config,
                tunables=self._agent.tunables,
                env_steps=self.env_steps,
                repeated_steps=self.repeated_steps,
                device=self.config.device,
                threads=self.config.torch_threads,
                reward_threshold=self._info.reward_threshold,
                products=self._products,
            )
        )
        for message in self.deviations:
            self._report(Warned(env_steps=self.env_steps, message=message))
        self._evaluator.load_state(self.env_steps)
        self._collector.begin_episodes(self.env_steps)
        stopped = self._step_to_the_end()
        # A run that goes on from here makes a whole row of these updates and those to come.
        self._unlogged = self._agent.tally()
        self._log_training()
        if (
            not stopped
            and self.config.eval_interval
            and self._evaluator.submitted_at != self.env_steps
        ):
            self._evaluate()
        if not stopped:
            self._evaluator.finish()
        # An agent that has not taken a step is not worth a file.
        if self.env_steps and not self._save_last():
            raise RunError(
                f"The run is over, but its agent could not be saved as {self.directory.last}:"
                f" {self._recorder.last_problem}."
            )
        self._send_progress(self._phase())
        return self.ending("user" if stopped else "finished")

    def _step_to_the_end(self) -> bool:
        """Take all steps; return whether a stop was asked for before the last."""
        while self.env_steps < self.config.steps:
            if self._live.due(self.env_steps):
                self._live.follow(self.env_steps)
            if self._control.has_requests:
                if self._obey():
                    return True
                continue
            exploring = self.env_steps >= self.config.learning_starts
            self._step(exploring)
            learning = exploring and self.env_steps > self._no_updates_until
            # Updates leave the interpreter to others while torch computes; bare steps do not.
            if not (learning and self._learn()):
                self._control.yield_gil()
            self._keep_records(learning)
        return False

    def rescue(self, problem: Exception) -> None:
        """After a failure, put everything that is still sound on disk."""
        with contextlib.suppress(Exception):
            if not isinstance(problem, DivergedError):
                self._save_last()
            self._send_progress(self._phase())

    def close(self) -> None:
        """Let go of the process that evaluates."""
        self._evaluator.close()

    # One step of all environments ---------------------------------------------------------------

    def _step(self, exploring: bool) -> None:
        ended = self._collector.step(self.env_steps, exploring=exploring)
        self.env_steps += self._num_envs
        for episode in ended:
            self._recorder.add_episode(episode, self.wall_s)
        if ended:
            self._episodes += len(ended)
            self._collector.begin_episodes(self.env_steps)

    def _learn(self) -> bool:
        """Do the updates of these steps; return whether there were any."""
        self._clock.mark_learning(self.env_steps - self._num_envs)
        if self.config.lr_final < 1.0:
            done = min(self.env_steps / self.config.steps, 1.0)
            self._agent.set_lr_share(1.0 + (self.config.lr_final - 1.0) * done)
        updates = self._num_envs * self._agent.tunables.updates_per_step
        for _ in range(updates):
            self._agent.update(self._collector.sample())
        return updates > 0

    # Between steps ------------------------------------------------------------------------------

    def _keep_records(self, learning: bool) -> None:
        config = self.config
        if self._reached(LOG_STEPS):
            self._log_training()
        # First: an agent that is the one to go on from must not wait to be evaluated unmarked.
        if learning and self._reached(config.eval_interval):
            self._evaluate()
        if self._reached(config.checkpoint_interval):
            self._save_step()
        if self._checkpointer.due:
            self._save_last(quietly=True)
        if time.perf_counter() - self._reported_at >= REPORT_S:
            self._evaluator.collect()
            self._send_progress(self._phase())

    def _reached(self, interval: int) -> bool:
        """Say whether the last step of all came to a multiple of ``interval`` or beyond it."""
        return interval > 0 and self.env_steps % interval < self._num_envs

    def _log_training(self) -> None:
        metrics = self._agent.take_metrics()
        if metrics is None:
            return
        require_finite_metrics(metrics, self.env_steps, twin_critics=self.config.twin_critics)
        row = (self.env_steps, self._agent.updates, *map(float, metrics))
        self._recorder.add_training(row, self.wall_s)

    def _evaluate(self) -> None:
        agent = self._snapshot()
        with self._clock.stopped():
            self._checkpointer.save_pending_evaluation(agent)
        self._evaluator.submit(
            replace(agent, header=replace(agent.header, path=self.directory.best))
        )

    def _while_waiting(self) -> bool:
        """Show signs of life while an evaluation is waited for; stop waiting if told to."""
        if time.perf_counter() - self._reported_at >= REPORT_S:
            self._send_progress(Phase.EVALUATING)
        self._control.yield_gil()
        return not self._control.stopping

    # What a person asks for ---------------------------------------------------------------------

    def _obey(self) -> bool:
        """Do what was asked since the last step; return True if the run is to end."""
        while True:
            requests = self._control.take_requests()
            if requests.tunables is not None:
                self._live.take(requests.tunables, requests.revision, self.env_steps)
            if requests.save:
                self._recorder.log_entry("save", self.env_steps)
                self._save_step(asked=True)
            if requests.stop:
                self._recorder.log_entry("stop", self.env_steps)
                return True
            if not requests.pause:
                return False
            self._recorder.log_entry("pause", self.env_steps)
            self._send_progress(Phase.PAUSED)
            with self._clock.stopped():
                self._control.wait()

    # Files and reports --------------------------------------------------------------------------

    def _save_last(self, *, quietly: bool = False) -> bool:
        agent = self._snapshot()
        with self._clock.stopped():
            return self._checkpointer.save_last(agent, quietly=quietly)

    def _save_step(self, *, asked: bool = False) -> bool:
        agent = self._snapshot()
        with self._clock.stopped():
            return self._checkpointer.save_step(agent, asked=asked)

    def _snapshot(self) -> Checkpoint:
        """Return a copy of everything that makes the run; raise if it is not worth saving."""
        require_finite_agent(self._agent, self.env_steps)
        buffer = self._checkpointer.buffer_state(self.env_steps)
        header = Header(
            path=self.directory.last,
            config=self.config,
            tunables=self._agent.tunables,
            env=self._info,
            counters=Counters(
                env_steps=self.env_steps,
                updates=self._agent.updates,
                episodes=self._episodes,
                exploration_noise=self._collector.exploration.noise,
                stored=self._buffer.stored,
                changes=self._live.made_at(self.env_steps),
                no_updates_until=self._no_updates_until,
            ),
            evaluation=None,
            complete=True,
            created=timestamp.now(),
            wall_s=self.wall_s,
            numerics=matmul.numerics_info(self.config.torch_threads) | {"products": self._products},
        )
        tensors = self._agent.state() | self._unlogged | self._collector.state() | buffer
        return Checkpoint(header=header, tensors=tensors)

    def _write(self, agent: Checkpoint) -> bool:
        with self._clock.stopped():
            return self._recorder.save_agent(agent, self.env_steps)

    def _send_progress(self, phase: Phase) -> None:
        self._recorder.flush(self.env_steps)
        self._reported_at = time.perf_counter()
        self._report(
            Progress(
                phase=phase,
                env_steps=self.env_steps,
                updates=self._agent.updates,
                episodes=self._episodes,
                steps_per_s=self._clock.recent(self.env_steps),
                wall_s=self.wall_s,
                exploration_noise=self._collector.exploration.noise,
                revision=self._live.revision,
                tunables=self._agent.tunables,
                **self._recorder.take(),
            )
        )

    def _phase(self) -> Phase:
        learning = self.env_steps >= self.config.learning_starts
        return Phase.LEARNING if learning else Phase.WARM_UP

    def ending(self, stopped: str) -> Ended:
        """Say how far the run origin."""
        run = self.directory
        return Ended(
            run=run.path,
            stopped=stopped,
            env_steps=self.env_steps,
            updates=self._agent.updates,
            episodes=self._episodes,
            wall_s=self.wall_s,
            steps_per_s=self._clock.average(self.env_steps),
            last_eval_return=self._evaluator.last_mean,
            best_eval_return=self._evaluator.best_mean,
            best_checkpoint=run.best if run.best.exists() else None,
            last_checkpoint=run.last if run.last.exists() else None,
        )

    def write_ending(self, outcome: Ended | Failed) -> None:
        """Put on record how the run ended; a run without that was interrupted."""
        how = outcome if isinstance(outcome, Ended) else outcome.ending
        if how is not None:
            message = outcome.message if isinstance(outcome, Failed) else ""
            values = asdict(how) | {"message": message}
            write = partial(self.directory.write_ending, values)
            self._recorder.write("how the run ended", self.env_steps, write)
