"""The objective that a sweep maximises, from the evaluations of a run."""

from collections.abc import Sequence

import numpy as np

Evaluations = Sequence[tuple[int, float]]
"""(environment steps, mean return), by step."""


def value_of(
    objective: str, evaluations: Evaluations, warm_up: tuple[int, float] | None = None
) -> float:
    """Return the objective of one run.

    ``area`` is the area under the curve (trapezoids) from step 0 to the last evaluation, divided by
    its width in steps, so that it is a return: the mean level of the curve. Left out, the steps
    before the first evaluation would favour runs that begin to learn late.

    Args:
        objective: ``last_eval``, ``best_eval`` or ``area``.
        evaluations: At least one.
        warm_up: The last step before learning began, and the mean return until then. If None, the
            first evaluation holds from step 0 on.
    """
    steps, means = np.array(evaluations, dtype=np.float64).T
    if objective == "best_eval":
        return float(means.max())
    if objective == "last_eval":
        return float(means[-1])
    end, level = warm_up or (0, means[0])
    # A run that ends during its warm-up is evaluated before the end of that.
    begin = [0, min(end, steps[0])]
    steps, means = np.append(begin, steps), np.append([level, level], means)
    return float(np.trapezoid(means, steps) / steps[-1])
