"""Results of a run's evaluations: rows in its table, and the best agent on disk."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from td3core.checkpoint import Checkpoint, load
from td3core.config.value_text import plain_return
from td3core.errors import RequestError, RunError
from td3core.evaluation.result import EvaluationResult
from td3core.protocol.events import Evaluated, Warned
from td3core.runs.directory import RunDirectory
from td3core.text import Text
from td3core.training.checkpointer import Checkpointer, Kind
from td3core.training.recorder import Recorder


class EvaluationRecord:
    """Records results, keeps the best agent, and knows which evaluations are still pending.

    An agent under evaluation stays on disk under its own name until its result is written. If the
    run is killed before that, it evaluates the agent when it is resumed.
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
        self._highest: float | None = None
        """The highest mean return on record."""
        self._best: Checkpoint | None = None
        """The best agent, kept in memory: its file may be lost, or be written later."""
        self._mean_in_file: float | None = None
        """Mean return of the agent in ``best``."""

    @property
    def best(self) -> tuple[float | None, Path | None]:
        """Mean return and file of the best agent on disk; if none, the highest mean return."""
        if self._mean_in_file is not None and self._run.best.exists():
            return self._mean_in_file, self._run.best
        return self._highest, None

    def require_saved(self) -> None:
        """Raise unless the best agent, if there is one, is on disk as ``best``.

        Raises:
            RunError: it could not be saved; the message says which agent was, if any.
        """
        best = self._best
        if best is None or self.best_is_saved:
            return
        held, path = self.best
        other = Text("no other one was saved")
        if held is not None and path is not None:
            # The ending reports the agent that was saved.
            other = Text("the best one saved returned {mean}", mean=plain_return(held))
        raise RunError(
            "The run is over, but its best agent could not be saved as {path}: {reason}. It is of"
            " step {step} and returned {mean}; {other}. Resume the run to try again.",
            path=self._run.best,
            reason=self._recorder.last_problem,
            step=_step(best),
            mean=plain_return(_mean(best)),
            other=other,
        )

    @property
    def best_is_saved(self) -> bool:
        """Whether the best agent, if there is one, is on disk as ``best``."""
        best = self._best
        return best is None or (_mean(best) == self._mean_in_file and self._run.best.exists())

    def restore(self, env_steps: int) -> list[Checkpoint]:
        """Continue at ``env_steps`` with the results on record; return the agents still pending."""
        run, recorded = self._run, dict(self._run.evaluations())
        for step, mean in recorded.items():
            self.submitted_at = step
            self._add(mean)
        self._restore_best(recorded, env_steps)
        pending = []
        for path in run.pending():
            agent = _load(path)
            step = _step(agent)
            if agent and step <= env_steps and step not in recorded:
                pending.append(agent)
            elif not self._must_keep(step):
                self._delete(path, env_steps)
        return pending

    def _restore_best(self, recorded: dict[int, float], env_steps: int) -> None:
        """Find the best agent up to ``env_steps`` that is on disk, and save it as ``best``.

        If the run does not resume from its newest checkpoint, ``best`` may be newer, from steps
        that are dropped.
        """
        run, held, means = self._run, _load(self._run.best), dict(recorded)
        dropped_at = _step(held) if _step(held) > env_steps else None
        if dropped_at is not None:
            held = None
            self._delete(run.best, env_steps)
        elif held and held.header.evaluation:
            # It counts even if the evaluations table is lost.
            means = {_step(held): held.header.evaluation.mean} | means
        last = _load(run.last)
        for step in sorted(means, key=lambda step: means[step], reverse=True):
            if held and held.header.evaluation and step == _step(held):
                self._best, self._mean_in_file = held, _mean(held)
            else:
                self._best = self._find(step, last)
            if self._best is not None:
                break
        self.save_best()
        if dropped_at is not None:
            self._warn_about_dropped(dropped_at, env_steps)

    def _find(self, step: int, last: Checkpoint | None) -> Checkpoint | None:
        """Return the evaluated agent of a step from the file that holds it, or ``last``."""
        run = self._run
        for path in (run.pending_checkpoint(step), run.step_checkpoint(step), None):
            agent = _load(path) if path else last
            if agent and _step(agent) == step and (result := run.evaluation_at(step)):
                return _evaluated(agent, result)
        return None

    def _warn_about_dropped(self, step: int, env_steps: int) -> None:
        message = Text(
            "The best agent, of step {step}, was dropped: the run resumes from step {reached}.",
            step=step,
            reached=env_steps,
        )
        if self._best is not None:
            message = Text(
                "The best agent, of step {step}, was dropped: the run resumes from step {reached}."
                " The best one before it, of step {kept}, replaces it.",
                step=step,
                reached=env_steps,
                kept=_step(self._best),
            )
        self._recorder.report(Warned(env_steps=env_steps, message=message))

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
                measured=result.measured,
            )
        )
        before = self._best
        if before is None or result.mean > _mean(before):
            self._best = _evaluated(agent, result)
            if self._run.pending_checkpoint(env_steps).exists():
                self._delete(self._run.pending_checkpoint(_step(before)), env_steps)
        self.save_best()
        # Only now are both the result and the agent on disk.
        self._recorder.sync(env_steps)
        if not self._must_keep(env_steps):
            self._delete(self._run.pending_checkpoint(env_steps), env_steps)

    def save_best(self) -> None:
        """Save the best agent as ``best`` if that failed before, or if the file is gone."""
        best = self._best
        if best is None or self.best_is_saved or not self._checkpointer.save(Kind.BEST, best):
            return
        self._mean_in_file = _mean(best)
        self._recorder.sync(_step(best))
        self._delete(self._run.pending_checkpoint(_step(best)), _step(best))

    def _delete(self, path: Path, env_steps: int) -> None:
        delete = partial(path.unlink, missing_ok=True)
        self._recorder.write(Text("the folder of checkpoints"), env_steps, delete)

    def _must_keep(self, step: int) -> bool:
        """Return whether the best agent is only on disk as the pending agent of this step."""
        return not self.best_is_saved and _step(self._best) == step

    def _add(self, mean: float) -> bool:
        """Register a mean return; return whether it is the highest so far."""
        is_highest = self._highest is None or mean > self._highest
        self.last = mean
        if is_highest:
            self._highest = mean
        return is_highest


def _load(path: Path) -> Checkpoint | None:
    with contextlib.suppress(RequestError):
        return load(path)
    return None


def _step(agent: Checkpoint | None) -> int:
    return agent.header.counters.env_steps if agent else -1


def _evaluated(agent: Checkpoint, result: EvaluationResult) -> Checkpoint:
    return replace(agent, header=replace(agent.header, evaluation=result))


def _mean(agent: Checkpoint) -> float:
    assert agent.header.evaluation is not None
    return agent.header.evaluation.mean
