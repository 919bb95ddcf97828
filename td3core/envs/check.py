"""Tries an environment before an agent is trained on it, and says in plain sentences what is odd.

An *error* is what a run would fail on, a *warning* what makes learning, evaluating or repeating it
doubtful.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from td3core.config import RunConfig
from td3core.config.env_choice import EnvChoice
from td3core.envs.catalogue import find_known
from td3core.envs.gymnasium_check import gymnasium_complaints
from td3core.envs.info import EnvInfo
from td3core.envs.make import check_env, make_env
from td3core.envs.simulators import quiet_while_bare
from td3core.envs.trial import FaultError, Played, play
from td3core.errors import RequestError

STEPS = 100
"""Random steps whose observations and rewards are looked at, and that are repeated."""

_END_STEPS = 2_000
_WIDE, _NARROW = 1e3, 1e-3
_LARGE_REWARD, _SMALL_REWARD = 1e3, 1e-4
_LARGE_OBS = 1e3
_MANY_OBS = 5_000


class Level(StrEnum):
    """How serious a finding is."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at, and what was found."""

    level: Level
    check: str
    """What was looked at, in a word or two."""
    message: str
    """One plain sentence."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What an environment is like."""

    env: EnvInfo
    findings: tuple[Finding, ...]

    def count(self, level: Level) -> int:
        """Return how many findings are of this level."""
        return sum(finding.level is level for finding in self.findings)


def examine(choice: EnvChoice, *, thorough: bool = True) -> CheckReport:
    """Try an environment; ``thorough`` adds Gymnasium's own check and looks longer for an end.

    Raises:
        RequestError: it cannot be made, or TD3 cannot be used on it at all.
    """
    info = check_env(choice)
    findings = [_actions(info), _observations(info)]
    try:
        played = play(choice, STEPS)
        findings += _looked_at(played)
        findings.append(_repeated(choice, played))
        findings.append(_ends(choice, info, played, _END_STEPS if thorough else 10 * STEPS))
    except FaultError as fault:
        findings.append(Finding(Level.ERROR, "steps", str(fault)))
    if thorough:
        findings += _gymnasium(choice)
    return CheckReport(info, tuple(findings))


def check_before_training(config: RunConfig, info: EnvInfo) -> list[str]:
    """Try a run's environment for a moment, unless it is a known one made as usual.

    Returns:
        What is odd about it, in sentences; nothing of that keeps it from being trained on.

    Raises:
        RequestError: with the first error found; nothing has been written yet.
    """
    if not config.env_check or (find_known(info.env_id) and not info.args):
        return []
    findings = examine(config.choice, thorough=False).findings
    for finding in findings:
        if finding.level is Level.ERROR:
            raise RequestError(f"{info.env_id} cannot be trained on: {finding.message}")
    warnings = (finding for finding in findings if finding.level is Level.WARNING)
    return [f"{info.env_id}: {finding.message}" for finding in warnings]


# One look each -----------------------------------------------------------------------------------


def _actions(info: EnvInfo) -> Finding:
    low, high = np.array(info.action_low), np.array(info.action_high)
    half = (high - low) / 2
    where = _bounds_in_words(low, high)
    for odd, word in ((half > _WIDE, "wide"), (half < _NARROW, "narrow")):
        if odd.any():
            i = int(odd.argmax())
            return Finding(
                Level.WARNING,
                "actions",
                f"The bounds of action {i}, {low[i]:g} to {high[i]:g}, are very {word}; noise is in"
                " units of half that range.",
            )
    count = f"{info.act_dim} actions, each" if info.act_dim > 1 else "One action,"
    return Finding(Level.OK, "actions", f"{count} {where}.")


def _bounds_in_words(low: NDArray[Any], high: NDArray[Any]) -> str:
    if np.ptp(low) == 0 and np.ptp(high) == 0:
        return f"from {low[0]:g} to {high[0]:g}"
    return "with bounds of its own"


def _observations(info: EnvInfo) -> Finding:
    if info.obs_dim > _MANY_OBS:
        return Finding(
            Level.WARNING,
            "observations",
            f"Each observation holds {info.obs_dim:,} numbers, as pictures do; the networks here"
            " are made for far fewer.",
        )
    return Finding(Level.OK, "observations", f"{info.obs_dim} numbers in each observation.")


def _looked_at(played: Played) -> Iterator[Finding]:
    yield _shapes(played)
    yield _values(played)
    yield _rewards(np.array(played.rewards))


