"""Pairs of runs that differ in one change: the size of its effect, and its significance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from td3core.analysis.aggregate import CONFIDENCE, Interval
from td3core.config.value_text import plain_return, typographic
from td3core.text import Text, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """How much higher the first of each pair is than the second."""

    differences: tuple[float, ...]
    interval: Interval | None
    """95 % interval of the mean; None from a single pair."""

    @property
    def mean(self) -> float:
        """Mean difference."""
        return float(np.mean(self.differences))

    @property
    def higher(self) -> int:
        """Number of differences above 0."""
        return sum(each > 0.0 for each in self.differences)

    @property
    def is_certain(self) -> bool:
        """Whether the interval excludes 0."""
        interval = self.interval
        return interval is not None and (interval.low > 0.0 or interval.high < 0.0)

    def in_words(self, steps: int) -> Text:
        """Return the result as a sentence, for a change judged after ``steps`` steps."""
        interval = self.interval
        ends = () if interval is None else (interval.low, interval.high)
        digits = _digits(max(map(abs, (self.mean, *ends))))

        def shown(value: float) -> str:
            return typographic(plain_return(value, digits))

        pairs = len(self.differences)
        values: dict[str, Value] = {
            "steps": f"{steps:,}",
            "size": shown(abs(self.mean)),
        }
        if interval is None:
            if self.mean == 0.0:
                return Text(
                    "After {steps} steps equal, in one pair: one seed proves nothing.", **values
                )
            if self.mean > 0.0:
                return Text(
                    "After {steps} steps {size} higher, in one pair: one seed proves nothing.",
                    **values,
                )
            return Text(
                "After {steps} steps {size} lower, in one pair: one seed proves nothing.", **values
            )
        low, high = interval.low, interval.high
        if not self.is_certain:
            return Text.counted(
                "After {steps} steps no clear difference: {mean} [{low}, {high}], higher in"
                " {higher} of {n} pair.",
                "After {steps} steps no clear difference: {mean} [{low}, {high}], higher in"
                " {higher} of {n} pairs.",
                n=pairs,
                mean=shown(self.mean),
                low=shown(low),
                high=shown(high),
                higher=self.higher,
                **values,
            )
        if self.mean > 0.0:
            return Text.counted(
                "After {steps} steps {size} [{low}, {high}] better, {higher} of {n} pair.",
                "After {steps} steps {size} [{low}, {high}] better, {higher} of {n} pairs.",
                n=pairs,
                low=shown(low),
                high=shown(high),
                higher=self.higher,
                **values,
            )
        return Text.counted(
            "After {steps} steps {size} [{low}, {high}] worse, {higher} of {n} pair.",
            "After {steps} steps {size} [{low}, {high}] worse, {higher} of {n} pairs.",
            n=pairs,
            low=shown(-high),
            high=shown(-low),
            higher=pairs - self.higher,
            **values,
        )


def _digits(largest: float) -> int:
    """Return how many decimals are meaningful for numbers up to this size."""
    sizes = (10.0, 1.0, 0.1, 0.01)
    return next((digits for digits, size in enumerate(sizes) if largest >= size), 4)


def paired_difference(first: Sequence[float], second: Sequence[float]) -> PairedDifference:
    """Compare values in pairs, one of each run; with Student's t interval of the mean difference.

    A bootstrap interval of three pairs could not reach beyond the smallest and largest difference,
    and would exclude 0 by chance in a quarter of all cases.

    Raises:
        ValueError: there are no pairs, or the numbers of values differ.
    """
    differences = np.array(first, np.float64) - np.array(second, np.float64)
    if not len(differences):
        raise ValueError("no pairs to compare")
    count, interval = len(differences), None
    if count > 1:
        middle = float(differences.mean())
        # Here, not at the top: it would delay the window's start by a fifth of a second.
        from scipy.special import stdtrit

        tail = float(stdtrit(count - 1, (1.0 + CONFIDENCE) / 2.0))
        reach = tail * float(differences.std(ddof=1)) / count**0.5
        interval = Interval(low=middle - reach, high=middle + reach)
    return PairedDifference(differences=tuple(differences.tolist()), interval=interval)
