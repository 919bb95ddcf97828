"""Random steps in an environment, with observations and rewards as the environment returns them."""

import math
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from td3core.config.env_choice import EnvChoice
from td3core.envs.agent_view import AgentView
from td3core.envs.info_means import entries_of
from td3core.envs.make import make_env
from td3core.errors import MessageError, RequestError, reason_of, require_no_interrupt
from td3core.text import Text

T = TypeVar("T")

SEED = 1

STEPS = 100
"""Random steps that the checks examine."""

TIME_LIMIT_S = 5.0
"""Seconds after which a probe ends, once it has taken :data:`MIN_STEPS`."""
MIN_STEPS = 10
"""Steps that a probe takes regardless of the time limit."""


@dataclass(slots=True)
class Rollout:
    """Random steps from one seed. The reset adds one more observation than there are rewards."""

    observations: list[NDArray[Any]]
    """As returned: of any shape and data type."""
    rewards: list[float]
    ends: list[bool]
    """True where a step ended an episode."""
    space: Box
    """The observation space that the environment declares."""
    info: dict[str, bool] = field(default_factory=dict)
    """The (dotted) names in the returned info, and whether each was always a finite number."""


class ProbeError(MessageError):
    """The environment raised an exception, or returned something unusable."""


def run_probe(
    choice: EnvChoice, steps: int, least: int = MIN_STEPS, limit_s: float = TIME_LIMIT_S
) -> Rollout:
    """Take random actions in a fresh environment; a new episode follows each one that ends.

    Actions and seeds are the same for the same environment. A slow environment takes no further
    step after ``limit_s`` seconds, but at least ``least`` steps in total.

    Raises:
        RequestError: the environment cannot be made.
        ProbeError: it raised an exception, or returned something unusable.
    """
    source = np.random.default_rng(SEED)
    started, env = time.monotonic(), _guarded(Text("construction"), make_env, choice)
    try:
        obs = _reset(env, Text("reset"), SEED)
        space = env.env.observation_space
        assert isinstance(space, Box)
        probe = Rollout([_array(obs)], [], [], space)
        for number in range(1, steps + 1):
            action = env.to_env(source.uniform(-1.0, 1.0, _act_dim(env)))
            place = Text("random step {number}", number=number)
            result = _guarded(place, env.env.step, action)
            _append(probe, result, number)
            _guarded(place, _note_info, probe, result[-1])
            if probe.ends[-1]:
                _reset(env, Text("second reset"), SEED + number)
            if number >= least and time.monotonic() - started > limit_s:
                break
        return probe
    finally:
        env.close()


def _reset(env: AgentView, place: Text, seed: int) -> Any:
    """Return the first observation of an episode."""
    result = _guarded(place, env.env.reset, seed=seed)
    _require_parts(result, 2, "reset()", Text("observation and info"))
    obs, info = result
    # None is harmless, but a number is the second one of an observation.
    if not (info is None or isinstance(info, Mapping)):
        raise ProbeError(
            "reset() returned {type} instead of a dictionary as info.", type=type(info).__name__
        )
    return obs


def _append(probe: Rollout, result: Any, number: int) -> None:
    """Add the result of ``step`` to the probe."""
    parts = Text("observation, reward, terminated, truncated and info")
    _require_parts(result, 5, "step()", parts)
    obs, reward, terminated, truncated, _ = result
    problem = ProbeError("The reward of random step {number} is not a number.", number=number)
    probe.rewards.append(_converted(reward, float, problem))
    probe.observations.append(_array(obs))
    ends = []
    for name, value in (("terminated", terminated), ("truncated", truncated)):
        problem = ProbeError(
            "The value of {name} of random step {number} is neither true nor false.",
            name=name,
            number=number,
        )
        ends.append(_converted(value, bool, problem))
    probe.ends.append(any(ends))


def _require_parts(result: Any, count: int, call: str, parts: Text) -> None:
    """Check that ``call`` returned a tuple of ``count`` values, named by ``parts``."""
    if not isinstance(result, tuple):
        raise ProbeError(
            "{call} returned {type} instead of {parts}.",
            call=call,
            type=type(result).__name__,
            parts=parts,
        )
    if len(result) != count:
        raise ProbeError(
            Text.counted(
                "{call} returned {n} value instead of {parts}.",
                "{call} returned {n} values instead of {parts}.",
                n=len(result),
                call=call,
                parts=parts,
            )
        )


def _note_info(probe: Rollout, info: Any) -> None:
    for name, number in entries_of(info):
        usable = number is not None and math.isfinite(number)
        probe.info[name] = usable and probe.info.get(name, True)


def _guarded(place: Text, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call the environment; ``place`` names the call in the error."""
    try:
        return call(*args, **kwargs)
    except RequestError:
        raise
    except BaseException as problem:
        require_no_interrupt(problem)
        last = traceback.extract_tb(problem.__traceback__)[-1]
        raise ProbeError(
            "It raised {error} at {place} ({file}, line {line}): {reason}.",
            error=type(problem).__name__,
            place=place,
            file=last.filename.replace("\\", "/").rpartition("/")[2],
            line=last.lineno,
            reason=(reason_of(problem).strip().splitlines() or ["no reason given"])[0].rstrip("."),
        ) from problem


def _array(obs: Any) -> NDArray[Any]:
    problem = ProbeError("An observation is not an array of numbers.")
    return _converted(obs, np.array, problem)


def _converted(value: Any, convert: Callable[[Any], T], problem: ProbeError) -> T:
    """Convert what the environment returned, which may be of any class and raise anything."""
    try:
        return convert(value)
    except Exception:
        raise problem from None


def _act_dim(env: AgentView) -> int:
    space = env.env.action_space
    assert isinstance(space, Box)
    return int(np.prod(space.shape))
