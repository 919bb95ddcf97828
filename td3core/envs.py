"""Environments: what is known, what is usable, and the one view an agent has of any of them."""

import importlib
import importlib.util
import os
import sys
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import error as gym_error
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Box
from numpy.typing import NDArray

from td3core.errors import RequestError
from td3core.settings import unknown_name

# Its warnings (old versions, odd render modes) would be printed anew for every episode.
gym.logger.min_level = gym.logger.ERROR

Floats = NDArray[np.float32]

DEFAULT_FPS = 30
"""Frames per second of an environment that does not say."""


@dataclass(frozen=True, slots=True)
class KnownEnv:
    """An environment that TD3 is known to suit, and the package that brings it."""

    env_id: str
    group: str
    module: str
    """Module that has to be importable."""
    package: str
    """What to install if it is not."""

    @property
    def installed(self) -> bool:
        """True if the package that brings it is here (it is not imported to find out)."""
        return importlib.util.find_spec(self.module) is not None


def _family(group: str, module: str, package: str, *ids: str) -> tuple[KnownEnv, ...]:
    return tuple(KnownEnv(env_id, group, module, package) for env_id in ids)


KNOWN: tuple[KnownEnv, ...] = (
    *_family(
        "Classic control",
        "pygame",
        "gymnasium[classic-control]",
        "Pendulum-v1",
        "MountainCarContinuous-v0",
    ),
    *_family(
        "Box2D",
        "Box2D",
        "gymnasium[box2d]",
        "LunarLanderContinuous-v3",
        "BipedalWalker-v3",
        "BipedalWalkerHardcore-v3",
    ),
    *_family(
        "MuJoCo",
        "mujoco",
        "gymnasium[mujoco]",
        "InvertedPendulum-v5",
        "InvertedDoublePendulum-v5",
        "Reacher-v5",
        "Pusher-v5",
        "Swimmer-v5",
        "Hopper-v5",
        "Walker2d-v5",
        "HalfCheetah-v5",
        "Ant-v5",
        "Humanoid-v5",
        "HumanoidStandup-v5",
    ),
)
"""Continuous-control environments of Gymnasium, in the order they are offered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvInfo:
    """Sizes and bounds of an environment, as an agent needs them."""

    env_id: str
    obs_dim: int
    act_dim: int
    action_low: tuple[float, ...]
    action_high: tuple[float, ...]
    max_episode_steps: int | None
    reward_threshold: float | None


class AgentView(gym.Wrapper[Floats, Floats, Any, Any]):
    """Shows any continuous environment as TD3 sees it.

    Observations are flat float32 arrays of shape (obs_dim,); actions are arrays of shape (act_dim,)
    in [-1, 1], mapped to [low, high] for each dimension on its own.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        space = env.action_space
        assert isinstance(space, Box)
        low, high = space.low.astype(np.float64), space.high.astype(np.float64)
        self._low, self._high, self._dtype = space.low, space.high, space.dtype
        self._shape = space.shape
        self._centre, self._half = (high + low).ravel() / 2, (high - low).ravel() / 2

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Floats, Any]:
        """Start an episode; the observation has shape (obs_dim,)."""
        obs, info = self.env.reset(seed=seed, options=options)
        return _flat(obs), info

    def step(self, action: Floats) -> tuple[Floats, float, bool, bool, Any]:
        """Take ``action`` in [-1, 1]; the observation has shape (obs_dim,)."""
        obs, reward, terminated, truncated, info = self.env.step(self.to_env(action))
        return _flat(obs), float(reward), bool(terminated), bool(truncated), info

    def to_env(self, action: Floats) -> NDArray[Any]:
        """Map an action from [-1, 1] to the environment's own bounds and shape."""
        scaled = (self._centre + self._half * action).reshape(self._shape).astype(self._dtype)
        # Rounding may step over a bound by one unit in the last place; some environments assert.
        bounded: NDArray[Any] = np.clip(scaled, self._low, self._high)
        return bounded


def _flat(obs: Any) -> Floats:
    # A copy: some environments hand out the same array again and write into it.
    return np.array(obs, dtype=np.float32).ravel()


