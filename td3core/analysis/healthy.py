"""Curves of healthy runs of the presets, for the pictures next to explanations.

``resources/healthy/ENV.csv`` holds a run of the preset up to 20,000 steps after its first update,
``ENV-tqc.csv`` one of a preset of TQC, whose losses are not comparable. For the return, the
evaluations of a bundled agent's whole run are used instead, if there are any.
``tests/benchmarks/health.py`` makes the tables.
"""

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from td3core.arrays import Doubles
from td3core.config.algorithms import TD3, TQC

RETURN = "return"
COURSES = (RETURN, "q1", "critic1_loss", "actor_loss")
"""The columns of the tables, besides ``env_steps``; the return is a mean over 20 episodes."""
USUAL = "Pendulum-v1"
USUAL_OF_TQC = "BipedalWalker-v3"
"""These two stand in for environments without a recorded run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One quantity of a healthy run."""

    env: str
    env_steps: Doubles
    """(n,), ascending."""
    values: Doubles
    """(n,)"""
    evaluated: bool
    """Whether the values are evaluations of a whole run, not its beginning."""


def healthy_course(env: str, column: str, algorithm: str = TD3) -> Course | None:
    """Return the curve of a quantity in a healthy run of an environment, else of its stand-in.

    None for a quantity that is not on record.
    """
    if column not in COURSES:
        return None
    whole = _evaluations(env) if column == RETURN else None
    if whole is not None:
        steps, values = whole
        return Course(env=env, env_steps=steps, values=values, evaluated=True)
    usual, suffix = (USUAL_OF_TQC, "-tqc") if algorithm == TQC else (USUAL, "")
    for name in (env, usual):
        table = _table(name + suffix)
        if table is not None:
            known = np.isfinite(table[column])
            steps, values = table["env_steps"][known], table[column][known]
            return Course(env=name, env_steps=steps, values=values, evaluated=False)
    return None


@cache
def _table(preset: str) -> Mapping[str, Doubles] | None:
    rows = _text("healthy", f"{preset}.csv")
    if rows is None:
        return None
    found = list(csv.DictReader(rows.splitlines()))
    names = ("env_steps", *COURSES)
    return {name: np.array([float(row[name] or "nan") for row in found]) for name in names}


@cache
def _evaluations(env: str) -> tuple[Doubles, Doubles] | None:
    about = _text("agents", f"{env}.json")
    curve = json.loads(about).get("curve") if about is not None else None
    if not curve:
        return None
    steps, values = np.array(curve, np.float64).T
    return steps, values


def _text(folder: str, name: str) -> str | None:
    """Return a bundled file; None if it does not exist."""
    if "/" in name or "\\" in name:
        return None
    path = files("resources") / folder / name
    return path.read_text("utf-8") if path.is_file() else None
