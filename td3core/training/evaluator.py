"""What becomes of an evaluation: on record, said, and the best agent kept.

An agent that is being measured stands on disk under a name of its own until its result does. A run
that is killed meanwhile has it measured when it goes on.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from td3core.checkpoint import Checkpoint, load
from td3core.errors import RequestError, RunError
from td3core.evaluation.result import EvaluationResult
from td3core.protocol.events import Evaluated, Warned
from td3core.runs.directory import RunDirectory
from td3core.training.background_evaluation import BackgroundEvaluations
from td3core.training.recorder import Recorder
from td3core.training.run_clock import RunClock

MOST_WAITING = 2
"""Training waits once more agents are out than this: each holds a copy of the agent."""


class Evaluator:
    """Has agents evaluated, and knows which was the best. ``write`` keeps that one."""

    def __init__(
        self,
        run: RunDirectory,
        clock: RunClock,
        wall_s: Callable[[], float],
        recorder: Recorder,
        write: Callable[[Checkpoint], object],
        waiting: Callable[[], bool],
        announce: Callable[[], None],
    ) -> None:
        """Take the run's clock, and what to do while the training has to wait for an evaluation.

        ``announce`` is called at the beginning, ``waiting`` again and again; once that says no, the
        wait is over and what is still out is given up.
        """
        self._announce = announce
        self._clock, self._wall_s, self._recorder = clock, wall_s, recorder
        self._write, self._waiting = write, waiting
        self._run = run
        self._evaluations = BackgroundEvaluations(run.config, self._on_process_lost)
        self._submitted_at = -1
        self.last_mean: float | None = None
        self.best_mean: float | None = None

    @property
    def submitted_at(self) -> int:
        """The step of the newest agent submitted; -1 before the first."""
        return self._submitted_at

    def submit(self, agent: Checkpoint) -> None:
        """Have an agent measured, beside the training or at once."""
        self._submitted_at = agent.header.counters.env_steps
        self._evaluations.submit(agent)
        if not self._evaluations.beside or len(self._evaluations) > MOST_WAITING:
            self.finish()

    def collect(self) -> None:
        """Take in what has been measured by now."""
        with self._naming_the_step():
            for agent, result in self._evaluations.done():
                self._note(agent, result)
        if not self._evaluations.beside:
            self.finish()

    def finish(self) -> None:
        """Wait for every evaluation that is still out."""
        if len(self._evaluations):
            with self._clock.stopped(), self._naming_the_step():
                self._announce()
                for agent, result in self._evaluations.finish(self._waiting):
                    self._note(agent, result)

    def close(self) -> None:
        """Drop what is still out."""
        self._evaluations.close()

    def load_state(self, env_steps: int) -> None:
        """Go on after ``env_steps``: with what is on record, and what was still out."""
        run, best_at = self._run, -1
        recorded = run.evaluations()
        for step, mean in recorded:
            self._submitted_at, self.last_mean = step, mean
            if self.best_mean is None or mean > self.best_mean:
                self.best_mean, best_at = mean, step
        for path in run.pending():
            with contextlib.suppress(RequestError):
                agent = load(path)
                step = agent.header.counters.env_steps
                if step <= env_steps and step not in dict(recorded):
                    self.submit(replace(agent, header=replace(agent.header, path=run.best)))
                    continue
                if step == best_at:
                    self._keep_best(agent, run.evaluation_at(step))
            path.unlink(missing_ok=True)

    def _keep_best(self, agent: Checkpoint, result: EvaluationResult | None) -> None:
        path = self._run.best
        self._write(replace(agent, header=replace(agent.header, path=path, evaluation=result)))

    def _note(self, agent: Checkpoint, result: EvaluationResult) -> None:
        env_steps = agent.header.counters.env_steps
        if not np.isfinite(result.returns).all():
            raise RunError(f"The evaluation at step {env_steps} returned {result.returns}.")
        is_best = self.best_mean is None or result.mean > self.best_mean
        self.last_mean = result.mean
        self._recorder.add_evaluation(
            Evaluated(
                env_steps=env_steps,
                returns=result.returns,
                lengths=result.lengths,
                seed=result.seed,
                is_best=is_best,
                wall_s=self._wall_s(),
                reward_threshold=agent.header.env.reward_threshold,
            )
        )
        if is_best:
            self.best_mean = result.mean
            self._keep_best(agent, result)
        # Only now is the result on disk as well as the agent.
        self._recorder.sync(env_steps)
        self._run.pending_checkpoint(env_steps).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _naming_the_step(self) -> Iterator[None]:
        try:
            yield
        except RunError:
            raise
        except Exception as problem:
            kind = type(problem).__name__
            raise RunError(
                f"The evaluation at step {self._submitted_at} failed: {kind}: {problem}"
            ) from problem

    def _on_process_lost(self, reason: str) -> None:
        message = f"Training now waits for each evaluation; their process was lost: {reason}."
        self._recorder.report(Warned(env_steps=self._submitted_at, message=message))