def make_env(env_id: str, *, render: bool = False) -> AgentView:
    """Make a fresh environment as an agent sees it.

    Raises:
        RequestError: it does not exist, is not installed, or does not suit TD3.
    """
    if render:
        prepare_rendering()
    try:
        # Not render_mode=None: an environment may not know the word at all.
        drawing: dict[str, Any] = {"render_mode": "rgb_array"} if render else {}
        env = gym.make(_spec_of(env_id), disable_env_checker=True, **drawing)
    except gym_error.DependencyNotInstalled as problem:
        raise _not_installed(env_id, problem) from problem
    except RequestError:
        raise
    except gym_error.UnregisteredEnv as problem:
        raise _unknown_env(env_id) from problem
    except Exception as problem:
        # Environments are anybody's code, and may raise anything while they are made.
        raise RequestError(f"{env_id} cannot be made: {_sentence(problem)}") from problem
    try:
        _require_suitable(env_id, env)
        if render and "rgb_array" not in env.metadata.get("render_modes", ()):
            raise _cannot_draw(env_id)
    except RequestError:
        env.close()
        raise
    return AgentView(env)


def _spec_of(env_id: str) -> str | EnvSpec:
    """Let ``package.module:Class`` stand for a class that nobody has registered.

    ``package.module:Id-v0`` is Gymnasium's own notation: import the module, then make the id.
    """
    module, colon, name = env_id.partition(":")
    if not colon or not name.isidentifier():
        return env_id
    found = getattr(importlib.import_module(module), name, None)
    if not (isinstance(found, type) and issubclass(found, gym.Env)):
        raise RequestError(f"{module} holds no environment class called {name}.")
    return EnvSpec(id=name, entry_point=env_id)


def check_env(env_id: str) -> EnvInfo:
    """Make the environment once, see that TD3 can be used on it, and return its sizes.

    Raises:
        RequestError: with one sentence that says what TD3 needs and what the environment has.
    """
    env = make_env(env_id)
    try:
        space = env.env.action_space
        assert isinstance(space, Box)
        obs_space = env.env.observation_space
        assert isinstance(obs_space, Box)
        spec = env.spec
        return EnvInfo(
            env_id=spec.id if spec and ":" not in env_id else env_id,
            obs_dim=int(np.prod(obs_space.shape)),
            act_dim=int(np.prod(space.shape)),
            action_low=tuple(float(v) for v in space.low.ravel()),
            action_high=tuple(float(v) for v in space.high.ravel()),
            max_episode_steps=spec.max_episode_steps if spec else None,
            reward_threshold=spec.reward_threshold if spec else None,
        )
    finally:
        env.close()


def prepare_rendering() -> None:
    """Choose off-screen renderers; has to come before the simulators are imported."""
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    if sys.platform == "linux":
        os.environ.setdefault("MUJOCO_GL", "egl")


def frame_of(rendered: object, env_id: str) -> NDArray[np.uint8]:
    """Return the picture (height, width, 3) that an environment drew.

    Raises:
        RequestError: it drew none.
    """
    if not isinstance(rendered, np.ndarray) or rendered.ndim != 3 or rendered.shape[2] != 3:
        raise _cannot_draw(env_id)
    return np.ascontiguousarray(rendered, dtype=np.uint8)


def _require_suitable(env_id: str, env: gym.Env[Any, Any]) -> None:
    action, obs = env.action_space, env.observation_space
    if not isinstance(action, Box):
        raise RequestError(
            f"{env_id} has {_words(action)} actions; TD3 needs continuous actions (a Box)."
        )
    if not (np.isfinite(action.low).all() and np.isfinite(action.high).all()):
        raise RequestError(f"{env_id} has actions without bounds; TD3 needs a bounded Box.")
    if not (action.low < action.high).all():
        raise RequestError(f"{env_id} has an action whose lower bound is not below its upper one.")
    if not isinstance(obs, Box):
        raise RequestError(
            f"{env_id} has {_words(obs)} observations; TD3 needs arrays of numbers (a Box)."
        )


def _cannot_draw(env_id: str) -> RequestError:
    return RequestError(f"{env_id} cannot draw itself as a picture (render mode rgb_array).")


def _words(space: gym.Space[Any]) -> str:
    name = type(space).__name__
    return {"Discrete": "discrete", "MultiDiscrete": "discrete", "MultiBinary": "binary"}.get(
        name, name
    )


def _unknown_env(env_id: str) -> RequestError:
    ids = sorted({known.env_id for known in KNOWN} | set(gym.registry))
    return unknown_name("environment", env_id, ids)


def _not_installed(env_id: str, problem: Exception) -> RequestError:
    for known in KNOWN:
        if known.env_id == env_id:
            return RequestError(
                f"{env_id} needs a package that is not installed; pip install '{known.package}'."
            )
    return RequestError(f"{env_id} needs a package that is not installed: {_sentence(problem)}")


def _sentence(problem: Exception) -> str:
    """First line of an exception's text, or its type when it has none."""
    text = str(problem).strip().splitlines()
    return text[0] if text else type(problem).__name__
