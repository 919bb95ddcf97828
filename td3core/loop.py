"""The training loop: the only place where environment, agent, memory and files meet.

:func:`train` is a plain function. The command line calls it directly, the window calls it inside a
QThread; both hand it a :class:`~td3core.control.Control` to listen to and a ``report`` to speak to.
"""

import contextlib
import logging
import time
import traceback
from functools import partial
from pathlib import Path

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from td3core import checkpoint, products
from td3core.agent import TD3
from td3core.checkpoint import Checkpoint, Counters, Header
from td3core.config import RunConfig, Tunables, changes, check_together
from td3core.control import Control
from td3core.env_check import require_sound
from td3core.envs import EnvInfo, Floats, check_env
from td3core.episode import Episode
from td3core.errors import RequestError, RunError
from td3core.events import (
    METRICS,
    Ended,
    EpisodeEnded,
    Failed,
    Phase,
    Progress,
    Saved,
    Started,
    Tuned,
    Warned,
)
from td3core.judge import Judge
from td3core.normalise import Normaliser
from td3core.pace import Pace
from td3core.randomness import Purpose, generator, generator_state
from td3core.recorder import Recorder, Report
from td3core.replay import Batch, make_memory
from td3core.runs import RunDirectory

log = logging.getLogger(__name__)

LOG_STEPS = 50
"""Training statistics are averaged over this many environment steps into one row."""

REPORT_S = 0.1
"""Seconds between two Progress events."""


def train(
    config: RunConfig, tunables: Tunables, control: Control, report: Report, runs_dir: Path
) -> Ended | Failed:
    """Train one agent from the start to its last step, or until told to stop.

    Everything the run says goes to ``report``, in this thread; the last thing it says is also
    returned. No exception escapes: what goes wrong is said as :class:`Failed`.
    """
    outcome: Ended | Failed
    trainer = None
    try:
        check_together(config, tunables)
        torch.set_num_threads(config.torch_threads)
        # The batch-1 forward pass is too small to gain from more threads, and they would spin.
        with threadpool_limits(1, user_api="blas"):
            trainer = Trainer(config, tunables, control, report, runs_dir)
            outcome = trainer.run()
    except RequestError as problem:
        outcome = Failed(message=str(problem), details="", request=True)
    except Exception as problem:
        log.debug("the run failed", exc_info=True)
        outcome = _failure(problem, trainer)
    finally:
        if trainer is not None:
            trainer.close()
    report(outcome)
    return outcome


def _failure(problem: Exception, trainer: "Trainer | None") -> Failed:
    text = str(problem) if isinstance(problem, RunError) else f"{type(problem).__name__}: {problem}"
    details = "".join(traceback.format_exception(problem))
    if trainer is None:
        return Failed(message=text, details=details)
    trainer.rescue(problem)
    return Failed(message=text, details=details, ending=trainer.ending("failed"))


def _save_whatever_happened_to_the_folder(agent: Checkpoint) -> None:
    """Save an agent; a folder deleted under the living run is made again, or it would be lost."""
    path = agent.header.path
    path.parent.mkdir(parents=True, exist_ok=True)
    checkpoint.save(path, agent.header, agent.tensors)


class DivergedError(RunError):
    """A loss or value is no longer a number; the weights are not worth saving."""


