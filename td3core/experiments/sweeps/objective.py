"""The objective that a sweep maximises, from the evaluations of a run."""

from collections.abc import Sequence

import numpy as np

Evaluations = Sequence[tuple[int, float]]
"""(environment steps, mean return), by step."""


def value_of(objective: str, evaluations: Evaluations) -> float:
    """Return the objective of one run.

    ``area`` is the area under the evaluation curve (trapezoids) divided by its width in steps, so
    that it is a return: the mean level of the curve.

    Args:
        objective: ``last_eval``, ``best_eval`` or ``area``.
        evaluations: At least one.
    """
    steps, means = np.array(evaluations, dtype=np.float64).T
    if objective == "best_eval":
        return float(means.max())
    if objective == "last_eval" or len(steps) == 1:
        return float(means[-1])
    return float(np.trapezoid(means, steps) / (steps[-1] - steps[0]))


def value_until(objective: str, evaluations: Evaluations, env_steps: int) -> float:
    """Return the objective that a run would have if it ended at this step."""
    return value_of(objective, [each for each in evaluations if each[0] <= env_steps])