def _shapes(played: Played) -> Finding:
    space = played.space
    for i, obs in enumerate(played.observations):
        where = f"random step {i}" if i else "its reset"
        if obs.shape != space.shape:
            return Finding(
                Level.ERROR,
                "shape",
                f"The observation of {where} has shape {obs.shape}; {space.shape} was announced.",
            )
        if not np.issubdtype(obs.dtype, np.number):
            return Finding(Level.ERROR, "shape", f"The observation of {where} holds no numbers.")
        if obs.dtype != space.dtype:
            return Finding(
                Level.WARNING,
                "shape",
                f"The observation of {where} is {obs.dtype}; {space.dtype} was announced. The agent"
                " sees float32 either way.",
            )
    return Finding(Level.OK, "shape", f"Shape {space.shape} and {space.dtype} as announced.")


def _values(played: Played) -> Finding:
    space = played.space
    largest = 0.0
    for i, obs in enumerate(played.observations):
        where = f"random step {i}" if i else "its reset"
        if obs.shape != space.shape or not np.issubdtype(obs.dtype, np.number):
            return Finding(Level.ERROR, "values", f"The observation of {where} cannot be judged.")
        with np.errstate(over="ignore"):
            single = obs.astype(np.float32)
        if not np.isfinite(single).all():
            odd = obs[~np.isfinite(single)].flat[0]
            return Finding(
                Level.ERROR,
                "values",
                f"The observation of {where} holds {odd}; a network needs finite float32 numbers.",
            )
        if not ((space.low <= obs) & (obs <= space.high)).all():
            return Finding(
                Level.WARNING,
                "values",
                f"The observation of {where} lies outside the bounds that were announced.",
            )
        largest = max(largest, float(np.abs(single).max(initial=0.0)))
    if largest > _LARGE_OBS:
        return Finding(
            Level.WARNING,
            "values",
            f"Observations are as large as {largest:.3g}; consider normalize_observations.",
        )
    return Finding(Level.OK, "values", f"Finite over {len(played.rewards)} random steps.")


def _rewards(rewards: NDArray[np.float64]) -> Finding:
    if not np.isfinite(rewards).all():
        step = int((~np.isfinite(rewards)).argmax())
        return Finding(
            Level.ERROR, "rewards", f"The reward of random step {step + 1} is {rewards[step]}."
        )
    largest = float(np.abs(rewards).max(initial=0.0))
    span = f"from {rewards.min():.3g} to {rewards.max():.3g}"
    if largest > _LARGE_REWARD or 0 < largest < _SMALL_REWARD:
        size = "large" if largest > 1 else "small"
        return Finding(
            Level.WARNING, "rewards", f"Rewards are {size}, {span}; consider reward_scale."
        )
    return Finding(Level.OK, "rewards", f"Rewards {span}.")


def _repeated(choice: EnvChoice, first: Played) -> Finding:
    """Play the same once more in another fresh environment: resuming a run depends on it."""
    second = play(choice, len(first.rewards))
    pairs = zip(first.observations, second.observations, strict=False)
    for i, (one, other) in enumerate(pairs):
        differs = one.shape != other.shape or one.tobytes() != other.tobytes()
        if differs or (i and first.rewards[i - 1] != second.rewards[i - 1]):
            where = f"from random step {i} on" if i else "from the reset on"
            return Finding(
                Level.WARNING,
                "repeatable",
                f"The same seed and the same actions lead elsewhere {where}; neither runs nor"
                " evaluations can be repeated exactly.",
            )
    return Finding(
        Level.OK, "repeatable", "The same seed and the same actions lead to the same observations."
    )


def _ends(choice: EnvChoice, info: EnvInfo, played: Played, steps: int) -> Finding:
    if info.max_episode_steps:
        limit = f"A time limit ends episodes after {info.max_episode_steps} steps."
        return Finding(Level.OK, "episodes", limit)
    if not any(played.ends):
        played = play(choice, steps)
    if any(played.ends):
        return Finding(
            Level.OK, "episodes", f"An episode ended after {played.ends.index(True) + 1} steps."
        )
    return Finding(
        Level.WARNING,
        "episodes",
        f"No episode ended in {len(played.ends)} random steps, and there is no time limit; an"
        ' evaluation might never end. Set one with env_args {"max_episode_steps": 1000}.',
    )


def _gymnasium(choice: EnvChoice) -> Iterator[Finding]:
    name = "Gymnasium's check"
    try:
        env = make_env(choice)
        try:
            with quiet_while_bare(find_known(choice.env_id)):
                warnings, failure = gymnasium_complaints(env.unwrapped)
        finally:
            env.close()
    except RequestError as problem:
        yield Finding(Level.ERROR, name, str(problem))
        return
    for text in warnings:
        yield Finding(Level.WARNING, name, text)
    if failure:
        yield Finding(Level.ERROR, name, failure)
    elif not warnings:
        yield Finding(Level.OK, name, "Passed without a warning.")
