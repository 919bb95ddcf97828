"""The curves of a run: returns, training statistics, evaluations, and their times."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from studio.session.series import Series
from td3core.analysis.measured import clock_of
from td3core.analysis.results import SMOOTHED_EPISODES, trailing_mean
from td3core.arrays import Doubles
from td3core.protocol.events import Evaluated, Event, Progress
from td3core.protocol.metrics import TRAINING_COLUMNS
from td3core.protocol.rows import EVALUATION_METRICS, evaluation_numbers

EPISODES = ("env_steps", "return", "smoothed", "length")
EVALUATIONS = ("env_steps", *(metric.name for metric in EVALUATION_METRICS))
CLOCK = ("env_steps", "wall_s")


class RunCurves:
    """Curves that grow with the reports of a run, or are filled when its files are read."""

    def __init__(self) -> None:
        self.episodes = Series(EPISODES)
        self.training = Series(TRAINING_COLUMNS)
        self.evaluations = Series(EVALUATIONS)
        self.episode_times = Series(CLOCK)
        self.training_times = Series(CLOCK)
        self.evaluation_times = Series(CLOCK)
        self._reached: Doubles = np.empty((0, 2))
        """The last reported step and its time, shape (1, 2); (0, 2) before the first report."""
        self._recent: Doubles = np.empty(0)
        """The last returns, at most ``SMOOTHED_EPISODES - 1``, for the next trailing mean."""

    def add(self, event: Event, last_step: float = math.inf) -> None:
        """Add the data of an event, up to ``last_step``."""
        if isinstance(event, Evaluated) and event.env_steps <= last_step:
            self.evaluations.append((event.env_steps, *evaluation_numbers(event)))
            self.evaluation_times.append((event.env_steps, event.wall_s))
        if not isinstance(event, Progress):
            return
        self.training.append(event.training[event.training[:, 0] <= last_step])
        info = event.ended.info_columns
        ended = event.ended.columns("env_steps", "episode_return", "length", *info)
        known = ended[:, 0] <= last_step
        ended = ended[known]
        # A length of 0 was not recorded.
        ended[ended[:, 2] == 0, 2] = math.nan
        self.add_episodes(ended, info)
        self.episode_times.append(event.ended.columns("env_steps", "wall_s")[known])
        times = event.training_times
        self.training_times.append(times[times[:, 0] <= last_step])
        if event.env_steps <= last_step:
            self._reached = np.array([(event.env_steps, event.wall_s)], dtype=np.float64)

    @property
    def clock(self) -> Doubles:
        """Steps and the seconds at which they were reached, see :func:`clock_of`."""
        return clock_of(
            self.episode_times.rows(),
            self.training_times.rows(),
            self.evaluation_times.rows(),
            self._reached,
        )

    @property
    def info_columns(self) -> tuple[str, ...]:
        """Columns of the environment's info that episodes recorded."""
        return self.episodes.columns[len(EPISODES) :]

    def add_episodes(self, rows: ArrayLike, info: Sequence[str] = ()) -> None:
        """Add episodes, shape (n, 3 + len(info)).

        The columns are the step at the episode's end, its return, its length, and ``info``.
        """
        new = [name for name in info if name not in self.episodes.columns]
        if new:
            self.episodes.add_columns(new)
        given = np.asarray(rows, dtype=np.float64).reshape(-1, 3 + len(info))
        steps, returns, lengths = given[:, :3].T
        known = np.concatenate((self._recent, returns))
        smoothed = trailing_mean(known, SMOOTHED_EPISODES)[len(self._recent) :]
        self._recent = known[1 - SMOOTHED_EPISODES :]
        by_name = dict(zip(info, given[:, 3:].T, strict=True))
        unknown = np.full(len(given), math.nan)
        others = (by_name.get(name, unknown) for name in self.info_columns)
        self.episodes.append(np.column_stack((steps, returns, smoothed, lengths, *others)))

    def keep_to(self, env_steps: float) -> None:
        """Drop everything after a step."""
        times = (self.episode_times, self.training_times, self.evaluation_times)
        for series in (self.episodes, self.training, self.evaluations, *times):
            series.keep_to(env_steps)
        self._reached = self._reached[self._reached[:, 0] <= env_steps]
        self._recent = self.episodes.column("return")[1 - SMOOTHED_EPISODES :].copy()
