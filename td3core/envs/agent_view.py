"""The uniform view of an environment that TD3 acts on, and repeating each action in it."""

import logging
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from td3core.arrays import Floats
from td3core.envs.info_means import rate_of
from td3core.errors import reason_of

log = logging.getLogger(__name__)


class AgentView(gym.Wrapper[Floats, Floats, Any, Any]):
    """Wraps any continuous environment for TD3.

    Observations are flat float32 arrays of shape (obs_dim,); actions are arrays of shape (act_dim,)
    in [-1, 1], mapped to [low, high] in each dimension separately, and rounded if the environment
    takes integers.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        space = env.action_space
        assert isinstance(space, Box)
        low, high = space.low.astype(np.float64), space.high.astype(np.float64)
        self._low, self._high, self._dtype = space.low, space.high, space.dtype
        # A cast alone would truncate, and so favour whole numbers near zero.
        self._whole = np.dtype(space.dtype).kind in "iub"
        self._shape = space.shape
        self._centre, self._half = (high + low).ravel() / 2, (high - low).ravel() / 2

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Floats, Any]:
        """Start an episode; the observation has shape (obs_dim,)."""
        obs, info = self.env.reset(seed=seed, options=options)
        return _flat(obs), info

    def step(self, action: Floats) -> tuple[Floats, float, bool, bool, Any]:
        """Take ``action`` (act_dim,) in [-1, 1]; the observation has shape (obs_dim,)."""
        obs, reward, terminated, truncated, info = self.env.step(self.to_env(action))
        return _flat(obs), float(reward), bool(terminated), bool(truncated), info

    def close(self) -> None:
        """Close the environment; a failure is only logged, since its work is done."""
        close_quietly(self.env)

    def to_env(self, action: Floats) -> NDArray[Any]:
        """Map an action (act_dim,) from [-1, 1] to the environment's own bounds and shape."""
        exact = self._centre + self._half * action
        if self._whole:
            np.rint(exact, out=exact)
        scaled = exact.reshape(self._shape).astype(self._dtype)
        # Rounding may exceed a bound by one unit in the last place, which some environments reject.
        # np.clip takes twice as long for so few numbers.
        bounded: NDArray[Any] = np.minimum(np.maximum(scaled, self._low), self._high)
        return bounded


class ActionRepeat(gym.Wrapper[Any, Any, Any, Any]):
    """Takes each action several times, until the episode ends, and sums the rewards.

    An agent then decides less often, which makes long episodes shorter for it (frame skip; Mnih et
    al., 2015). One step of the wrapper is one frame of a film, so the frame rate is divided.
    """

    def __init__(self, env: gym.Env[Any, Any], times: int) -> None:
        super().__init__(env)
        self._times, self._cut = times, False
        rate = rate_of(env.metadata.get("render_fps"))
        if rate is not None:
            self.metadata = {**env.metadata, "render_fps": rate / times}

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        """Start an episode."""
        self._cut = False
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Any]:
        """Take ``action`` repeatedly; all results except the reward are from the last time.

        A truncated episode may be continued, as for the bias of the critics: the time limit then
        truncates at every step, which is ignored.
        """
        total = 0.0
        for _ in range(self._times):
            # A copy: some environments scale or clip the array that they are given.
            obs, reward, terminated, truncated, info = self.env.step(np.array(action))
            total += float(reward)
            if terminated or (truncated and not self._cut):
                break
        self._cut = self._cut or bool(truncated)
        return obs, total, bool(terminated), bool(truncated), info


def close_quietly(env: gym.Env[Any, Any]) -> None:
    """Close an environment, and log what it raises."""
    try:
        env.close()
    except (Exception, SystemExit) as problem:
        # Even during a Ctrl-C: there may be more environments to close.
        log.warning("close() raised %s: %s", type(problem).__name__, reason_of(problem))


def _flat(obs: Any) -> Floats:
    # A copy: some environments return the same array each time and write to it.
    return np.array(obs, dtype=np.float32).ravel()
