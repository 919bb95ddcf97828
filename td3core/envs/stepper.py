"""Steps several environments one after the other, in the calling thread."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Doubles, Floats
from td3core.envs.episode import Episode, EpisodeStart
from td3core.envs.info import EnvInfo
from td3core.system.isolation import Isolation


class StepArrays(NamedTuple):
    """Actions and results of one step of ``n`` environments, a row for each."""

    reward: Doubles  # (n,)
    action: Floats  # (n, act_dim) in [-1, 1]; written by the caller, the rest by the stepper
    obs: Floats  # (n, obs_dim), after the last step or reset
    terminated: NDArray[np.bool_]  # (n,)
    truncated: NDArray[np.bool_]  # (n,)
    info_means: Doubles  # (n, names), of the last episode that ended (see InfoMeans.row)

    @staticmethod
    def size(info: EnvInfo, count: int, names: int) -> int:
        """Return the number of bytes that :meth:`over` needs for ``count`` rows.

        ``names``: number of averaged ``info`` values.
        """
        return count * sum(_widths(info, names))

    @classmethod
    def over(cls, memory: NDArray[np.uint8], info: EnvInfo, count: int, names: int) -> "StepArrays":
        """Return views of ``count`` rows into ``memory``."""
        ends = np.cumsum([0, *_widths(info, names)]) * count
        parts = [memory[a:b] for a, b in pairwise(ends)]
        return cls(
            reward=parts[0].view(np.float64),
            info_means=parts[1].view(np.float64).reshape(count, names),
            action=parts[2].view(np.float32).reshape(count, info.act_dim),
            obs=parts[3].view(np.float32).reshape(count, info.obs_dim),
            terminated=parts[4].view(np.bool_),
            truncated=parts[5].view(np.bool_),
        )

    def rows(self, first: int, end: int) -> "StepArrays":
        """Return views of the rows ``first`` to ``end``, exclusive."""
        part = slice(first, end)
        return StepArrays(
            reward=self.reward[part],
            action=self.action[part],
            obs=self.obs[part],
            terminated=self.terminated[part],
            truncated=self.truncated[part],
            info_means=self.info_means[part],
        )


def _widths(info: EnvInfo, names: int) -> tuple[int, ...]:
    """Return the bytes per row of each of :class:`StepArrays`, in the order of their memory."""
    return 8, 8 * names, 4 * info.act_dim, 4 * info.obs_dim, 1, 1


class Stepper:
    """Steps the environments of consecutive slots, from slot ``first``, out of ``num_envs``.

    ``info_names``: the numbers of their ``info`` that are averaged over each episode.

    Raises:
        RunError: from :meth:`begin` and :meth:`finish`, for the lowest slot whose environment
            fails.
    """

    def __init__(
        self,
        info: EnvInfo,
        seed: int,
        arrays: StepArrays,
        num_envs: int,
        first: int = 0,
        info_names: Sequence[str] = (),
    ) -> None:
        self._info, self._seed, self._num_envs, self._first = info, seed, num_envs, first
        self._info_names = info_names
        self.arrays = arrays
        self._episodes: list[Episode | None] = [None] * len(arrays.reward)
        self._isolation = Isolation()

    def begin(self, starts: Sequence[EpisodeStart]) -> None:
        """Begin episodes, each in a fresh environment, and write their observations."""
        self._isolation.call(partial(self._begin, starts))

    def _begin(self, starts: Sequence[EpisodeStart]) -> None:
        for start in starts:
            row = start.slot - self._first
            before = self._episodes[row]
            if before is not None:
                before.close()
                self._episodes[row] = None
            episode = Episode(self._info, self._seed, start, self._num_envs, self._info_names)
            self._episodes[row] = episode
            recorded = start.recorded
            self.arrays.obs[row] = episode.repeat(recorded) if recorded else episode.obs

    def start(self) -> None:
        """Do nothing: the calling thread takes the step when it needs the results."""

    def finish(self) -> None:
        """Take the actions in ``arrays``, and write the results there."""
        self._isolation.step(self._step)

    def _step(self) -> None:
        arrays = self.arrays
        for row, episode in enumerate(self._episodes):
            assert episode is not None
            result = episode.step(arrays.action[row])
            arrays.obs[row], arrays.reward[row], arrays.terminated[row], arrays.truncated[row] = (
                result
            )
            if self._info_names and (result.terminated or result.truncated):
                arrays.info_means[row] = episode.info_means.row()

    def close(self) -> None:
        """Close all environments."""
        for episode in self._episodes:
            if episode is not None:
                episode.close()
