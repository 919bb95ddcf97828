"""What evaluations come to: returns, lengths, and how many of them reach a threshold."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """Returns and lengths of completed episodes."""

    returns: tuple[float, ...]
    lengths: tuple[int, ...]
    seed: int

    @property
    def mean(self) -> float:
        """Mean return."""
        return float(np.mean(self.returns))

    @property
    def std(self) -> float:
        """Standard deviation of the returns (population)."""
        return float(np.std(self.returns))

    def success(self, threshold: float | None) -> float | None:
        """Share of the episodes that reach ``threshold``; None where there is none."""
        return success_of(self.returns, threshold)


def success_of(returns: Sequence[float], threshold: float | None) -> float | None:
    """Return the share of ``returns`` that reach ``threshold``; None where there is none."""
    if threshold is None:
        return None
    return sum(value >= threshold for value in returns) / len(returns)
