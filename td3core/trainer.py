"""One run while it goes on: where environments, agent, memory and files meet."""

import contextlib
import time
from functools import partial

from td3core import checkpoint, products
from td3core.agent import TD3
from td3core.checkpoint import Checkpoint, Counters, Header
from td3core.config import Tunables, changes, check_together
from td3core.control import Control
from td3core.envs import EnvInfo
from td3core.errors import RequestError, RunError
from td3core.events import (
    Ended,
    Phase,
    Progress,
    Started,
    Tuned,
    Warned,
)
from td3core.experience import Experience
from td3core.fleet import Fleet
from td3core.journal import Schedule
from td3core.judge import Judge
from td3core.keeper import Keeper
from td3core.pace import Pace
from td3core.recorder import Recorder, Report
from td3core.replay import ReplayBuffer
from td3core.runs import RunDirectory
from td3core.soundness import (
    DivergedError,
    require_sound_agent,
    require_sound_metrics,
)


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
        memory: ReplayBuffer,
        fleet: Fleet,
    ) -> None:
        self.directory, self.config = directory, directory.config
        self._control, self._report = control, report
        self._info, self._num_envs = info, len(fleet)
        config = self.config
        self._agent = TD3(config, tunables, info.obs_dim, info.act_dim)
        self._experience = Experience(config, info, fleet, memory, self._agent)
        self._revision = 0
        self.env_steps = self._episodes = 0
        self._pace = Pace(0)
        self._reported_at = 0.0
        self._records = Recorder(self.directory, report)
        self._judge = Judge(
            config,
            self._pace,
            self._records,
            write=self._write,
            waiting=self._while_waiting,
            announce=partial(self._send_progress, Phase.EVALUATING),
        )

    def run(self) -> Ended:
        """Step until the end or a stop, then save."""
        config = self.config
        widest = max((1, *config.actor_hidden, *config.critic_hidden))
        self._report(
            Started(
                run=self.directory.path,
                config=self.config,
                tunables=self._agent.tunables,
                env_steps=self.env_steps,
                device="cpu",
                threads=self.config.torch_threads,
                reward_threshold=self._info.reward_threshold,
                products=products.choose(self._agent.tunables.batch_size, widest),
            )
        )
        self._experience.begin_episodes(self.env_steps)
        stopped = False
        while self.env_steps < self.config.steps and not stopped:
            if self._control.waiting:
                stopped = self._obey()
                continue
            exploring = self.env_steps >= self.config.learning_starts
            self._step(exploring)
            # Updates leave the interpreter to others while torch computes; bare steps do not.
            if not (exploring and self._learn()):
                self._control.breathe()
            self._keep_records(exploring)
        self._log_training()
        if not stopped and self.config.eval_interval and self._judge.submitted_at != self.env_steps:
            self._evaluate()
        if not stopped:
            self._judge.finish()
        # An agent that has not taken a step is not worth a file.
        if self.env_steps and not self._save(self.directory.last):
            raise RunError(
                f"The run is over, but its agent could not be saved as {self.directory.last}."
            )
        self._send_progress(self._phase())
        return self.ending("user" if stopped else "finished")

    def rescue(self, problem: Exception) -> None:
        """After a failure, put everything that is still sound on disk."""
        with contextlib.suppress(Exception):
            if not isinstance(problem, DivergedError):
                self._save(self.directory.last)
            self._send_progress(self._phase())

    def close(self) -> None:
        """Let go of the process that evaluates."""
        self._judge.close()

    # One step of all environments ---------------------------------------------------------------

    def _step(self, exploring: bool) -> None:
        ended = self._experience.step(self.env_steps, exploring=exploring)
        self.env_steps += self._num_envs
        for episode in ended:
            self._records.add_episode(episode, self._pace.wall_s)
        if ended:
            self._episodes += len(ended)
            self._experience.begin_episodes(self.env_steps)

    def _learn(self) -> bool:
        """Do the updates of these steps; return whether there were any."""
        self._pace.mark_learning(self.env_steps - self._num_envs)
        if self.config.lr_final < 1.0:
            done = min(self.env_steps / self.config.steps, 1.0)
            self._agent.set_lr_share(1.0 + (self.config.lr_final - 1.0) * done)
        updates = self._num_envs * self._agent.tunables.updates_per_step
        for _ in range(updates):
            self._agent.update(self._experience.sample())
        return updates > 0

    # Between steps ------------------------------------------------------------------------------

    def _keep_records(self, learning: bool) -> None:
        config = self.config
        if self._reached(LOG_STEPS):
            self._log_training()
        if learning and self._reached(config.eval_interval):
            self._evaluate()
        if self._reached(config.checkpoint_interval):
            self._save(self.directory.step_checkpoint(self.env_steps))
        if time.perf_counter() - self._reported_at >= REPORT_S:
            self._judge.collect()
            self._send_progress(self._phase())

    def _reached(self, interval: int) -> bool:
        """Say whether the last step of all came to a multiple of ``interval`` or beyond it."""
        return interval > 0 and self.env_steps % interval < self._num_envs

    def _log_training(self) -> None:
        metrics = self._agent.take_metrics()
        if metrics is None:
            return
        require_sound_metrics(metrics, self.env_steps, twin_critics=self.config.twin_critics)
        row = (self.env_steps, self._agent.updates, *map(float, metrics))
        self._records.add_training(row, self._pace.wall_s)

    def _evaluate(self) -> None:
        require_sound_agent(self._agent, self.env_steps)
        self._judge.submit(self._snapshot(self.directory.best))

    def _while_waiting(self) -> bool:
        """Show signs of life while an evaluation is waited for; stop waiting if told to."""
        if time.perf_counter() - self._reported_at >= REPORT_S:
            self._send_progress(Phase.EVALUATING)
        self._control.breathe()
        return not self._control.stopping

    # What a person asks for ---------------------------------------------------------------------

    def _obey(self) -> bool:
        """Do what was asked since the last step; return True if the run is to end."""
        while True:
            orders = self._control.take()
            if orders.tunables is not None:
                self._tune(orders.tunables, orders.revision)
            if orders.save:
                self._save(self.directory.step_checkpoint(self.env_steps))
            if orders.stop:
                return True
            if not orders.pause:
                return False
            self._send_progress(Phase.PAUSED)
            with self._pace.stopped():
                self._control.wait()

    def _tune(self, tunables: Tunables, revision: int) -> None:
        try:
            check_together(self.config, tunables)
        except RequestError as problem:
            self._report(Warned(env_steps=self.env_steps, message=str(problem)))
            tunables = self._agent.tunables
        changed = tuple(changes(self._agent.tunables, tunables))
        self._agent.apply(tunables)
        self._revision = revision
        if any(name == "exploration_noise" for name, _, _ in changed):
            self._experience.exploration.noise = tunables.exploration_noise
        self._records.add_changes(
            Tuned(
                env_steps=self.env_steps,
                updates=self._agent.updates,
                revision=revision,
                tunables=tunables,
                changes=changed,
            )
        )

    # Files and reports --------------------------------------------------------------------------

    def _save(self, path: Path) -> bool:
        require_sound_agent(self._agent, self.env_steps)
        return self._write(self._snapshot(path))

    def _snapshot(self, path: Path) -> Checkpoint:
        """Return a copy of everything that makes the agent, meant for ``path``."""
        header = Header(
            path=path,
            config=self.config,
            tunables=self._agent.tunables,
            env=self._info,
            counters=Counters(
                env_steps=self.env_steps,
                updates=self._agent.updates,
                episodes=self._episodes,
                exploration_noise=self._experience.exploration.noise,
            ),
            evaluation=None,
            complete=True,
            created=checkpoint.now(),
        )
        tensors = self._agent.state() | self._experience.state()
        return Checkpoint(header=header, tensors=tensors)

    def _write(self, agent: Checkpoint) -> bool:
        with self._pace.stopped():
            return self._records.save_agent(agent, self.env_steps)

    def _send_progress(self, phase: Phase) -> None:
        self._records.flush(self.env_steps)
        self._reported_at = time.perf_counter()
        self._report(
            Progress(
                phase=phase,
                env_steps=self.env_steps,
                updates=self._agent.updates,
                episodes=self._episodes,
                steps_per_s=self._pace.recent(self.env_steps),
                wall_s=self._pace.wall_s,
                exploration_noise=self._experience.exploration.noise,
                revision=self._revision,
                tunables=self._agent.tunables,
                **self._records.take(),
            )
        )

    def _phase(self) -> Phase:
        learning = self.env_steps >= self.config.learning_starts
        return Phase.LEARNING if learning else Phase.WARM_UP

    def ending(self, stopped: str) -> Ended:
        """Say how far the run came."""
        run = self.directory
        return Ended(
            run=run.path,
            stopped=stopped,
            env_steps=self.env_steps,
            updates=self._agent.updates,
            episodes=self._episodes,
            wall_s=self._pace.wall_s,
            steps_per_s=self._pace.average(self.env_steps),
            last_eval_return=self._judge.last_mean,
            best_eval_return=self._judge.best_mean,
            best_checkpoint=run.best if run.best.exists() else None,
            last_checkpoint=run.last if run.last.exists() else None,
        )