class Trainer:
    """One run from its first to its last step. Owns environment, agent, memory and files."""

    def __init__(
        self,
        config: RunConfig,
        tunables: Tunables,
        control: Control,
        report: Report,
        runs_dir: Path,
    ) -> None:
        self.config, self._control, self._report = config, control, report
        self._info: EnvInfo = check_env(config.choice)
        require_sound(config, self._info, report)
        # Before anything is written: a request that cannot be met leaves no trace.
        self._memory = make_memory(config.buffer_size, self._info)
        self.directory = RunDirectory.create(runs_dir, config, tunables)
        self._agent = TD3(config, tunables, self._info.obs_dim, self._info.act_dim)
        self._normaliser = None
        if config.normalize_observations:
            self._normaliser = Normaliser(self._info.obs_dim)
        self._policy = self._agent.policy(self._normaliser)
        self._warm_up = generator(config.seed, Purpose.WARM_UP)
        self._exploration = generator(config.seed, Purpose.EXPLORATION)
        self._sampling = generator(config.seed, Purpose.REPLAY)
        self._noise = tunables.exploration_noise
        self._shaped_return = 0.0
        self._revision = 0
        self.env_steps = self._episodes = 0
        self._episode: Episode | None = None
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
        self._begin_episode()
        stopped = False
        while self.env_steps < self.config.steps and not stopped:
            if self._control.waiting:
                stopped = self._obey()
                continue
            self._step()
            # Updates leave the interpreter to others while torch computes; bare steps do not.
            if not self._learn():
                self._control.breathe()
            self._keep_records()
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
        """Let go of the environment and of the process that evaluates."""
        self._judge.close()
        self._close_episode()

    # One step -----------------------------------------------------------------------------------

    def _close_episode(self) -> None:
        if self._episode is not None:
            self._episode.close()
            self._episode = None

    def _begin_episode(self) -> None:
        self._close_episode()
        self._episode = Episode(self._info, self.config.seed, self._episodes, self.env_steps)
        self._shaped_return = 0.0
        if self._normaliser is not None:
            self._normaliser.observe(self._episode.obs)

    def _step(self) -> None:
        episode = self._episode
        assert episode is not None
        obs = episode.obs
        action = self._act(obs)
        outcome = episode.step(action)
        reward = max(self.config.reward_scale * outcome.reward, self.config.reward_floor)
        self._shaped_return += reward
        if self._normaliser is not None:
            self._normaliser.observe(outcome.next_obs)
        # A time limit is not a terminal state: the value of s' still counts.
        self._memory.add(obs, action, reward, outcome.next_obs, outcome.terminated)
        self.env_steps += 1
        if outcome.terminated or outcome.truncated:
            self._end_episode(episode, outcome.terminated)

    def _act(self, obs: Floats) -> Floats:
        """Return a = clip(π(s) + N(0, σ), -1, 1); uniform random during the warm-up."""
        size = self._info.act_dim
        if self.env_steps < self.config.learning_starts:
            return self._warm_up.uniform(-1.0, 1.0, size).astype(np.float32)
        noise = self._exploration.standard_normal(size, np.float32) * np.float32(self._noise)
        self._decay_noise()
        action: Floats = np.clip(self._policy(obs) + noise, -1.0, 1.0)
        if not np.isfinite(action).all():
            raise self._diverged("the actor's action", action)
        return action

    def _decay_noise(self) -> None:
        tunables = self._agent.tunables
        if tunables.exploration_noise_decay < 1.0:
            floor = min(tunables.exploration_noise_min, self._noise)
            self._noise = max(self._noise * tunables.exploration_noise_decay, floor)

    def _learn(self) -> bool:
        """Do the updates of this step; return whether there were any."""
        if self.env_steps <= self.config.learning_starts:
            return False
        self._pace.mark_learning(self.env_steps - 1)
        if self.config.lr_final < 1.0:
            done = self.env_steps / self.config.steps
            self._agent.set_lr_share(1.0 + (self.config.lr_final - 1.0) * done)
        for _ in range(self._agent.tunables.updates_per_step):
            self._agent.update(self._sample())
        return self._agent.tunables.updates_per_step > 0

    def _sample(self) -> Batch:
        batch = self._memory.sample(self._sampling, self._agent.tunables.batch_size)
        normalise = self._normaliser
        if normalise is None:
            return batch
        # Stored as they came, normalised by what is known now: the statistics keep moving.
        return batch._replace(obs=normalise(batch.obs), next_obs=normalise(batch.next_obs))

    def _end_episode(self, episode: Episode, terminated: bool) -> None:
        ended = EpisodeEnded(
            episode=self._episodes,
            env_steps=self.env_steps,
            episode_return=episode.total,
            shaped_return=self._shaped_return,
            length=episode.length,
            terminated=terminated,
        )
        self._records.add_episode(ended, self._pace.wall_s)
        self._episodes += 1
        self._begin_episode()

    # Between steps ------------------------------------------------------------------------------

    def _keep_records(self) -> None:
        steps, config = self.env_steps, self.config
        if steps % LOG_STEPS == 0:
            self._log_training()
        learning = steps > config.learning_starts
        if learning and config.eval_interval and steps % config.eval_interval == 0:
            self._evaluate()
        if config.checkpoint_interval and steps % config.checkpoint_interval == 0:
            self._save(self.directory.step_checkpoint(steps))
        if time.perf_counter() - self._reported_at >= REPORT_S:
            self._judge.collect()
            self._send_progress(self._phase())

    def _log_training(self) -> None:
        metrics = self._agent.take_metrics()
        if metrics is None:
            return
        one_critic = not self.config.twin_critics
        expected_nan = {"q2", "critic2_loss"} if one_critic else set()
        for name, value in zip(METRICS, metrics, strict=True):
            if not np.isfinite(value) and name not in expected_nan | {"actor_loss"}:
                raise self._diverged(name, value)
        row = (self.env_steps, self._agent.updates, *map(float, metrics))
        self._records.add_training(row, self._pace.wall_s)

    def _diverged(self, quantity: str, value: object) -> DivergedError:
        return DivergedError(
            f"Training diverged: {quantity} became {value} by step {self.env_steps}."
            " The last good checkpoint is untouched; try a smaller learning rate."
        )

    def _require_sound_agent(self) -> None:
        """Stop before weights that are not numbers are saved or judged."""
        unsound = self._agent.unsound_network()
        if unsound is not None:
            raise self._diverged(f"a weight of {unsound}", "NaN or infinite")

    def _evaluate(self) -> None:
        self._require_sound_agent()
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
            self._noise = tunables.exploration_noise
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
        self._require_sound_agent()
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
                exploration_noise=self._noise,
            ),
            evaluation=None,
            complete=True,
            created=checkpoint.now(),
        )
        tensors = self._agent.state() | {
            "generator.warm_up": generator_state(self._warm_up),
            "generator.exploration": generator_state(self._exploration),
            "generator.replay": generator_state(self._sampling),
        }
        if self._normaliser is not None:
            tensors |= self._normaliser.state()
        return Checkpoint(header=header, tensors=tensors)

    def _write(self, agent: Checkpoint) -> bool:
        header = agent.header
        with self._pace.stopped():
            write = partial(_save_whatever_happened_to_the_folder, agent)
            if not self._records.write(header.path.name, self.env_steps, write):
                return False
        mean = header.evaluation.mean if header.evaluation else None
        steps = header.counters.env_steps
        self._report(Saved(env_steps=steps, path=header.path, mean_return=mean))
        return True

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
                exploration_noise=self._noise,
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
