"""Evaluations beside the training: in a process of their own, so that the training waits for none.

Each evaluation gets a copy of the agent as it was. Where and when it is played changes nothing in
the run, and nothing in the result.
"""

import contextlib
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection

from threadpoolctl import threadpool_limits

from td3core.checkpoint import Checkpoint
from td3core.config import RunConfig
from td3core.config.env_choice import EnvChoice
from td3core.evaluation.evaluate import evaluate
from td3core.evaluation.result import EvaluationResult
from td3core.inference.policy import Policy
from td3core.system.child_process import ChildProcess

_POLL_S = 0.05
_LOWER_PRIORITY = 5

Result = tuple[Checkpoint, EvaluationResult]


class BackgroundEvaluations:
    """Agents waiting to be measured, and the process that does it.

    If that process is lost, or cannot make the environment (one that only the program calling
    :func:`~td3core.training.launch.train` has registered), ``lost`` is told so and what waits is
    measured by :meth:`finish`, in the caller's thread.
    """

    def __init__(self, config: RunConfig, lost: Callable[[str], None]) -> None:
        self._config, self._lost = config, lost
        self._waiting: deque[Checkpoint] = deque()
        self._helper: _Helper | None = None
        self.beside = config.eval_beside

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, agent: Checkpoint) -> None:
        """Put an agent in the queue."""
        self._waiting.append(agent)
        if not self.beside:
            return
        with self._giving_up():
            if self._helper is None:
                self._helper = _Helper(self._config)
            self._helper.send(agent.policy())

    def done(self) -> Iterator[Result]:
        """Yield what has been measured by now, in the order of submission; never waits."""
        with self._giving_up():
            while self._helper is not None and self._waiting and self._helper.ready(0.0):
                result = self._helper.receive()
                yield self._waiting.popleft(), result

    def finish(self, keep_going: Callable[[], bool]) -> Iterator[Result]:
        """Yield the rest, waiting for it; ends early once ``keep_going`` says no."""
        with self._giving_up():
            while self._helper is not None and self._waiting and keep_going():
                if self._helper.ready(_POLL_S):
                    result = self._helper.receive()
                    yield self._waiting.popleft(), result
        while self._waiting and not self.beside:
            found = evaluate(
                self._waiting[0].policy(),
                self._config.choice,
                episodes=self._config.eval_episodes,
                seed=self._config.seed,
                keep_going=keep_going,
            )
            if found is None:
                return
            yield self._waiting.popleft(), found

    def close(self) -> None:
        """Drop what waits and end the process."""
        self._waiting.clear()
        if self._helper is not None:
            self._helper.stop(kill=True)
            self._helper = None

    @contextlib.contextmanager
    def _giving_up(self) -> Iterator[None]:
        """On any trouble with the process go on without it."""
        try:
            yield
        except (_HelperError, OSError, EOFError, RuntimeError) as problem:
            if self._helper is not None:
                self._helper.stop(kill=True)
                self._helper = None
            self.beside = False
            self._lost(str(problem) or "it ended without a word")


class _HelperError(Exception):
    """The helper could not measure an agent; the text says why."""


class _Helper(ChildProcess):
    """The process that measures. Holds no state between two agents."""

    def __init__(self, config: RunConfig) -> None:
        work = (config.choice, config.eval_episodes, config.seed)
        super().__init__("evaluations", _measure_all, *work)

    def send(self, policy: Policy) -> None:
        self.pipe.send(policy)

    def ready(self, timeout_s: float) -> bool:
        return self.pipe.poll(timeout_s)

    def receive(self) -> EvaluationResult:
        result = self.pipe.recv()
        if not isinstance(result, EvaluationResult):
            raise _HelperError(str(result))
        return result


def _measure_all(pipe: Connection, env: EnvChoice, episodes: int, seed: int) -> None:
    """Measure each policy that comes down the pipe, until it closes."""
    # Ctrl-C reaches every process of the terminal; what to do about it is the training's business.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(_LOWER_PRIORITY)
    with contextlib.suppress(EOFError, OSError), threadpool_limits(1, user_api="blas"):
        while True:
            policy = pipe.recv()
            try:
                pipe.send(evaluate(policy, env, episodes=episodes, seed=seed))
            except Exception as problem:
                pipe.send(f"{type(problem).__name__}: {problem}")
