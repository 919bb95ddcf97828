"""Evaluates a policy in fresh environments with fixed seeds."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace

from td3core.config.env_choice import EnvChoice
from td3core.envs.check.rehearsal import rehearse
from td3core.errors import StoppedError
from td3core.evaluation.overestimation import (
    EpisodeValues,
    ValueNetworks,
    episode_values,
    overestimation,
)
from td3core.evaluation.result import EvaluationResult
from td3core.inference.policy import Policy
from td3core.playing.numbers import EpisodeLog
from td3core.playing.playback import Agent, Playback
from td3core.playing.step import RolloutStep


def evaluate(
    policy: Policy,
    env: EnvChoice | str,
    *,
    episodes: int,
    seed: int,
    keep_going: Callable[[], bool] = lambda: True,
    critics: ValueNetworks | None = None,
) -> EvaluationResult | None:
    """Complete ``episodes`` noise-free episodes and return their results.

    The i-th episode starts from the same state whenever ``seed`` is the same, so that evaluations
    are comparable and a logged result can be reproduced from its checkpoint.

    Args:
        policy: Maps observations (obs_dim,) to actions (act_dim,) in [-1, 1].
        env: The environment, by its identifier or with arguments.
        episodes: Number of episodes.
        seed: Seed from which the reset seed of each episode is derived.
        keep_going: Called after every step; evaluation ends once it returns False.
        critics: If given, their overestimation is measured as well. For this, episodes truncated by
            a time limit are continued, which changes neither returns nor lengths.

    An environment that may come from a file is made in another process first
    (:func:`td3core.envs.check.rehearsal.rehearse`).

    Returns:
        ``None`` if ``keep_going`` ended the evaluation.

    Raises:
        RequestError: the environment cannot be made.
    """
    choice = env if isinstance(env, EnvChoice) else EnvChoice(env)
    try:
        rehearse([choice], stopped=lambda: not keep_going())
    except StoppedError:
        return None
    agent, last_steps = Agent(choice=choice, policy=policy), list[RolloutStep]()
    values: list[EpisodeValues] = []
    for index in range(episodes):
        log = None if critics is None else EpisodeLog(0, most_bytes=None)
        with closing(Playback(agent, seed, index, log=log)) as playback:
            for _ in playback:
                if not keep_going():
                    return None
            if critics is not None and log is not None:
                found = episode_values(playback, log, policy, critics, keep_going)
                if found is None:
                    return None
                values.append(found)
        last_steps.append(playback.step)
    result = collect_result(last_steps, seed)
    return replace(result, overestimation=overestimation(values, seed)) if values else result


def collect_result(last_steps: Sequence[RolloutStep], seed: int) -> EvaluationResult:
    """Collect returns and lengths from the last steps of completed episodes."""
    returns = tuple(step.total for step in last_steps)
    return EvaluationResult(returns, tuple(step.number for step in last_steps), seed)
