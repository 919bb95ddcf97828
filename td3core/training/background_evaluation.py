"""The process that evaluates agents while training continues."""

import contextlib
import os
from dataclasses import dataclass
from multiprocessing.connection import Connection

from td3core.config import EnvChoice, RunConfig
from td3core.envs.make import note_usable
from td3core.errors import reason_of
from td3core.evaluation.evaluate import evaluate
from td3core.evaluation.overestimation import ValueNetworks
from td3core.evaluation.result import EvaluationResult
from td3core.inference.policy import Policy
from td3core.system import blas
from td3core.system.child_process import ChildProcess, LinePipe, UpdatedError
from td3core.system.json_lines import Codec
from td3core.system.signals import leave_signals_to_parent

_NICENESS = 5


@dataclass(frozen=True, slots=True)
class _Failed:
    """An agent could not be evaluated."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Agent:
    """A policy to evaluate, and the critics if their bias is to be measured."""

    policy: Policy
    choice: EnvChoice
    critics: ValueNetworks | None


@dataclass(frozen=True, slots=True)
class _Ready:
    """The process has started and reads from its pipe."""


_CODEC = Codec(_Agent, EvaluationResult, _Failed, _Ready)


class EvaluationProcessError(Exception):
    """The process could not evaluate an agent; the text says why."""


class EvaluationProcess(ChildProcess):
    """Evaluates one policy after another, without state in between."""

    def __init__(self, config: RunConfig) -> None:
        work = (config.choice, config.eval_episodes, config.seed)
        super().__init__("evaluations", _CODEC, _evaluate_all, *work)
        self.idle = False
        """Whether it waits for a policy. Otherwise it does not read, and sending a policy larger
        than the pipe's buffer would block."""

    def send(self, policy: Policy, choice: EnvChoice, critics: ValueNetworks | None) -> None:
        """Send a policy, and the critics if their bias is measured; the process must be idle.

        ``choice``: the environment as in the step of the policy.
        """
        self.idle = False
        self.pipe.send(_Agent(policy, choice, critics))

    def receive(self) -> EvaluationResult | None:
        """Return the result of the policy sent; the process must be ready.

        Returns:
            None if the message only reports that the process has started.

        Raises:
            EvaluationProcessError: it failed, or the process is of another version.
            EOFError: the process has ended.
        """
        try:
            result = super().receive()
        except UpdatedError as problem:
            raise EvaluationProcessError(str(problem).rstrip(".")) from None
        if isinstance(result, _Failed):
            raise EvaluationProcessError(result.reason)
        self.idle = True
        return result if isinstance(result, EvaluationResult) else None


def _evaluate_all(connection: Connection, env: EnvChoice, episodes: int, seed: int) -> None:
    """Evaluate each policy that arrives, until the pipe closes."""
    leave_signals_to_parent()
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    # The run has created this folder.
    note_usable(env)
    pipe = LinePipe(connection, _CODEC)
    with contextlib.suppress(EOFError, OSError), blas.one_thread():
        pipe.send(_Ready())
        while True:
            agent = pipe.receive()
            try:
                result = evaluate(
                    agent.policy,
                    agent.choice,
                    episodes=episodes,
                    seed=seed,
                    critics=agent.critics,
                )
                pipe.send(result)
            except BaseException as problem:
                # Ctrl-C does not reach this process: any exception is from the environment.
                pipe.send(_Failed(f"{type(problem).__name__}: {reason_of(problem)}"))
