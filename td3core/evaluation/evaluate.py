"""Noise-free evaluation on environments of its own, with seeds of its own."""

from collections.abc import Callable, Sequence

from td3core.config.env_choice import EnvChoice
from td3core.envs.make import make_env
from td3core.evaluation.result import EvaluationResult
from td3core.evaluation.rollout import RolloutStep, rollout
from td3core.inference.policy import Policy
from td3core.randomness import Purpose, episode_seed


def evaluate(
    policy: Policy,
    env: EnvChoice | str,
    *,
    episodes: int,
    seed: int,
    keep_going: Callable[[], bool] = lambda: True,
) -> EvaluationResult | None:
    """Complete exactly ``episodes`` episodes and return them.

    The i-th episode always starts from the same state for the same seed, so that two evaluations
    compare like with like and a logged figure can be had again from its checkpoint.
    ``keep_going`` is asked after every step; when it says no, the result is ``None``.
    """
    played: list[RolloutStep] = []
    for index in range(episodes):
        # A fresh environment for each: reused physics worlds remember the episode before.
        made = make_env(env)
        try:
            for moment in rollout(made, policy, episode_seed(seed, Purpose.EVALUATION, index)):
                if not keep_going():
                    return None
                if moment.over:
                    played.append(moment)
        finally:
            made.close()
    return evaluation_of(played, seed)


def evaluation_of(last_moments: Sequence[RolloutStep], seed: int) -> EvaluationResult:
    """Gather returns and lengths from the last moments of completed episodes."""
    returns = tuple(moment.total for moment in last_moments)
    return EvaluationResult(returns, tuple(moment.step for moment in last_moments), seed)
