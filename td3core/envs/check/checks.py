"""The single checks of an environment: each examines one property and returns a finding."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Doubles
from td3core.config.env_choice import EnvChoice
from td3core.envs.catalogue import find_known
from td3core.envs.check.gymnasium_check import run_gymnasium_check
from td3core.envs.check.probe import Rollout, run_probe
from td3core.envs.check.report import Finding, Level, error, passed, warning
from td3core.envs.info import EnvInfo
from td3core.envs.make import make_env
from td3core.envs.simulators import discard_stdout
from td3core.errors import RequestError, quoted
from td3core.text import Text

ACTIONS, OBSERVATIONS = Text("actions"), Text("observations")
SHAPE, VALUES, REWARDS = Text("shape"), Text("values"), Text("rewards")
REPEATABLE, EPISODES, STEPPING = Text("repeatable"), Text("episodes"), Text("steps")
GYMNASIUM, INFO = Text("Gymnasium's check"), Text("info")

_WIDE, _NARROW = 1e3, 1e-3
"""Half ranges of an action beyond which it is suspicious."""
_LARGE_REWARD, _SMALL_REWARD = 1e3, 1e-4
_LARGE_OBS = 1e3
_MANY_OBS = 5_000


def check_actions(info: EnvInfo) -> Finding:
    """Check the bounds of the actions."""
    low, high = info.action_low, info.action_high
    half = (np.array(high) - np.array(low)) / 2
    for odd, template in (
        (
            half > _WIDE,
            "The range of action {index}, {low:g} to {high:g}, is very wide; noise is in units of"
            " half that range.",
        ),
        (
            half < _NARROW,
            "The range of action {index}, {low:g} to {high:g}, is very narrow; noise is in units of"
            " half that range.",
        ),
    ):
        if odd.any():
            i = int(odd.argmax())
            return warning(ACTIONS, template, index=i, low=low[i], high=high[i])
    if len(set(low)) == len(set(high)) == 1:
        bounds = Text.counted(
            "One action from {low:g} to {high:g}.",
            "{n} actions, each from {low:g} to {high:g}.",
            n=info.act_dim,
            low=low[0],
            high=high[0],
        )
    else:
        bounds = Text.counted(
            "{n} action with bounds of its own.",
            "{n} actions, each with its own bounds.",
            n=info.act_dim,
        )
    return Finding(Level.OK, ACTIONS, bounds)


def check_size(info: EnvInfo) -> Finding:
    """Check the size of the observations."""
    if info.obs_dim > _MANY_OBS:
        return warning(
            OBSERVATIONS,
            "Each observation holds {count:,} numbers, as images do; the networks are meant for far"
            " fewer.",
            count=info.obs_dim,
        )
    size = Text.counted(
        "One number per observation.", "{n} numbers per observation.", n=info.obs_dim
    )
    return Finding(Level.OK, OBSERVATIONS, size)


def check_shapes(probe: Rollout) -> Finding:
    """Check shape and data type of the observations against the declared space."""
    space = probe.space
    other_dtype: Finding | None = None
    for i, obs in enumerate(probe.observations):
        if obs.shape != space.shape:
            return error(
                SHAPE,
                "The observation at {place} has shape {found}, but the space declares {declared}.",
                place=_place(i),
                found=obs.shape,
                declared=space.shape,
            )
        if not _is_numeric(obs):
            return error(SHAPE, "The observation at {place} is not numeric.", place=_place(i))
        if obs.dtype != space.dtype and other_dtype is None:
            other_dtype = warning(
                SHAPE,
                "The observation at {place} is {found}, but the space declares {declared}. The"
                " agent gets float32 either way; .astype(np.{declared}) makes them agree.",
                place=_place(i),
                found=str(obs.dtype),
                declared=str(space.dtype),
            )
    return other_dtype or passed(
        SHAPE,
        "Shape {shape} and data type {dtype} as declared.",
        shape=space.shape,
        dtype=str(space.dtype),
    )


def check_values(probe: Rollout) -> Finding:
    """Check that observations are finite, within their bounds and of moderate size.

    Their shapes must have passed :func:`check_shapes`.
    """
    space = probe.space
    largest = 0.0
    for i, obs in enumerate(probe.observations):
        with np.errstate(over="ignore"):
            single = obs.astype(np.float32)
        finite = np.isfinite(single)
        if not finite.all():
            return error(
                VALUES,
                "The observation at {place} contains {value}; networks need finite float32 values.",
                place=_place(i),
                value=float(obs[~finite].flat[0]),
            )
        if not ((space.low <= obs) & (obs <= space.high)).all():
            return warning(
                VALUES,
                "The observation at {place} is outside the bounds of the declared space.",
                place=_place(i),
            )
        largest = max(largest, float(np.abs(single).max(initial=0.0)))
    if largest > _LARGE_OBS:
        return warning(
            VALUES,
            "Observations reach {largest:.3g}; consider normalize_observations.",
            largest=largest,
        )
    return passed(VALUES, "Finite over {steps} random steps.", steps=len(probe.rewards))


def check_rewards(rewards: Doubles) -> Finding:
    """Check that rewards (steps,) are finite and of moderate size."""
    finite = np.isfinite(rewards)
    if not finite.all():
        step = int((~finite).argmax())
        return error(
            REWARDS,
            "The reward of random step {number} is {reward}.",
            number=step + 1,
            reward=float(rewards[step]),
        )
    largest = float(np.abs(rewards).max(initial=0.0))
    ends = {"low": float(rewards.min()), "high": float(rewards.max())}
    if largest > _LARGE_REWARD:
        return warning(
            REWARDS,
            "Rewards are large, from {low:.3g} to {high:.3g}; consider reward_scale.",
            **ends,
        )
    if 0 < largest < _SMALL_REWARD:
        return warning(
            REWARDS,
            "Rewards are small, from {low:.3g} to {high:.3g}; consider reward_scale.",
            **ends,
        )
    return passed(REWARDS, "Rewards from {low:.3g} to {high:.3g}.", **ends)


def check_repeatable(choice: EnvChoice, first: Rollout) -> Finding:
    """Repeat a probe in another fresh environment: resuming a run depends on the same result."""
    second = run_probe(choice, len(first.rewards))
    pairs = zip(first.observations, second.observations, strict=False)
    for i, (one, other) in enumerate(pairs):
        differs = one.shape != other.shape or one.tobytes() != other.tobytes()
        if differs or (i and not _same(first.rewards[i - 1], second.rewards[i - 1])):
            return warning(
                REPEATABLE,
                "The same seed and actions give different results from {place} on; neither runs nor"
                " evaluations can be repeated exactly.",
                place=_place(i),
            )
    return passed(REPEATABLE, "The same seed and actions give the same observations and rewards.")


def check_ends(choice: EnvChoice, info: EnvInfo, probe: Rollout, steps: int) -> Finding:
    """Check that episodes end; if none has, take up to ``steps`` further random steps."""
    if info.max_episode_steps:
        limit = Text.counted(
            "Episodes end after {n} step at most.",
            "Episodes end after {n} steps at most.",
            n=info.max_episode_steps,
        )
        return Finding(Level.OK, EPISODES, limit)
    if not any(probe.ends):
        probe = run_probe(choice, steps)
    if any(probe.ends):
        length = Text.counted(
            "An episode ended after {n} step.",
            "An episode ended after {n} steps.",
            n=probe.ends.index(True) + 1,
        )
        return Finding(Level.OK, EPISODES, length)
    return warning(
        EPISODES,
        "No episode ended in {steps} random steps and there is no time limit; an evaluation might"
        " never end. Set a limit with env_args {example}.",
        steps=len(probe.ends),
        example='{"max_episode_steps": 1000}',
    )


def name_info(numbers: Sequence[str]) -> Finding:
    """List the numbers in the info of an environment's steps."""
    names = ", ".join(numbers)
    return passed(INFO, "Numbers that info_columns can record: {names}.", names=names)


def check_with_gymnasium(choice: EnvChoice) -> Iterator[Finding]:
    """Run Gymnasium's own check; its texts are passed on unchanged."""
    try:
        env = make_env(choice)
        try:
            with discard_stdout(find_known(choice.env_id)):
                warnings, failure = run_gymnasium_check(env.unwrapped)
        finally:
            env.close()
    except RequestError as problem:
        yield Finding(Level.ERROR, GYMNASIUM, problem.message)
        return
    for text in warnings:
        yield Finding(Level.WARNING, GYMNASIUM, quoted(text))
    if failure:
        # The earlier checks find everything that makes a run fail; this one is stricter.
        yield Finding(Level.WARNING, GYMNASIUM, quoted(failure))
    elif not warnings:
        yield passed(GYMNASIUM, "Passed without warnings.")


def _is_numeric(obs: NDArray[Any]) -> bool:
    """Return whether the agent can take an observation as numbers; truth values are 0 and 1."""
    return np.issubdtype(obs.dtype, np.number) or obs.dtype == np.bool_


def _same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def _place(observation: int) -> Text:
    """Return the step at which a probe's observation of this index was returned; 0 is the reset."""
    return Text("random step {number}", number=observation) if observation else Text("reset")
