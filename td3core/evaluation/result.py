"""The result of an evaluation: returns, lengths and success rate."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from td3core.evaluation.overestimation import Overestimation


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """Returns and lengths of completed episodes."""

    returns: tuple[float, ...]
    """Undiscounted return of each episode, in the environment's own rewards."""
    lengths: tuple[int, ...]
    """Steps of each episode."""
    seed: int
    overestimation: Overestimation | None = None
    """The bias of the critics; None if it was not measured, or nothing was left to measure it."""

    @property
    def mean(self) -> float:
        """Mean of the returns."""
        return float(np.mean(self.returns))

    @property
    def std(self) -> float:
        """Population standard deviation of the returns."""
        return float(np.std(self.returns))

    def success(self, threshold: float | None) -> float | None:
        """Return the fraction of episodes that reach ``threshold``; None without one."""
        return success_of(self.returns, threshold)


def success_of(returns: Sequence[float], threshold: float | None) -> float | None:
    """Return the fraction of ``returns`` that reach ``threshold``; None without one."""
    if threshold is None:
        return None
    return sum(value >= threshold for value in returns) / len(returns)
