"""The result of an evaluation: returns, lengths and success rate."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Overestimation:
    """The bias of the critics over the states of completed episodes.

    Biases are divided by the larger of |mean G| and 1.
    """

    mean: float
    """Mean bias of min(Q₁, Q₂); above 0 the critics overestimate."""
    std: float
    """Standard deviation of that bias over the states."""
    low: float | None
    """Lower end of the 95 % interval of ``mean``: a bootstrap over the episodes; None from a
    single one, which says nothing about the spread."""
    high: float | None
    """Upper end."""
    critics: tuple[float, ...]
    """Mean bias of each critic."""
    target: float | None
    """Mean bias of the minimum of the target critics; None if the file lacks them."""
    q: float
    """Mean min(Q₁, Q₂), not divided."""
    returns: float
    """Mean discounted return, not divided."""
    open: float
    """Mean weight, in the returns, of the estimated value that replaces unseen rewards."""
    states: int

    @property
    def by_name(self) -> dict[str, float]:
        """The values by the names of their columns in the evaluations table."""
        found = {
            "q_expected": self.q,
            "q_obtained": self.returns,
            "bias": self.mean,
            "bias_std": self.std,
            "bias_open": self.open,
        }
        more = {"bias_low": self.low, "bias_high": self.high, "bias_target": self.target}
        found |= {name: value for name, value in more.items() if value is not None}
        return found | {f"bias_q{number}": bias for number, bias in enumerate(self.critics, 1)}


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """Returns and lengths of completed episodes."""

    returns: tuple[float, ...]
    """Undiscounted return of each episode, in the environment's own rewards."""
    lengths: tuple[int, ...]
    """Steps of each episode."""
    seed: int
    overestimation: Overestimation | None = None
    """Bias of the critics; None if it was not measured, or if no state could be used."""

    @property
    def measured(self) -> dict[str, float]:
        """Measurements besides the returns, by column of the evaluations table."""
        return {} if self.overestimation is None else self.overestimation.by_name

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
