"""Small environments that do exactly what a test wants, and remember what was done to them."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete

Outcome = tuple[Any, Any, bool, bool, dict[str, Any]]

STEPS = "Scripted/Steps-v0"
IDENTITY = "Scripted/Identity-v0"
GRID = "Scripted/Grid-v0"
DISCRETE = "Scripted/Discrete-v0"
UNBOUNDED = "Scripted/Unbounded-v0"
HALF_BOUNDED = "Scripted/HalfBounded-v0"
POINT = "Scripted/Point-v0"
DICT_OBS = "Scripted/DictObs-v0"


@dataclass
class Script:
    """What an environment does; shared by all its instances, so it also counts across episodes."""

    episodes: Sequence[tuple[int, str]] = ((10, "truncated"),)
    """Length and end (``terminated`` or ``truncated``) of each episode, over and over."""
    reward: Callable[[int, Any], float] = lambda step, action: 1.0
    on_step: Callable[[int], None] = lambda step: None
    """Called with the number of the step that is about to be taken, counted over all episodes."""
    faults: Mapping[int, Callable[[Outcome], Outcome]] = field(default_factory=dict)
    """Changes the outcome of a step, by its number."""
    on_make: Callable[[], None] = lambda: None
    on_reset: Callable[[int], None] = lambda reset: None
    first_obs: Callable[[Any], Any] = lambda obs: obs
    """Changes the observation of every reset."""
    echo: float = 0.0
    """If not 0, the observation is the action times this."""
    info: Callable[[int], dict[str, Any]] = lambda step: {}
    """What a step returns as info, by its number within the episode."""
    steps: int = 0
    seeds: list[int | None] = field(default_factory=list)
    actions: list[Any] = field(default_factory=list)
    closed: int = 0
    made: int = 0

    def __deepcopy__(self, memo: object) -> "Script":
        # gymnasium copies the keyword arguments of an environment each time it makes one.
        return self


class ScriptedEnv(gym.Env[Any, Any]):
    """Follows its script; the observation is (number of the episode, step within it)."""

    action_space = Box(-2.0, 2.0, (1,), np.float32)
    observation_space = Box(-1e6, 1e6, (2,), np.float32)

    def __init__(self, script: Script, render_mode: str | None = None) -> None:
        self.script, self.render_mode = script, render_mode
        script.on_make()
        script.made += 1

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        script = self.script
        script.on_reset(len(script.seeds))
        self._episode, self._step = len(script.seeds), 0
        self._length, self._end = script.episodes[self._episode % len(script.episodes)]
        script.seeds.append(seed)
        return script.first_obs(np.array([self._episode, 0], np.float32)), {}

    def step(self, action: Any) -> Outcome:
        script = self.script
        script.on_step(script.steps + 1)
        script.steps += 1
        script.actions.append(np.array(action))
        self._step += 1
        obs = np.array([self._episode, self._step], np.float32)
        if script.echo:
            obs[:] = np.float32(script.echo) * action[0]
        over = self._step == self._length
        ends = (over and self._end == "terminated", over and self._end == "truncated")
        told = script.info(self._step)
        outcome: Outcome = (obs, script.reward(script.steps, action), *ends, told)
        return script.faults.get(script.steps, lambda same: same)(outcome)

    def close(self) -> None:
        self.script.closed += 1


class StepsEnv(gym.Env[Any, Any]):
    """Ten seeded steps, then a time limit; the nearer the action to the observation, the better."""

    metadata = {"render_modes": []}
    action_space = Box(np.float32([-3.0, 0.0]), np.float32([1.0, 10.0]))
    observation_space = Box(-10.0, 10.0, (3,), np.float32)
    length = 10

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._step = 0
        self._obs = self.np_random.uniform(-1.0, 1.0, 3).astype(np.float32)
        return self._obs, {}

    def step(self, action: Any) -> Outcome:
        self._step += 1
        reward = -float(np.square(action - self._obs[:2]).sum())
        self._obs = 0.9 * self._obs + 0.1 * np.float32([action[0], action[1], -action[0]])
        self._obs = np.clip(self._obs, -10.0, 10.0, dtype=np.float32)
        return self._obs, reward, False, self._step == self.length, {}


class IdentityEnv(gym.Env[Any, Any]):
    """One step for each episode: reward -(a - f(s))²."""

    action_space = Box(-1.0, 3.0, (1,), np.float32)
    observation_space = Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode

    @staticmethod
    def best_action(obs: Any) -> float:
        return 1.0 + 1.2 * float(np.sin(2.0 * obs[0]))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._obs = self.np_random.uniform(-1.0, 1.0, 1).astype(np.float32)
        return self._obs, {}

    def step(self, action: Any) -> Outcome:
        reward = -((float(action[0]) - self.best_action(self._obs)) ** 2)
        return self._obs, reward, True, False, {}


class SpacesEnv(gym.Env[Any, Any]):
    """Has the spaces it is given, and one step."""

    def __init__(self, action: Any, obs: Any, render_mode: str | None = None) -> None:
        self.action_space, self.observation_space, self.render_mode = action, obs, render_mode
        self.taken: list[Any] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Outcome:
        self.taken.append(action)
        return self.observation_space.sample(), 0.0, True, False, {}


_NUMBERS = Box(-1.0, 1.0, (3,), np.float32)
_SPACES: dict[str, tuple[Any, Any]] = {
    GRID: (Box(-1.0, 3.0, (2, 2), np.float32), Box(-1.0, 1.0, (4, 2, 3), np.float64)),
    DISCRETE: (Discrete(3), _NUMBERS),
    UNBOUNDED: (Box(-np.inf, np.inf, (1,), np.float32), _NUMBERS),
    HALF_BOUNDED: (Box(0.0, np.inf, (1,), np.float32), _NUMBERS),
    POINT: (Box(1.0, 1.0, (1,), np.float32), _NUMBERS),
    DICT_OBS: (Box(-1.0, 1.0, (1,), np.float32), Dict({"a": _NUMBERS})),
}


@contextmanager
def register_fixed() -> Iterator[None]:
    """Make the environments above known to gymnasium."""
    gym.register(STEPS, StepsEnv)
    gym.register(IDENTITY, IdentityEnv)
    for env_id, (action, obs) in _SPACES.items():
        gym.register(env_id, SpacesEnv, kwargs={"action": action, "obs": obs})
    yield
    for env_id in (STEPS, IDENTITY, *_SPACES):
        gym.registry.pop(env_id)


_numbers = itertools.count()


@contextmanager
def registered() -> Iterator[Callable[[Script], str]]:
    """Hand out environment ids for scripts, and take them back at the end."""
    ids = []

    def register(script: Script) -> str:
        ids.append(f"Scripted/Case{next(_numbers)}-v0")
        gym.register(ids[-1], ScriptedEnv, kwargs={"script": script})
        return ids[-1]

    yield register
    for env_id in ids:
        gym.registry.pop(env_id)
