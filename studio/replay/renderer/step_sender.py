"""Sends the numbers of the current episode that the window requests."""

import numpy as np

from td3core.arrays import Floats
from td3core.inference.critic import Critic
from td3core.playing.numbers import EpisodeLog, StepData, Steps

SWEEP_POINTS = 81
"""Values of the swept dimension, evenly from -1 to 1, in addition to the action's own."""


class StepSender:
    """Tracks which steps of the current episode the window wants, and already has."""

    def __init__(self) -> None:
        self.on = False
        """Whether the window wants any."""
        self._sent = 0

    def switch(self, on: bool) -> None:
        """Begin with the first step of the current episode, or stop."""
        self.on, self._sent = on, 0

    def begin_episode(self) -> None:
        """Begin with the first step of another episode."""
        self._sent = 0

    def unsent(self, log: EpisodeLog, playback_id: int, critic: Critic | None) -> Steps | None:
        """Return the steps to send now."""
        found = log.after(self._sent, playback_id, critic) if self.on else None
        if found is not None:
            self._sent = found.first + len(found.reward) - 1
        return found

    def at(self, step: int, log: EpisodeLog, critic: Critic | None) -> StepData | None:
        """Return the numbers of one step, the newest or an earlier one."""
        found = log.after(step - 1, 0, critic, most=1) if self.on and step > 0 else None
        if found is None:
            return None
        return StepData(
            step=found.first,
            reward=float(found.reward[0]),
            total=float(found.total[0]),
            min_q=float(found.min_q[0]),
            action=found.action[0],
            obs=found.obs[0],
        )


def sweep(critic: Critic, obs: Floats, action: Floats, dimension: int) -> tuple[Floats, Floats]:
    """Return values of one dimension of an action (n,), and the critics' values (critics, n).

    The action's own value is one of them.
    """
    even = np.linspace(-1.0, 1.0, SWEEP_POINTS, dtype=np.float32)
    grid = np.sort(np.append(even, action[dimension]))
    actions = np.repeat(action[None, :], len(grid), axis=0)
    actions[:, dimension] = grid
    return grid, critic(np.repeat(obs[None, :], len(grid), axis=0), actions)
