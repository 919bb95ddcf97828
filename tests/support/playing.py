"""Plays a bundled agent again, and compares it with its record.

The record has the returns of the 100 episodes that judged the agent, in one numerics class. Under
``repeated`` it has the first of them in others, whose bits lead to other episodes of the same
distribution.
"""

import hashlib
from typing import Any

import numpy as np

from td3core.algorithm.fingerprint import environment_packages, versions_of
from td3core.checkpoint import Checkpoint
from td3core.evaluation.evaluate import evaluate
from td3core.system import numerics

_OBSERVATIONS = 64
EPISODES, MANY = 3, 20
"""Episodes that must be repeated exactly; and those whose mean must lie within the record's."""


def played_with(agent: Checkpoint) -> dict[str, Any]:
    """Return class, versions, and a digest of some actions of an agent here."""
    source, act = np.random.default_rng(0), agent.policy()
    size = (_OBSERVATIONS, agent.header.env.obs_dim)
    actions = [act(obs) for obs in source.normal(size=size).astype(np.float32)]
    return {
        "class": numerics.current(),
        "versions": versions_of(["numpy", *environment_packages(agent.header.config.env)]),
        "probe": hashlib.sha256(b"".join(each.tobytes() for each in actions)).hexdigest(),
    }


def recorded_returns(agent: Checkpoint, record: dict[str, Any]) -> list[float] | None:
    """Return the required returns of the first episodes; None without a matching record."""
    here = played_with(agent)
    for found in (record["evaluation"], *record.get("repeated", ())):
        if found["played_with"] == here:
            return list(found["returns"][:EPISODES])
    return None


def returns_of(agent: Checkpoint, record: dict[str, Any], episodes: int) -> list[float]:
    """Play the first of the episodes that judged a bundled agent."""
    seed, choice = record["evaluation"]["seed"], agent.header.choice
    found = evaluate(agent.policy(), choice, episodes=episodes, seed=seed)
    assert found is not None
    return list(found.returns)


def interval(returns: list[float]) -> tuple[float, float]:
    """Return where 999 of 1,000 means of ``MANY`` of these lie, drawn with replacement."""
    drawn = np.random.default_rng(0).choice(returns, (20_000, MANY)).mean(axis=1)
    low, high = np.quantile(drawn, [0.0005, 0.9995])
    # A return that hardly varies may still differ in its last digits.
    slack = 1e-3 * float(np.mean(np.abs(returns)))
    return float(low) - slack, float(high) + slack


def require_alike(returns: list[float], record: dict[str, Any]) -> None:
    """Refuse ``MANY`` returns that are not of the record's distribution."""
    low, high = interval(record["evaluation"]["returns"])
    assert low <= np.mean(returns) <= high, f"{np.mean(returns)} is not in {low} to {high}"
