"""What came of a run's evaluations: rows on record, and the best agent on disk."""

import contextlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from td3core.checkpoint import Checkpoint, load
from td3core.errors import RequestError, RunError
from td3core.evaluation.result import EvaluationResult
from td3core.protocol.events import Evaluated
from td3core.runs.directory import RunDirectory
from td3core.training.checkpointer import Checkpointer, Kind
from td3core.training.recorder import Recorder


class EvaluationRecord:
    """Records results, keeps the best agent, and knows which evaluations are still pending.

    An agent that is being evaluated lies on disk under a name of its own until its result does, so
    that a run that was killed meanwhile evaluates it when it is resumed.
    """

    def __init__(
        self,
        run: RunDirectory,
        recorder: Recorder,
        checkpointer: Checkpointer,
        wall_s: Callable[[], float],
    ) -> None:
        self._run, self._recorder, self._checkpointer = run, recorder, checkpointer
        self._wall_s = wall_s
        self.submitted_at = -1
        """The step of the newest agent submitted; -1 before the first."""
        self.last: float | None = None
        """Mean return of the last evaluation."""
        self.best: float | None = None
        """The highest mean return."""

    def restore(self, env_steps: int) -> list[Checkpoint]:
        """Continue at ``env_steps`` with what is on record; return the agents still pending."""
        run, best_at = self._run, -1
        recorded = dict(run.evaluations())
        for step, mean in recorded.items():
            self.submitted_at = step
            if self._add(mean):
                best_at = step
        pending = []
        for path in run.pending():
            with contextlib.suppress(RequestError):
                agent = load(path)
                step = agent.header.counters.env_steps
                if step <= env_steps and step not in recorded:
                    pending.append(agent)
                    continue
                if step == best_at:
                    self._save_best(agent, run.evaluation_at(step))
            path.unlink(missing_ok=True)
        return pending

    def add(self, agent: Checkpoint, result: EvaluationResult) -> None:
        """Record and report the result of an agent; save the agent if it is the best.

        Raises:
            RunError: a return is not finite.
        """
        env_steps = agent.header.counters.env_steps
        if not np.isfinite(result.returns).all():
            raise RunError(
                "The evaluation at step {step} returned {returns}.",
                step=env_steps,
                returns=result.returns,
            )
        is_best = self._add(result.mean)
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
            self._save_best(agent, result)
        # Only now both the result and the agent are on disk.
        self._recorder.sync(env_steps)
        self._run.pending_checkpoint(env_steps).unlink(missing_ok=True)

    def _add(self, mean: float) -> bool:
        """Take in a mean return; return whether it is the best so far."""
        is_best = self.best is None or mean > self.best
        self.last = mean
        if is_best:
            self.best = mean
        return is_best

    def _save_best(self, agent: Checkpoint, result: EvaluationResult | None) -> None:
        best = replace(agent, header=replace(agent.header, evaluation=result))
        self._checkpointer.save(Kind.BEST, best)
