"""Random steps in an environment, with what it hands out before an agent's view tidies it."""

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from td3core.config.env_choice import EnvChoice
from td3core.envs.agent_view import AgentView
from td3core.envs.make import make_env
from td3core.errors import RequestError

SEED = 1

PATIENCE_S = 5.0
"""After this time a trial ends early,"""
FEWEST_STEPS = 10
"""though not before so many steps."""


@dataclass(slots=True)
class Played:
    """Random steps from one seed, with what the environment itself handed out."""

    observations: list[NDArray[Any]]
    rewards: list[float]
    ends: list[bool]
    space: Box
    """What it announced."""


class FaultError(Exception):
    """The environment raised; the text is a sentence."""


def play(choice: EnvChoice, steps: int) -> Played:
    """Take random actions in a fresh environment; episodes that end are followed by others.

    The same choice brings the same actions and seeds each time. A slow environment takes fewer
    steps than asked for.

    Raises:
        FaultError: the environment raised, or returned what cannot be read.
    """
    source = np.random.default_rng(SEED)
    began, env = time.monotonic(), _guarded("being made", make_env, choice)
    try:
        obs, _ = _guarded("its reset", env.env.reset, seed=SEED)
        space = env.env.observation_space
        assert isinstance(space, Box)
        played = Played([_array(obs)], [], [], space)
        for number in range(1, steps + 1):
            action = env.to_env(source.uniform(-1.0, 1.0, _act_dim(env)))
            outcome = _guarded(f"random step {number}", env.env.step, action)
            _keep(played, outcome, number)
            if played.ends[-1]:
                _guarded("a second reset", env.env.reset, seed=SEED + number)
            if number >= FEWEST_STEPS and time.monotonic() - began > PATIENCE_S:
                break
        return played
    finally:
        env.close()


def _keep(played: Played, outcome: Any, number: int) -> None:
    if not isinstance(outcome, tuple) or len(outcome) != 5:
        raise FaultError(
            f"Its step returned {_shape_of(outcome)} instead of observation, reward, terminated,"
            " truncated and info."
        )
    obs, reward, terminated, truncated, _ = outcome
    try:
        played.rewards.append(float(reward))
    except (TypeError, ValueError):
        raise FaultError(f"The reward of random step {number} is no number.") from None
    played.observations.append(_array(obs))
    played.ends.append(bool(terminated or truncated))


def _guarded(doing: str, call: Callable[..., Any], *args: Any, **words: Any) -> Any:
    try:
        return call(*args, **words)
    except RequestError:
        raise
    except Exception as problem:
        last = traceback.extract_tb(problem.__traceback__)[-1]
        place = f"{last.filename.replace(chr(92), '/').rpartition('/')[2]}, line {last.lineno}"
        text = (str(problem).strip().splitlines() or ["no reason given"])[0].rstrip(".")
        raise FaultError(
            f"It raised {type(problem).__name__} in {doing} ({place}): {text}."
        ) from problem


def _array(obs: Any) -> NDArray[Any]:
    try:
        return np.array(obs)
    except ValueError:
        raise FaultError("An observation is no array of numbers.") from None


def _act_dim(env: AgentView) -> int:
    space = env.env.action_space
    assert isinstance(space, Box)
    return int(np.prod(space.shape))


def _shape_of(outcome: object) -> str:
    return f"{len(outcome)} values" if isinstance(outcome, tuple) else type(outcome).__name__
