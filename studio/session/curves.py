"""The curves of a run: returns, training statistics, evaluations, and when each was measured."""

import numpy as np
from numpy.typing import ArrayLike

from studio.session.series import Numbers, Series
from td3core.protocol.metrics import TRAINING_COLUMNS

SMOOTHED_EPISODES = 20
"""Episodes in the running mean of the returns."""

EPISODES = ("env_steps", "return", "smoothed", "length")
EVALUATIONS = ("env_steps", "mean", "std", "success")
CLOCK = ("env_steps", "wall_s")


class RunCurves:
    """Rows are added as they come, one at a time or a whole table at once."""

    def __init__(self, training: Series | None = None) -> None:
        """Take a series with other columns for a run of a version that measured something else."""
        self.episodes = Series(EPISODES)
        self.training = Series(TRAINING_COLUMNS) if training is None else training
        self.evaluations = Series(EVALUATIONS)
        self.clock = Series(CLOCK)
        self._recent: Numbers = np.empty(0)
        """The last returns, at most ``SMOOTHED_EPISODES - 1``: the next mean needs them."""

    def add_training(self, rows: ArrayLike) -> None:
        """Add rows of training statistics, shape (n, len(TRAINING_COLUMNS))."""
        self.training.append(rows)

    def add_episodes(self, rows: ArrayLike) -> None:
        """Add episodes, shape (n, 3): the step each ended at, its return and its length."""
        steps, returns, lengths = np.asarray(rows, dtype=np.float64).reshape(-1, 3).T
        known = np.concatenate((self._recent, returns))
        smoothed = _running_mean(known, SMOOTHED_EPISODES)[len(self._recent) :]
        self._recent = known[1 - SMOOTHED_EPISODES :]
        self.episodes.append(np.column_stack((steps, returns, smoothed, lengths)))

    def add_evaluations(self, rows: ArrayLike) -> None:
        """Add evaluations, shape (n, 4): step, mean, standard deviation, share of successes."""
        self.evaluations.append(rows)

    def add_times(self, rows: ArrayLike) -> None:
        """Add when steps were reached, shape (n, 2): the step, and seconds since the start."""
        self.clock.append(rows)

    def keep_to(self, env_steps: float) -> None:
        """Drop what came after a step."""
        for series in (self.episodes, self.training, self.evaluations, self.clock):
            series.keep_to(env_steps)
        self._recent = self.episodes.column("return")[1 - SMOOTHED_EPISODES :].copy()


def _running_mean(values: Numbers, count: int) -> Numbers:
    """Return the mean of each value and up to ``count - 1`` before it, of those that are finite."""
    finite = np.isfinite(values)
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - count, 0)
    sums = np.concatenate(([0.0], np.cumsum(np.where(finite, values, 0.0))))
    counts = np.concatenate(([0], np.cumsum(finite)))
    found = counts[ends] - counts[starts]
    means: Numbers = np.full(len(values), np.nan)
    np.divide(sums[ends] - sums[starts], found, out=means, where=found > 0)
    return means
