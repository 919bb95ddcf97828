"""Queue of agents to evaluate, in the background or in the training thread."""

import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

from td3core.checkpoint import Checkpoint
from td3core.checkpoint.agent import value_networks
from td3core.config import RunConfig
from td3core.errors import RunError, quoted, reason_of, require_no_interrupt
from td3core.evaluation.evaluate import evaluate
from td3core.evaluation.overestimation import ValueNetworks
from td3core.evaluation.result import EvaluationResult
from td3core.system.capacity import usable_cores
from td3core.system.isolation import Isolation
from td3core.text import Text
from td3core.training.background_evaluation import EvaluationProcess, EvaluationProcessError

MAX_PENDING = 2
"""Training waits while more evaluations than this are pending: each holds a copy of the agent."""

_POLL_S = 0.05
_RARELY = 5
"""Minimum interval between measurements of the bias on a single core, in evaluations."""

EvaluatedAgent = tuple[Checkpoint, EvaluationResult]


class Evaluator:
    """Evaluates copies of the agent and returns the results in the order of submission.

    When and where an agent is evaluated changes neither the run nor the result. If the background
    process is lost or cannot make the environment (for instance one registered only by the program
    that calls :func:`~td3core.training.launch.train`), ``process_lost`` is called with the reason
    and :meth:`wait` evaluates in the caller's thread.
    """

    def __init__(self, config: RunConfig, process_lost: Callable[[Text], None]) -> None:
        self._config, self._process_lost = config, process_lost
        self._pending: deque[Checkpoint] = deque()
        self._process: EvaluationProcess | None = None
        self.in_background = config.background_evaluation

    def __len__(self) -> int:
        return len(self._pending)

    @property
    def must_wait(self) -> bool:
        """Whether training has to wait for results before it continues."""
        return not self.in_background or len(self._pending) > MAX_PENDING

    def submit(self, agent: Checkpoint) -> None:
        """Queue an agent."""
        self._pending.append(agent)
        if not self.in_background:
            return
        with self._falling_back():
            if self._process is None:
                self._process = EvaluationProcess(self._config)
            self._send_next()

    def finished(self) -> Iterator[EvaluatedAgent]:
        """Yield the available results; never wait."""
        while (found := self._receive(0.0)) is not None:
            yield found

    def wait(self, keep_waiting: Callable[[], bool]) -> Iterator[EvaluatedAgent]:
        """Yield all remaining results; end early once ``keep_waiting`` returns False.

        Raises:
            RunError: an evaluation failed.
        """
        while self._process is not None and self._pending and keep_waiting():
            found = self._receive(_POLL_S)
            if found is not None:
                yield found
        while self._pending and not self.in_background:
            result = self._evaluate_here(self._pending[0], keep_waiting)
            if result is None:
                return
            yield self._pending.popleft(), result

    def close(self) -> None:
        """Drop pending evaluations and end the process."""
        self._pending.clear()
        if self._process is not None:
            self._process.stop(kill=True)
            self._process = None

    def _send_next(self) -> None:
        """Send the oldest agent to the process if it is idle."""
        if self._process is not None and self._process.idle and self._pending:
            agent = self._pending[0]
            self._process.send(agent.policy(), agent.header.choice, self._critics(agent))

    def _receive(self, timeout_s: float) -> EvaluatedAgent | None:
        """Return the next result, or None if none arrives within ``timeout_s`` seconds."""
        found = None
        with self._falling_back():
            if self._process and self._pending and self._process.ready(timeout_s):
                result = self._process.receive()
                if result is not None:
                    found = self._pending.popleft(), result
                self._send_next()
        return found

    def _critics(self, agent: Checkpoint) -> ValueNetworks | None:
        """Return the agent's critics if their bias is due to be measured, else None."""
        config = self._config
        if not config.bias_interval:
            return None
        every = config.bias_interval
        if usable_cores() == 1:
            every = max(every, _RARELY)
        # Derived from the step, so that a resumed run measures at the same steps.
        number = agent.header.counters.env_steps // max(config.eval_interval, 1)
        return value_networks(agent) if number % every == 0 else None

    def _evaluate_here(
        self, agent: Checkpoint, keep_waiting: Callable[[], bool]
    ) -> EvaluationResult | None:
        config = self._config
        work = partial(
            evaluate,
            agent.policy(),
            agent.header.choice,
            episodes=config.eval_episodes,
            seed=config.seed,
            keep_going=keep_waiting,
            critics=self._critics(agent),
        )
        try:
            return Isolation().call(work)
        except RunError:
            raise
        except BaseException as problem:
            require_no_interrupt(problem)
            raise RunError(
                "The evaluation at step {step} failed: {error}: {text}",
                step=agent.header.counters.env_steps,
                error=type(problem).__name__,
                text=reason_of(problem),
            ) from problem

    @contextlib.contextmanager
    def _falling_back(self) -> Iterator[None]:
        """Continue without the process if it fails."""
        try:
            yield
        except (EvaluationProcessError, OSError, EOFError, RuntimeError) as problem:
            if self._process is not None:
                self._process.stop(kill=True)
                self._process = None
            self.in_background = False
            ended = Text("it ended unexpectedly")
            self._process_lost(quoted(str(problem)) if str(problem) else ended)
